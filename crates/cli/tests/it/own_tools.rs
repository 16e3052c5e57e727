//! The operator's own tools: a program and an operation of an HTTP API, without any server.

use std::sync::{Arc, Mutex};

use serde_json::json;

use crate::client::{self, Client, shown};
use crate::http_server;
use crate::support::{Folder, weaver};

const SCHEMA: &str = "input_schema = { type = \"object\", properties = { city = { type = \"string\" } }, required = [\"city\"] }\n";
const CONTRACTS: &str = "[capabilities.\"tools.*\"]\neffects = \"read_local\"\nsink = \"none\"\n\
    output = { confidentiality = \"internal\", integrity = \"trusted\" }\n";

/// A server that tells the line and the headers of each request, and answers with them.
fn echo() -> (u16, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::<Mutex<Vec<String>>>::default();
    let seen = Arc::clone(&asked);
    let port = http_server::start(move |request| {
        let head: String = request.head.iter().map(|line| format!("{line}\n")).collect();
        let body = json!({ "head": head }).to_string();
        seen.lock().unwrap().push(head);
        http_server::answer("200 OK", "content-type: application/json\r\n", &body)
    });
    (port, asked)
}

fn folder(tools: &str) -> Folder {
    let folder = client::folder(&[], "", CONTRACTS);
    folder.append("weaver.toml", tools);
    folder
}

fn weather(port: u16, more: &str) -> String {
    format!(
        "\n[tools.weather]\ndescription = \"The weather in a city\"\n{SCHEMA}\
         [tools.weather.http]\nurl = \"http://127.0.0.1:{port}/v1/{{city}}\"\n{more}"
    )
}

#[test]
fn a_request_and_a_program_are_tools_like_any_other() {
    let (port, asked) = echo();
    let secret = "secrets = { Authorization = { prefix = \"Bearer \", file = \"token\" } }\n";
    let own = weather(port, &format!("networks = [\"127.0.0.1\"]\n{secret}"));
    let program = "\n[tools.greet]\ndescription = \"Greets somebody\"\n\
        [tools.greet.program]\ncommand = \"printf\"\nargs = [\"hello <%s>\", \"{name}\"]\n";
    let folder = folder(&format!("{own}{program}"));
    folder.write("token", "hunter2-hunter2\n");
    std::fs::set_permissions(
        folder.path("token"),
        std::os::unix::fs::PermissionsExt::from_mode(0o600),
    )
    .unwrap();
    let mut client = Client::open(&folder);
    let (_, found) = client.call("tool_browse", json!({"query": "weather in a city"}));
    assert!(found.to_string().contains("tools.weather"), "{found}");
    let (is_error, body) = client.execute("tools.weather", json!({"city": "São/Paulo"}));
    assert!(is_error && asked.lock().unwrap().is_empty(), "{body}");
    let (is_error, body) = client.execute("tools.weather", json!({"city": "São Paulo"}));
    assert!(!is_error, "{body}");
    assert!(!body.to_string().contains("hunter2"), "{body}");
    let head = asked.lock().unwrap()[0].clone();
    assert!(head.starts_with("GET /v1/S%C3%A3o%20Paulo HTTP/1.1"), "{head}");
    assert!(head.to_ascii_lowercase().contains("authorization: bearer hunter2-hunter2"), "{head}");
    let (is_error, body) = client.execute("tools.greet", json!({"name": "$HOME; id"}));
    assert!(!is_error && shown(&body).contains("hello <$HOME; id>"), "{body}");
    client.finish();
}

/// What no contract speaks of is read as the most dangerous, also where the operator declared it.
#[test]
fn an_own_tool_without_a_contract_is_not_harmless() {
    let (port, asked) = echo();
    let folder = folder(&weather(port, "networks = [\"127.0.0.1\"]\n"));
    client::replace(
        &folder,
        "contracts",
        2,
        "[capabilities.\"other.*\"]\neffects = \"read_local\"\n",
    );
    let mut client = Client::open(&folder);
    let (verdict, _) = client.refusal("tools.weather", json!({"city": "Rome"}));
    assert!(verdict == "hold" || verdict == "deny", "{verdict}");
    assert!(asked.lock().unwrap().is_empty());
    client.finish();
}

