//! Servers that answer anything, over pipes and over HTTP, beside one that works: every call ends in
//! time, no client sees what is another's, and the gateway goes on.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{Client, contracts, folder};
use crate::pseudo_random::PseudoRandom;
use crate::support::Folder;

/// The longest that any call may take, far beyond the limit of a call.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many calls each client makes of each server.
const ROUNDS: u64 = 60;

/// The requests that are answered with anything.
const WILD: [&str; 3] = ["tools/call", "resources/read", "prompts/get"];

/// What a server says to such a request: any number of lines, of which one may be the answer.
fn lines(message: &Value) -> Vec<Vec<u8>> {
    let (id, params) = (&message["id"], &message["params"]);
    let uri = params["uri"].as_str().unwrap_or_default();
    let word = params["arguments"]["text"].as_str().unwrap_or(uri).to_owned();
    let seed = word.rsplit('-').next().and_then(|seed| seed.parse().ok()).unwrap_or_default();
    let mut numbers = PseudoRandom::of(seed);
    let text = json!({"type": "text", "text": word});
    let result = match message["method"].as_str().unwrap_or_default() {
        "resources/read" => json!({"contents": [{"uri": uri, "text": word}]}),
        "prompts/get" => json!({"messages": [{"role": "user", "content": text}]}),
        _ => json!({"content": [text]}),
    };
    let fine = json!({"jsonrpc": "2.0", "id": id, "result": result});
    let mut out = Vec::new();
    for _ in 0..numbers.below(4) {
        out.push(noise(&mut numbers, id, &fine));
    }
    // Most answers are good ones: a server that never answers is soon left alone.
    if numbers.below(3) > 0 {
        out.push(fine.to_string().into_bytes());
    }
    out
}

fn noise(numbers: &mut PseudoRandom, id: &Value, fine: &Value) -> Vec<u8> {
    let other = numbers.below(40);
    let question = json!({"message": "?", "requestedSchema": {"type": "object", "properties": {}}});
    let message = match numbers.below(17) {
        0 => {
            json!({"jsonrpc": "2.0", "id": other, "result": {"content": [{"type": "text", "text": "not asked for"}]}})
        }
        1 => {
            json!({"jsonrpc": "2.0", "id": id, "result": {"content": []}, "error": {"code": 1, "message": "both"}})
        }
        2 => {
            json!({"jsonrpc": "2.0", "id": format!("x{other}"), "method": "elicitation/create", "params": {"message": "?"}})
        }
        3 => json!({"jsonrpc": "2.0", "id": id, "method": "sampling/createMessage", "params": []}),
        4 => {
            json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": other, "progress": "far"}})
        }
        5 => json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}),
        6 => {
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
        }
        7 => json!([fine, fine]),
        8 => json!({"jsonrpc": "1.0", "id": id, "result": null}),
        9 => return vec![b'['; 1 + numbers.below(400)],
        10 => {
            json!({"jsonrpc": "2.0", "id": other, "method": "elicitation/create", "params": question})
        }
        11 => json!({"jsonrpc": "2.0", "id": id, "method": "roots/list"}),
        12 => {
            json!({"jsonrpc": "2.0", "id": id, "result": {"resultType": "input_required", "inputRequests": {"a": {"method": "elicitation/create", "params": question}}}})
        }
        13 => {
            let method = numbers.pick(&["resources/list_changed", "prompts/list_changed"]);
            json!({"jsonrpc": "2.0", "method": format!("notifications/{method}")})
        }
        14 => {
            json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "error", "data": fine}})
        }
        _ => {
            let mut bytes = fine.to_string().into_bytes();
            for _ in 0..=numbers.below(3) {
                let at = numbers.below(bytes.len());
                bytes[at] = u8::try_from(numbers.below(256)).unwrap();
            }
            bytes.retain(|byte| !matches!(byte, b'\n' | b'\r'));
            return bytes;
        }
    };
    message.to_string().into_bytes()
}

