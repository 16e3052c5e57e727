//! `weaver login` and `weaver logout`, and the gateway that uses the login.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::client::{Client, folder};
use crate::support::{Folder, until, weaver};
use crate::token_issuer::TokenIssuer;

const TOKEN: &str = "access-hunter2-hunter2";

/// A gateway's folder with a server that wants a login.
fn place() -> (Folder, TokenIssuer) {
    let issuer = TokenIssuer::start();
    issuer.state().tokens = vec![TOKEN.to_owned()];
    let settings = format!("[mcpServers.kept]\nurl = \"{}/mcp\"\n", issuer.url);
    (folder(&[("good", "good")], &settings, &crate::client::contracts(&["kept"])), issuer)
}

/// Logs in as a person would whose browser comes back at once; what the command printed.
pub(crate) fn log_in(config: &str, more: &[&str]) -> (bool, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_weaver"))
        .args(["login", "kept", "--no-browser", "--config", config])
        .args(more)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    let address = loop {
        let mut line = String::new();
        if stderr.read_line(&mut line).unwrap() == 0 {
            break None;
        }
        said += &line;
        if line.trim().starts_with("http") {
            break Some(line.trim().to_owned());
        }
    };
    if let Some(address) = address {
        come_back(&address);
    }
    stderr.read_to_string(&mut said).unwrap();
    let output = child.wait_with_output().unwrap();
    said += &String::from_utf8_lossy(&output.stdout);
    (output.status.success(), said)
}

fn parameter(address: &str, name: &str) -> String {
    let found = address.split(['?', '&']).find_map(|pair| pair.strip_prefix(&format!("{name}=")));
    found.unwrap().to_owned()
}

fn come_back(address: &str) {
    let target = parameter(address, "redirect_uri").replace("%3A", ":").replace("%2F", "/");
    let host = target.strip_prefix("http://").unwrap().split('/').next().unwrap().to_owned();
    // A stranger at the port ends nothing.
    get(&host, "/favicon.ico");
    get(&host, "/callback?code=a-code&state=of-another");
    get(&host, &format!("/callback?code=the-code&state={}", parameter(address, "state")));
}

fn get(host: &str, target: &str) {
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET {target} HTTP/1.1\r\nhost: {host}\r\n\r\n").unwrap();
    stream.read_to_string(&mut String::new()).unwrap();
}

fn every_file(folder: &Path, look: &mut impl FnMut(&Path, &[u8])) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            every_file(&path, look);
        } else if let Ok(bytes) = fs::read(&path) {
            look(&path, &bytes);
        }
    }
}

#[test]
fn a_login_is_used_by_the_gateway_and_stands_in_no_file() {
    let (folder, issuer) = place();
    let config = folder.arg("weaver.toml");
    let client = Client::shim(&folder, &[]).shaken();
    let problem = |wanted: &str| {
        until(wanted, || {
            let status = folder.weaver(&["status", "--json"]).json();
            status["servers"]["kept"].to_string().contains(wanted)
        });
    };
    problem("weaver login kept");
    let (ended, said) = log_in(&config, &[]);
    assert!(ended && said.contains("logged in"), "{said}");
    assert!(!said.contains("hunter2"), "{said}");
    problem("\"ready\"");
    let mut files = 0;
    every_file(&folder.path(""), &mut |path, bytes| {
        files += 1;
        let text = String::from_utf8_lossy(bytes);
        let shown = text.contains(TOKEN) || text.contains("refresh-hunter2");
        assert!(!shown, "{} has a token", path.display());
    });
    assert!(files > 5);
    assert_eq!(weaver(&["stop", "--config", &config]).code, 0);
    drop(client);
    let out = weaver(&["logout", "kept", "--config", &config, "--json"]).json();
    assert_eq!(out["was_logged_in"], true);
    let again = weaver(&["logout", "kept", "--config", &config, "--json"]).json();
    assert_eq!(again["was_logged_in"], false);
    assert!(issuer.count("/register") == 1 && issuer.count("/token") == 1);
}

#[test]
fn only_a_server_with_an_address_has_a_login() {
    let (folder, _issuer) = place();
    let config = folder.arg("weaver.toml");
    for (server, code) in [("nobody", "there is no server"), ("good", "is a local program")] {
        let refused = weaver(&["login", server, "--config", &config]);
        assert!(refused.code != 0 && refused.err.contains(code), "{refused:?}");
    }
}

/// A name that nobody comes as would keep a login that is never used.
#[test]
fn a_login_is_for_somebody_whom_the_policy_knows() {
    let (folder, issuer) = place();
    let config = folder.arg("weaver.toml");
    let refused = weaver(&["login", "kept", "--as", "nosuch", "--no-browser", "--config", &config]);
    assert!(refused.code != 0 && refused.err.contains("login.principal"), "{refused:?}");
    assert_eq!(issuer.count("/register"), 0, "nothing was asked");
}

/// Somebody's browser on another machine comes back by a port that is known beforehand.
#[test]
fn the_port_of_the_redirect_can_be_chosen() {
    let (folder, _issuer) = place();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port().to_string();
    drop(free);
    let (ended, said) = log_in(&folder.arg("weaver.toml"), &["--port", &port]);
    assert!(ended && said.contains(&format!("ssh -L {port}:127.0.0.1:{port}")), "{said}");
    assert!(said.contains(&format!("127.0.0.1%3A{port}")), "{said}");
}
