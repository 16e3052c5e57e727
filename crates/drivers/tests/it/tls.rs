//! HTTPS against real servers of this machine, whose certificates an authority of the test signs.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, KeyUsagePurpose,
    date_time_ymd,
};
use serde_json::json;
use tokio::runtime::Runtime;
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;
use tokio_rustls::rustls::{ServerConfig, crypto::ring, version};
use weaver_drivers::http::{
    Access, CertificateAuthority, HostLookup, HttpDriver, Method, Operation,
};
use weaver_drivers::mcp::{
    Endpoint, HttpConfig, HttpFault, McpErrorKind, Upstream, UpstreamConfig,
};
use weaver_drivers::oauth::{AllowedAddresses, OAuthHttpClient};

use crate::kernel::through_kernel;
use crate::raw_server::{self as server, RawServer};
use crate::support::runtime;

type Issuer = CertifiedIssuer<'static, KeyPair>;

fn issuer() -> Issuer {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

fn authority(issuer: &Issuer) -> CertificateAuthority {
    CertificateAuthority::from_pem(issuer.pem().as_bytes()).unwrap()
}

/// A server's side with a certificate for this name; one that ended long ago if `ended`.
fn of_name(issuer: &Issuer, name: &str, ended: bool) -> ServerConfig {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new([name.to_owned()]).unwrap();
    if ended {
        (params.not_before, params.not_after) =
            (date_time_ymd(2001, 1, 1), date_time_ymd(2002, 1, 1));
    }
    let certificate = params.signed_by(&key, issuer).unwrap();
    let key = PrivatePkcs8KeyDer::from(key.serialize_der());
    ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&version::TLS13, &version::TLS12])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key.into())
        .unwrap()
}

/// An access whose every name leads to this machine.
fn here(authority: Option<CertificateAuthority>) -> Access {
    let lookup: HostLookup =
        Arc::new(|_| Box::pin(std::future::ready(Ok(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)]))));
    let networks = vec!["127.0.0.1".parse().unwrap()];
    Access { networks, lookup, certificate_authority: authority, ..Access::default() }
}

fn call(runtime: &Runtime, url: &str, access: Access) -> (bool, String) {
    let operation = Operation::new(Method::Get, url);
    let driver = HttpDriver::new(&operation, access, runtime.handle().clone()).unwrap();
    let result = through_kernel(driver, &json!({})).result.unwrap();
    (result.success, format!("{result:?}"))
}

#[test]
fn a_server_counts_whose_certificate_its_authority_signed_for_its_name() {
    let (runtime, issuer) = (runtime(), issuer());
    let tls = of_name(&issuer, "api.example", false);
    let server = RawServer::start_tls(&runtime, tls, |_| server::json("{\"arrived\": true}"));
    let url = |host: &str| format!("https://{host}:{}/v1", server.port);
    let (success, text) = call(&runtime, &url("api.example"), here(Some(authority(&issuer))));
    assert!(success && text.contains("arrived"), "{text}");
    assert_eq!(server.asked()[0].line(), "GET /v1 HTTP/1.1");
    // Nobody knows the authority; it is another; the name is another; an address is no name.
    let other = authority(&self::issuer());
    for (host, access, problem) in [
        ("api.example", here(None), "`ca_file`"),
        ("api.example", here(Some(other)), "`ca_file`"),
        ("other.example", here(Some(authority(&issuer))), "for another name"),
        ("127.0.0.1", here(Some(authority(&issuer))), "for another name"),
    ] {
        let (success, text) = call(&runtime, &url(host), access);
        assert!(
            !success && text.contains("[http.tls]") && text.contains(problem),
            "{host}: {text}"
        );
    }
    assert_eq!(server.asked().len(), 1, "nothing is said before the certificate counts");
}

#[test]
fn a_certificate_that_ended_counts_no_more() {
    let (runtime, issuer) = (runtime(), issuer());
    let tls = of_name(&issuer, "api.example", true);
    let server = RawServer::start_tls(&runtime, tls, |_| server::json("{}"));
    let url = format!("https://api.example:{}/", server.port);
    let (success, text) = call(&runtime, &url, here(Some(authority(&issuer))));
    assert!(!success && text.contains("has expired"), "{text}");
    assert_eq!(server.asked().len(), 0);
}

