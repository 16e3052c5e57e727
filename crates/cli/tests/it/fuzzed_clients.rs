//! Clients that send anything, over the shim, the daemon's socket and HTTP, beside one that works.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{Client, folder, initialize};
use crate::pseudo_random::PseudoRandom;
use crate::support::{Folder, weaver};

/// The longest that anything may take to be answered or closed.
const PATIENCE: Duration = Duration::from_secs(20);
const ROUNDS: u64 = 120;

/// A message of the protocol with some of its bytes replaced, left out, or said twice.
fn damaged(numbers: &mut PseudoRandom) -> Vec<u8> {
    let seeds = [
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"tool_execute","arguments":{"capability":"good.people","arguments":{}}}}"#,
        r#"{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#,
        r#"{"protocol":1,"version":"0","program":"x","purpose":"status"}"#,
        r#"{"jsonrpc":"2.0","id":"weaver-1","result":{"roots":[{"uri":"file:///x"}]}}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"logging/setLevel","params":{"level":"debug"}}"#,
        r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"tool_execute","task":{"ttl":60000},"arguments":{"capability":"good.slow","arguments":{"text":"x"}},"_meta":{"progressToken":"t"}}}"#,
        r#"{"jsonrpc":"2.0","id":5,"method":"tasks/list","params":{"cursor":"x"}}"#,
        r#"{"jsonrpc":"2.0","id":6,"method":"resources/read","params":{"uri":"weaver://good/note://1"}}"#,
    ];
    let mut bytes = numbers.pick(&seeds).as_bytes().to_vec();
    for _ in 0..numbers.below(6) {
        let at = numbers.below(bytes.len());
        match numbers.below(4) {
            0 => bytes[at] = u8::try_from(numbers.below(256)).unwrap(),
            1 => {
                bytes.remove(at);
            }
            2 => bytes.extend_from_within(at..),
            _ => bytes.splice(at..at, *b"\"[{").for_each(drop),
        }
        if bytes.is_empty() {
            bytes.push(b'x');
        }
    }
    bytes.retain(|byte| *byte != b'\n');
    bytes
}

struct Gateway {
    folder: Folder,
    good: Client,
    http: String,
    /// The session of a client over HTTP.
    session: String,
}

impl Gateway {
    fn new() -> Self {
        let settings = "[http]\nlisten = \"127.0.0.1:0\"\nanonymous = true\n";
        let folder = folder(&[("good", "good")], settings, "");
        let good = start(&folder).shaken();
        let config = folder.arg("weaver.toml");
        let status = weaver(&["status", "--config", &config, "--json"]).json();
        let http = status["http"].as_str().unwrap().to_owned();
        let opening =
            json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize()});
        let head = "POST /mcp HTTP/1.1\r\n";
        let opened = answer(&http, &request(head, opening.to_string().as_bytes()));
        let id = opened.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        let session = id.unwrap_or_else(|| panic!("{opened}")).to_owned();
        Self { folder, good, http, session }
    }

    /// The first lines of a request over HTTP: in the session, of the newer revision, or neither.
    fn head(&self, numbers: &mut PseudoRandom) -> String {
        let session = format!("mcp-session-id: {}\r\n", self.session);
        let more = [
            "",
            &session,
            &format!("{session}mcp-protocol-version: 2025-11-25\r\n"),
            &format!("{session}last-event-id: 1-{}\r\n", numbers.below(3)),
            "mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: tool_execute\r\n",
            "mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/list\r\n",
        ];
        let accept = ["accept: application/json\r\n", "accept: text/event-stream\r\n"];
        let more = format!("{}{}", numbers.pick(&more), numbers.pick(&accept));
        format!("POST /mcp HTTP/1.1\r\n{more}")
    }

    /// The session is still there and answers.
    fn has_its_session(&self) {
        let head = format!("POST /mcp HTTP/1.1\r\nmcp-session-id: {}\r\n", self.session);
        let ping = json!({"jsonrpc": "2.0", "id": "alive", "method": "ping"}).to_string();
        let answer = answer(&self.http, &request(&head, ping.as_bytes()));
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("alive"), "{answer}");
    }

    /// The client that works is answered as ever, and the daemon is the one that it was.
    fn is_well(&mut self) {
        let started = Instant::now();
        assert!(!self.good.execute("good.people", json!({})).0);
        assert!(started.elapsed() < PATIENCE);
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.folder.weaver(&["stop"]);
    }
}

fn start(folder: &Folder) -> Client {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weaver"));
    command.args(["serve", "--config", &folder.arg("weaver.toml")]);
    Client::start_as(command)
}

#[test]
fn whatever_clients_send_the_gateway_goes_on_and_nothing_hangs() {
    let mut gateway = Gateway::new();
    let pid = |gateway: &Gateway| -> Value {
        gateway.folder.weaver(&["status", "--json"]).json()["pid"].clone()
    };
    let before = pid(&gateway);
    let mut numbers = PseudoRandom::of(0x5eed);
    let socket = gateway.folder.path(".weaver/ledger.db.run/d.sock");
    for round in 0..ROUNDS {
        let bytes = damaged(&mut numbers);
        let mut stream = UnixStream::connect(&socket).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let _ = stream.write_all(&bytes).and_then(|()| stream.write_all(b"\n"));
        let _ = stream.shutdown(Shutdown::Write);
        let read = stream.read_to_end(&mut Vec::new());
        assert!(closed(&read), "the socket hangs on {}: {read:?}", String::from_utf8_lossy(&bytes));

        let mut sent = request(&gateway.head(&mut numbers), &bytes);
        if numbers.below(3) == 0 {
            let at = numbers.below(sent.len());
            sent[at] = u8::try_from(numbers.below(256)).unwrap();
        }
        let mut stream = connect(&gateway.http);
        let _ = stream.write_all(&sent);
        let _ = stream.shutdown(Shutdown::Write);
        let read = stream.read_to_end(&mut Vec::new());
        assert!(closed(&read), "HTTP hangs on {}: {read:?}", String::from_utf8_lossy(&sent));
        if round % 30 == 0 {
            gateway.is_well();
            gateway.has_its_session();
        }
    }
    let mut shim = start(&gateway.folder);
    for _ in 0..ROUNDS {
        let line = damaged(&mut numbers);
        shim.send_line(&String::from_utf8_lossy(&line));
    }
    let alive = shim.request("ping", json!({}));
    assert!(alive["result"].is_object() || alive["error"].is_object(), "{alive}");
    shim.end();
    gateway.is_well();
    assert_eq!(pid(&gateway), before, "the daemon was never replaced");
}

/// A request over HTTP that begins with these lines.
fn request(head: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let mut request = format!(
        "{head}host: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n"
    )
    .into_bytes();
    request.extend_from_slice(body);
    request
}

fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// What a request that is in order is answered with.
fn answer(address: &str, request: &[u8]) -> String {
    let (mut stream, mut answer) = (connect(address), String::new());
    stream.write_all(request).unwrap();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// True when the other side has closed, with or without an answer, before the patience was over.
fn closed(read: &std::io::Result<usize>) -> bool {
    use std::io::ErrorKind::{TimedOut, WouldBlock};

    !matches!(read, Err(error) if matches!(error.kind(), TimedOut | WouldBlock))
}