#[test]
fn an_address_that_is_not_public_is_refused_unless_it_is_named() {
    let (port, asked) = echo();
    let folder = folder(&weather(port, ""));
    let mut client = Client::open(&folder);
    let (is_error, body) = client.execute("tools.weather", json!({"city": "Rome"}));
    assert!(is_error && body.to_string().contains("http.address_refused"), "{body}");
    assert!(asked.lock().unwrap().is_empty());
    client.finish();
}

#[test]
fn a_price_is_held_to_the_cap_of_the_run() {
    let (port, asked) = echo();
    let own = weather(port, "networks = [\"127.0.0.1\"]\nprice_millicents = 400\n");
    let folder = folder(&format!("\n[run]\nmax_cost_usd_cents = 1\n{own}"));
    let mut client = Client::open(&folder);
    let spent = |client: &mut Client| client.execute("tools.weather", json!({"city": "Rome"})).0;
    assert_eq!([(); 4].map(|()| spent(&mut client)), [false, false, true, true]);
    assert_eq!(asked.lock().unwrap().len(), 2);
    client.finish();
}

#[test]
fn a_tool_that_cannot_be_meant_is_refused_where_it_stands() {
    for (tools, part) in [
        ("[tools.a]\ndescription = \"x\"\n", "either a request or a program"),
        ("[tools.a]\n[tools.a.program]\ncommand = \"x\"\n", "`description` is missing"),
        (
            "[tools.\"a b\"]\ndescription = \"x\"\n[tools.\"a b\".program]\ncommand = \"x\"\n",
            "cannot name a tool",
        ),
        (
            "[tools.a]\ndescription = \"x\"\neffects = \"read_local\"\n[tools.a.program]\ncommand = \"x\"\n",
            "loosen",
        ),
        (
            "[tools.a]\ndescription = \"x\"\n[tools.a.http]\nurl = \"https://{h}/\"\n",
            "http.template",
        ),
        ("[tools.a]\ndescription = \"x\"\n[tools.a.http]\nurl = \"{url}\"\n", "http.no_hosts"),
        (
            "[tools.a]\ndescription = \"x\"\n[tools.a.http]\nurl = \"http://a.example/\"\n",
            "http.template",
        ),
        (
            "[tools.a]\ndescription = \"x\"\n[tools.a.http]\nurl = \"https://a.example/\"\nnetworks = [\"10.0.0.1/8\"]\n",
            "http.network",
        ),
        (
            "[tools.a]\ndescription = \"x\"\n[tools.a.http]\nurl = \"https://a.example/\"\nbody = \"rest\"\n",
            "http.body",
        ),
        (
            "[tools.a]\ndescription = \"x\"\n[tools.a.http]\nurl = \"https://a.example/\"\nsecrets = { X = { env = \"A\", file = \"b\" } }\n",
            "one source",
        ),
        (
            "[tools.a]\ndescription = \"x\"\n[tools.a.program]\ncommand = \"x\"\nargs = [\"{a b}\"]\n",
            "process.placeholder",
        ),
        (
            "[mcpServers.tools]\ncommand = \"x\"\n[tools.a]\ndescription = \"x\"\n[tools.a.program]\ncommand = \"x\"\n",
            "a server is called `tools`",
        ),
        ("[mcpServers.x]\ncommand = \"x\"\nlimits = { calls = 0 }\n", "out of range"),
    ] {
        let folder = client::folder(&[], "", "");
        folder.append("weaver.toml", &format!("\n{tools}"));
        let run = folder.check(&[]);
        assert_eq!(run.code, 3, "{tools}: {run:?}");
        assert!(run.err.contains(part), "{tools}: {run:?}");
    }
}

#[test]
fn the_contracts_of_own_tools_are_listed() {
    let folder = folder(&weather(1, "networks = [\"127.0.0.1\"]\n"));
    let config = folder.arg("weaver.toml");
    for surface in ["kernel", "tools"] {
        let run =
            weaver(&["contracts", "list", "--config", &config, "--surface", surface, "--json"]);
        assert!(run.out.contains("tools.weather"), "{run:?}");
    }
}