/// The certificate is looked at anew where a redirect leads, and https is not left.
#[test]
fn a_redirect_leads_to_no_server_without_a_certificate() {
    let (runtime, issuer) = (runtime(), issuer());
    let foreign = of_name(&self::issuer(), "cdn.example", false);
    let foreign = RawServer::start_tls(&runtime, foreign, |_| server::json("{}"));
    let plain = RawServer::start(&runtime, |_| server::json("{}"));
    let targets = [
        (format!("https://cdn.example:{}/", foreign.port), "[http.tls]"),
        (format!("http://cdn.example:{}/", plain.port), "[http.redirect]"),
    ];
    for (target, code) in targets {
        let tls = of_name(&issuer, "api.example", false);
        let server = RawServer::start_tls(&runtime, tls, move |_| server::redirect(302, &target));
        let hosts = [foreign.port, plain.port].map(|port| format!("cdn.example:{port}"));
        let hosts = hosts.iter().map(|host| host.parse().unwrap()).collect();
        let access = Access { hosts, ..here(Some(authority(&issuer))) };
        let url = format!("https://api.example:{}/", server.port);
        let (success, text) = call(&runtime, &url, access);
        assert!(!success && text.contains(code), "{text}");
    }
    assert_eq!((foreign.asked().len(), plain.asked().len()), (0, 0));
}

/// What an operator reads when a server of a company's own authority cannot be reached: not that
/// nobody is there.
#[test]
fn a_server_and_an_authorization_server_name_what_is_wrong_with_their_certificate() {
    let (runtime, issuer) = (runtime(), issuer());
    for (name, ended, known, problem) in [
        ("127.0.0.1", false, false, "`ca_file`"),
        ("127.0.0.1", true, true, "has expired"),
        ("other.example", false, true, "for another name"),
        ("127.0.0.1", false, true, ""),
    ] {
        let server =
            RawServer::start_tls(&runtime, of_name(&issuer, name, ended), |_| server::json("{}"));
        let url = format!("https://127.0.0.1:{}/mcp", server.port);
        let known = known.then(|| authority(&issuer));
        let http = HttpConfig {
            url: url.clone(),
            certificate_authority: known.clone(),
            ..HttpConfig::default()
        };
        let upstream = Upstream::new(UpstreamConfig::new("tracker", Endpoint::Http(http)));
        let listed = runtime.block_on(upstream.list_tools()).unwrap_err();
        let client =
            OAuthHttpClient::new(AllowedAddresses::Anywhere).with_certificate_authority(known);
        let document = runtime.block_on(client.get("the metadata", &url));
        if problem.is_empty() {
            assert!(document.is_ok(), "{:?}", document.err());
            assert!(server.asked().len() >= 2, "{listed}");
            continue;
        }
        assert_eq!(server.asked().len(), 0);
        let Err(document) = document else { panic!("it has no certificate that counts") };
        for text in [listed.to_string(), document.to_string()] {
            assert!(text.contains(problem), "{problem}: {text}");
        }
        let fault = matches!(listed.kind, McpErrorKind::Http { fault: HttpFault::Tls(_) });
        assert!(fault, "{listed:?}");
    }
    // What does not speak TLS, and nobody at all.
    let plain = TcpListener::bind("127.0.0.1:0").unwrap();
    let plain_port = plain.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in plain.incoming().flatten() {
            let _ = stream.read(&mut [0; 16]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
            let _ = stream.read_to_end(&mut Vec::new());
        }
    });
    let client = OAuthHttpClient::new(AllowedAddresses::Anywhere);
    let said = |port: u16| {
        let url = format!("https://127.0.0.1:{port}/");
        runtime.block_on(client.get("the metadata", &url)).err().unwrap().to_string()
    };
    assert!(said(plain_port).contains("does not speak TLS"), "{}", said(plain_port));
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    assert!(said(free).contains("nobody answers there"), "{}", said(free));
}
