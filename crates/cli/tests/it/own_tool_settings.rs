//! Each setting of `[tools.NAME]` does what it says: the same tool with and without it.

use std::time::Duration;

use rcgen::{CertificateParams, KeyPair};
use serde_json::{Value, json};

use crate::client::{self, Client};
use crate::http_server::{self, answer};
use crate::support::{Folder, weaver};

const CONTRACTS: &str = "[capabilities.\"tools.*\"]\neffects = \"read_local\"\nsink = \"none\"\n\
    output = { confidentiality = \"internal\", integrity = \"trusted\" }\n";

/// A server that answers by path.
fn server() -> u16 {
    http_server::start(|request| {
        let json = "content-type: application/json\r\n";
        match request.path() {
            "/big" => answer("200 OK", json, &json!("x".repeat(2_000)).to_string()),
            "/slow" => {
                std::thread::sleep(Duration::from_millis(1_500));
                answer("200 OK", json, "{}")
            }
            "/moved" => answer("302 Found", "location: /here\r\n", ""),
            "/away" => {
                let to = format!("location: http://localhost:{}/here\r\n", request.port);
                answer("302 Found", &to, "")
            }
            "/text" => answer("200 OK", "content-type: text/plain\r\n", "words"),
            _ => {
                let lines = request.head.iter().enumerate();
                let lines = lines.map(|(at, line)| (format!("line{at}"), json!(line)));
                answer("200 OK", json, &Value::Object(lines.collect()).to_string())
            }
        }
    })
}

fn folder(tools: &str) -> Folder {
    let folder = client::folder(&[], "", CONTRACTS);
    folder.append("weaver.toml", tools);
    folder
}

fn request(name: &str, port: u16, path: &str, more: &str) -> String {
    format!(
        "\n[tools.{name}]\ndescription = \"asks\"\n[tools.{name}.http]\n\
         url = \"http://127.0.0.1:{port}{path}\"\nnetworks = [\"127.0.0.1\", \"::1\"]\n{more}"
    )
}

fn program(name: &str, command: &str, args: &str, more: &str) -> String {
    format!(
        "\n[tools.{name}]\ndescription = \"does\"\n[tools.{name}.program]\n\
         command = \"{command}\"\nargs = {args}\n{more}"
    )
}

fn executed(client: &mut Client, name: &str) -> (bool, String) {
    let (is_error, body) = client.execute(&format!("tools.{name}"), json!({}));
    (!is_error, body.to_string())
}

#[test]
fn each_setting_of_a_request_counts() {
    let port = server();
    let mut tools = String::new();
    // Without the setting it goes as the first word says, with it as the second.
    let cases = [
        ("big", "/big", "response_kb = 1\n", "", "http.too_large"),
        ("slow", "/slow", "header_timeout_ms = 100\n", "", "timed out after 100 ms"),
        ("moved", "/moved", "redirects = 0\n", "", "http.redirects"),
        ("away", "/away", &format!("hosts = [\"localhost:{port}\"]\n"), "http.host_refused", ""),
        ("text", "/text", "content = [\"text/*\"]\n", "http.content_type", "words"),
        ("key", "/key", "idempotency_header = \"X-Key\"\n", "", "x-key: "),
        ("method", "/m", "method = \"DELETE\"\n", "GET /m", "DELETE /m"),
        ("headers", "/h", "headers = { X-Own = \"yes\" }\n", "", "x-own: yes"),
    ];
    for (name, path, setting, _, _) in &cases {
        tools += &request(name, port, path, "");
        tools += &request(&format!("{name}_set"), port, path, setting);
    }
    let folder = folder(&tools);
    let mut client = Client::open(&folder);
    for (name, _, setting, without, with) in &cases {
        for (name, wanted, other) in
            [((*name).to_owned(), without, with), (format!("{name}_set"), with, without)]
        {
            let (success, text) = executed(&mut client, &name);
            let fails = wanted.starts_with("http.") || wanted.starts_with("timed out");
            assert_eq!(success, !fails, "{setting} {name}: {text}");
            assert!(text.to_lowercase().contains(&wanted.to_lowercase()), "{setting}: {text}");
            let absent = other.is_empty() || !text.to_lowercase().contains(&other.to_lowercase());
            assert!(absent, "{setting} {name}: {text}");
        }
    }
    client.finish();
}

/// Plain http goes to this machine, and elsewhere only where that is said.
#[test]
fn plain_http_elsewhere_has_to_be_said() {
    let tool = |more: &str| {
        format!(
            "\n[tools.a]\ndescription = \"x\"\n[tools.a.http]\nurl = \"http://a.example/\"\n{more}"
        )
    };
    assert_eq!(folder(&tool("")).check(&[]).code, 3);
    assert_eq!(folder(&tool("plain_http = true\n")).check(&[]).code, 0);
}