/// What a server says to anything else; nothing to a notification.
fn handshake(message: &Value) -> Option<Value> {
    let id = message.get("id").filter(|id| !id.is_null())?;
    let result = match message["method"].as_str().unwrap_or_default() {
        "initialize" => {
            json!({"protocolVersion": "2025-11-25",
            "capabilities": {"tools": {"listChanged": true}, "prompts": {"listChanged": true},
                "resources": {"listChanged": true}, "logging": {}},
            "serverInfo": {"name": "wild", "version": "1"}})
        }
        "tools/list" => json!({"tools": [{"name": "say", "description": "Says a text.",
            "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}}]}),
        "resources/list" => json!({"resources": []}),
        "resources/templates/list" => {
            json!({"resourceTemplates": [{"uriTemplate": "wild://{name}", "name": "wild"}]})
        }
        "prompts/list" => json!({"prompts": [{"name": "say", "description": "Says a text.",
            "arguments": [{"name": "text"}]}]}),
        "ping" | "logging/setLevel" => json!({}),
        // Answers of the gateway to requests that were noise.
        "" => return None,
        _ => {
            return Some(
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no"}}),
            );
        }
    };
    Some(json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

/// The server over pipes.
pub(crate) fn run() {
    let mut out = std::io::stdout();
    for line in std::io::stdin().lines() {
        let Ok(line) = line else { return };
        let Ok(message) = serde_json::from_str::<Value>(&line) else { return };
        let said = match message["method"].as_str() {
            Some(method) if WILD.contains(&method) => lines(&message),
            _ => {
                handshake(&message).map(|said| said.to_string().into_bytes()).into_iter().collect()
            }
        };
        for line in said {
            if out.write_all(&line).and_then(|()| out.write_all(b"\n")).is_err() {
                return;
            }
        }
        let _ = out.flush();
    }
}

/// The server over HTTP, in a thread for each connection: its address.
fn serve_http() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/mcp", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer_http(stream));
        }
    });
    address
}

fn answer_http(mut stream: TcpStream) -> Option<()> {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        let mut chunk = [0; 4096];
        let read = stream.read(&mut chunk).ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&chunk[..read]);
    };
    let text = String::from_utf8_lossy(&bytes[..head]).to_ascii_lowercase();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.and_then(|length| length.parse().ok()).unwrap_or_default();
    while bytes.len() < head + length {
        let mut chunk = [0; 4096];
        let read = stream.read(&mut chunk).ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&chunk[..read]);
    }
    let mut say = |status: &str, kind: &str, body: &[u8]| {
        let head = format!(
            "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body)).ok()
    };
    let message: Value = serde_json::from_slice(&bytes[head..]).unwrap_or_default();
    if !message["method"].as_str().is_some_and(|method| WILD.contains(&method)) {
        return match handshake(&message) {
            Some(said) => say("200 OK", "application/json", said.to_string().as_bytes()),
            None if text.starts_with("post") => say("202 Accepted", "text/plain", b""),
            None => say("405 Method Not Allowed", "text/plain", b""),
        };
    }
    let said = lines(&message);
    let mut events = Vec::new();
    for line in &said {
        events.extend_from_slice(b"event: message\ndata: ");
        events.extend_from_slice(line);
        events.extend_from_slice(b"\n\n");
    }
    match said.len() % 3 {
        0 => say("200 OK", "application/json", said.last().map_or(b"", Vec::as_slice)),
        1 => say("200 OK", "text/event-stream", &events),
        // Cut in the middle of what it promised.
        _ => {
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n",
                events.len() + 10
            );
            stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&events)).ok()
        }
    }
}

fn start(folder: &Folder) -> Client {
    let mut command = Command::new("sh");
    command.arg(folder.path("client.sh")).arg(env!("CARGO_BIN_EXE_weaver"));
    command.args(["serve", "--config", &folder.arg("weaver.toml")]);
    Client::start_as(command).shaken()
}

/// Calls a server in each way, each with a word of the client's own.
fn call_all(folder: &Folder, name: &'static str) {
    let mut client = start(folder);
    let mut good = BTreeMap::<&str, u32>::new();
    for round in 0..ROUNDS {
        for (server, kind) in ["wild", "web"].into_iter().zip([round, round + 1]) {
            let word = format!("{name}-{round}");
            let started = Instant::now();
            let (method, params) = match kind % 4 {
                0 => {
                    ("resources/read", json!({ "uri": format!("weaver://{server}/wild://{word}") }))
                }
                1 => {
                    let arguments = json!({ "text": word });
                    (
                        "prompts/get",
                        json!({ "name": format!("{server}__say"), "arguments": arguments }),
                    )
                }
                _ => {
                    let arguments = json!({ "capability": format!("{server}.say"), "arguments": { "text": word } });
                    ("tools/call", json!({ "name": "tool_execute", "arguments": arguments }))
                }
            };
            let answer = client.request(method, params);
            let text = answer.to_string();
            assert!(started.elapsed() < PATIENCE, "{server} {word}: {:?}", started.elapsed());
            let stranger = if name == "red" { "blue-" } else { "red-" };
            assert!(!text.contains(stranger), "{server} {word}: {text}");
            let failed = answer["error"].is_object() || answer["result"]["isError"] == true;
            *good.entry(method).or_default() += u32::from(!failed && text.contains(&word));
        }
        if round % 15 == 0 {
            let (failed, body) = client.execute("good.echo", json!({ "text": name }));
            assert!(!failed && body.to_string().contains(name), "{body}");
        }
    }
    let enough = [("tools/call", 15), ("resources/read", 5), ("prompts/get", 5)];
    for (method, count) in enough {
        assert!(good[method] > count, "hardly any went well: {good:?}");
    }
    client.finish();
}

#[test]
fn whatever_servers_say_each_call_ends_and_is_its_clients_alone() {
    let brief = "timeout_ms = 400";
    let contracts = contracts(&["web"]) + &contracts(&["wild"]);
    let contracts = contracts.replace("timeout_ms = 20000", brief);
    let folder = folder(&[("good", "good")], "", &contracts);
    let config = std::fs::read_to_string(folder.path("weaver.toml")).unwrap();
    let (_, good) = config.split_once("[mcpServers.good]").unwrap();
    let wild = format!("[mcpServers.wild]{good}").replace("= \"good\"", "= \"wild\"");
    let web = format!("\n[mcpServers.web]\nurl = \"{}\"\n", serve_http());
    folder.write("weaver.toml", &format!("{config}\n{wild}\n{web}"));
    // Each client has a parent of its own: the same parent would be the same client.
    folder.write("client.sh", "\"$@\"\nexit $?\n");
    let mut witness = start(&folder);
    let status = || folder.weaver(&["status", "--json"]).json()["pid"].clone();
    let before = status();
    std::thread::scope(|scope| {
        scope.spawn(|| call_all(&folder, "red"));
        scope.spawn(|| call_all(&folder, "blue"));
    });
    assert!(!witness.execute("good.people", json!({})).0);
    assert_eq!(status(), before, "the daemon was never replaced");
    witness.finish();
    folder.weaver(&["stop"]);
}
