//! TLS that the gateway ends itself, with a certificate that is replaced while it serves.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, KeyUsagePurpose};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::client::{Client, folder};
use crate::support::{Folder, until, weaver};

type Issuer = CertifiedIssuer<'static, KeyPair>;

fn issuer() -> Issuer {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// Writes a certificate for `localhost` and its key.
fn write(folder: &Path, issuer: &Issuer) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(["localhost".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, issuer).unwrap();
    std::fs::write(folder.join("gate.key"), key.serialize_pem()).unwrap();
    std::fs::write(folder.join("gate.crt"), certificate.pem()).unwrap();
}

/// What `/healthz` says to somebody who trusts this issuer alone.
fn health(address: &str, issuer: &Issuer) -> std::io::Result<String> {
    let mut roots = RootCertStore::empty();
    roots.add(issuer.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    let client = ClientConnection::new(Arc::new(config), name).unwrap();
    let stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    let mut stream = StreamOwned::new(client, stream);
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
    let mut answer = String::new();
    // Some end without a word of farewell.
    let _ = stream.read_to_string(&mut answer);
    Ok(answer)
}

fn place() -> (Folder, Issuer) {
    let settings = "[http]\nlisten = \"127.0.0.1:0\"\ncert = \"gate.crt\"\nkey = \"gate.key\"\n";
    let folder = folder(&[("good", "good")], settings, "");
    let issuer = issuer();
    write(&folder.path(""), &issuer);
    (folder, issuer)
}

#[test]
fn a_replaced_certificate_is_in_force_and_a_broken_one_is_not() {
    let (folder, first) = place();
    let config = folder.arg("weaver.toml");
    let _client = Client::shim(&folder, &[]).shaken();
    let status = weaver(&["status", "--config", &config, "--json"]).json();
    let address = status["http"].as_str().unwrap().to_owned();
    assert!(health(&address, &first).unwrap().ends_with("ok\n"));
    assert!(health(&address, &issuer()).is_err(), "another issuer is not trusted");
    let mut plain = TcpStream::connect(&address).unwrap();
    plain.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer);
    assert!(!String::from_utf8_lossy(&answer).contains("200"), "nothing is said without TLS");
    let second = issuer();
    write(&folder.path(""), &second);
    until("the new certificate is in force", || health(&address, &second).is_ok());
    let doctor = weaver(&["doctor", "--config", &config, "--json"]).json();
    let mut checks = doctor["checks"].as_array().unwrap().iter();
    let found = checks.find(|check| check["subject"] == "certificate").unwrap();
    // The end that the library writes by itself.
    assert!(found["finding"].as_str().unwrap().contains("4096-01-01"), "{found}");
    std::fs::write(folder.path("gate.crt"), "no certificate").unwrap();
    std::thread::sleep(Duration::from_millis(1_500));
    assert!(health(&address, &second).unwrap().ends_with("ok\n"), "the old one stays");
    assert_eq!(weaver(&["stop", "--config", &config]).code, 0);
}

#[test]
fn a_certificate_that_cannot_be_used_is_said_at_the_start() {
    let (folder, _) = place();
    let config = folder.arg("weaver.toml");
    let key = std::fs::read(folder.path("gate.key")).unwrap();
    std::fs::write(folder.path("gate.key"), "no key").unwrap();
    let refused = weaver(&["daemon", "--config", &config]);
    assert!(refused.code != 0 && refused.err.contains("gate.key"), "{refused:?}");
    let found = folder.check(&["--json"]);
    assert_eq!(found.finding_codes(), ["config.certificate"], "{found:?}");
    std::fs::write(folder.path("gate.key"), key).unwrap();
    let open = "[http]\nlisten = \"0.0.0.0:0\"\ncert = \"gate.crt\"\nkey = \"gate.key\"\n";
    crate::client::configure(&folder, &[("good", "good")], open);
    assert_eq!(folder.check(&["--json"]).code, 0, "other machines may come, encrypted");
    let half = open.replace("key = \"gate.key\"\n", "");
    crate::client::configure(&folder, &[("good", "good")], &half);
    let codes = folder.check(&["--json"]).finding_codes();
    assert_eq!(codes, ["config.missing_key", "config.http_open"]);
}