#[test]
fn an_authority_is_read_where_it_stands() {
    let tool = "\n[tools.a]\ndescription = \"x\"\n[tools.a.http]\nurl = \"https://a.example/\"\n\
        ca_file = \"own.pem\"\n";
    let folder = folder(tool);
    for text in ["no certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]
    {
        folder.write("own.pem", text);
        let run = folder.check(&[]);
        assert!(run.code == 3 && run.err.contains("tools.a.http.ca_file"), "{run:?}");
        assert!(run.err.contains("the certificates of the authority cannot be used"), "{run:?}");
    }
    std::fs::remove_file(folder.path("own.pem")).unwrap();
    assert!(folder.check(&[]).err.contains("own.pem"));
}

/// One name for it everywhere: of a tool, of a server with its logins, and of issuers.
#[test]
fn an_authority_of_a_server_and_of_issuers_is_read_too() {
    for (section, place) in [
        ("\n[mcpServers.a]\nurl = \"https://a.example/mcp\"\n", "mcpServers.a.ca_file"),
        ("\n[http]\nlisten = \"127.0.0.1:0\"\n[http.oauth]\n", "http.oauth.ca_file"),
    ] {
        let folder = folder(&format!("{section}ca_file = \"own.pem\"\n"));
        folder.write("own.pem", "no certificate");
        let run = folder.check(&[]);
        assert!(run.code == 3 && run.err.contains(place), "{run:?}");
        assert!(run.err.contains("the certificates of the authority cannot be used"), "{run:?}");
        let issuer = CertificateParams::default().self_signed(&KeyPair::generate().unwrap());
        folder.write("own.pem", &issuer.unwrap().pem());
        let run = folder.check(&[]);
        assert!(!run.err.contains("ca_file"), "{section}: {run:?}");
    }
    let local = "\n[mcpServers.a]\ncommand = \"true\"\nca_file = \"own.pem\"\n";
    assert!(folder(local).check(&[]).err.contains("`ca_file` has no meaning here"));
}

#[test]
fn each_setting_of_a_program_counts() {
    let folder = client::folder(&[], "", CONTRACTS);
    folder.write("files/secret.txt", "not to be read");
    let secret = folder.arg("files/secret.txt");
    let cases = [
        ("code", "false", "[]".to_owned(), "success = [1]\n", "exit_code", ""),
        ("long", "seq", "[\"1\", \"9999\"]".to_owned(), "output_kb = 1\n", "", "output_cut"),
        ("json", "echo", "['{{\"a\": [1, 2]}']".to_owned(), "output = \"json\"\n", "", ":[1,2]}"),
        ("env", "env", "[]".to_owned(), "env = { OWN_WORD = \"yes\" }\n", "", "OWN_WORD=yes"),
        ("cwd", "pwd", "[]".to_owned(), "cwd = \"files\"\n", "", "/files"),
    ];
    let mut tools = String::new();
    for (name, command, args, setting, _, _) in &cases {
        tools += &program(name, command, args, "");
        tools += &program(&format!("{name}_set"), command, args, setting);
    }
    tools += &program("open", "cat", &format!("[\"{secret}\"]"), "");
    tools += &program(
        "closed",
        "cat",
        &format!("[\"{secret}\"]"),
        "confine = { read = [\"/usr\"], network = \"none\" }\n",
    );
    folder.append("weaver.toml", &tools);
    let run = folder.check(&[]);
    assert_eq!(run.code, 0, "{run:?}");
    let mut client = Client::open(&folder);
    for (name, _, _, setting, without, with) in &cases {
        let (plain, text) = executed(&mut client, name);
        assert_eq!(plain, without.is_empty(), "{setting}: {text}");
        assert!(text.contains(without) && (with.is_empty() || !text.contains(with)), "{text}");
        let (set, text) = executed(&mut client, &format!("{name}_set"));
        assert!(set && text.contains(with), "{setting}: {text}");
    }
    assert!(executed(&mut client, "open").1.contains("not to be read"));
    let (read, text) = executed(&mut client, "closed");
    assert!(!read && !text.contains("not to be read"), "{text}");
    client.finish();
}

/// What a tool does is part of what a contract pins, not only what it says.
#[test]
fn another_address_is_another_tool() {
    let (one, other) = (server(), server());
    let folder = folder(&request("asks", one, "/a", ""));
    let config = folder.arg("weaver.toml");
    let run = weaver(&["contracts", "approve", "tools", "asks", "--config", &config]);
    assert_eq!(run.code, 0, "{run:?}");
    folder.sign("contracts");
    let mut client = Client::open(&folder);
    assert!(executed(&mut client, "asks").0);
    client.finish();
    let text = std::fs::read_to_string(folder.path("weaver.toml")).unwrap();
    folder.write("weaver.toml", &text.replace(&one.to_string(), &other.to_string()));
    let mut client = Client::open(&folder);
    let (is_error, body): (bool, Value) = client.execute("tools.asks", json!({}));
    assert!(is_error, "{body}");
    assert_eq!(client::reason(&body), ("deny".to_owned(), "contract_changed".to_owned()));
    client.finish();
}
