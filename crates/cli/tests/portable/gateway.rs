//! A gateway in a folder of its own, and its clients.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// Far beyond what anything takes: a test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(120);

/// Waits until something is so.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "it never came to this: {what}");
        thread::sleep(Duration::from_millis(50));
    }
}

/// The command. Under Wine, Cargo's path has no drive.
fn program() -> PathBuf {
    std::path::absolute(env!("CARGO_BIN_EXE_weaver")).unwrap()
}

/// A gateway before one server of notes. Its daemon ends with the test.
pub(crate) struct Gateway {
    dir: TempDir,
    passphrase: String,
}

/// How a run of the command ended.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    /// For whoever reads why a test failed.
    _err: String,
}

impl Run {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl Gateway {
    /// A gateway that `weaver init` made.
    pub(crate) fn new() -> Self {
        let mut gateway = Self { dir: TempDir::new().unwrap(), passphrase: String::new() };
        fs::create_dir_all(gateway.path("notes/notes")).unwrap();
        fs::create_dir_all(gateway.path("home")).unwrap();
        fs::write(gateway.note(), "buy milk").unwrap();
        fs::write(gateway.path("notes/tickets.jsonl"), "").unwrap();
        fs::write(gateway.path("notes/outbox.txt"), "").unwrap();
        let server = json!({
            "command": program().to_str().unwrap(),
            "args": ["demo-server", "--root", gateway.path("notes").to_str().unwrap()],
        });
        let clients = json!({ "mcpServers": { "notes": server } });
        fs::write(gateway.path("clients.json"), clients.to_string()).unwrap();
        let (from, to) = (gateway.path("clients.json"), gateway.path("gateway"));
        let made = gateway.run(
            &[
                "init",
                "--yes",
                "--json",
                "--posture",
                "careful",
                "--from",
                from.to_str().unwrap(),
                "--dir",
                to.to_str().unwrap(),
            ],
            "",
        );
        assert_eq!(made.code, 0, "{made:?}");
        gateway.passphrase = made.json()["passphrase"].as_str().unwrap().to_owned();
        gateway
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The note that the server begins with.
    pub(crate) fn note(&self) -> PathBuf {
        self.path("notes/notes/shopping.md")
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(program());
        let home = self.path("home");
        for variable in ["HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"] {
            command.env(variable, &home);
        }
        command.current_dir(self.dir.path()).args(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, args: &[&str], input: &str) -> Run {
        let mut child = self.command(args).spawn().unwrap();
        // A command that fails early may have closed its input.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Run {
            code: output.status.code().unwrap_or(-1),
            out: text(output.stdout),
            _err: text(output.stderr),
        }
    }

    /// Runs a command that has no gateway.
    pub(crate) fn plain(&self, args: &[&str]) -> Run {
        self.run(args, "")
    }

    /// A process of this gateway that runs on.
    pub(crate) fn process(&self, args: &[&str]) -> Child {
        let mut command = self.command(&[args, &["--config", &self.config()]].concat());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    }

    fn config(&self) -> String {
        self.path("gateway/weaver.toml").to_str().unwrap().to_owned()
    }

    /// Runs a command with the configuration of this gateway.
    pub(crate) fn weaver(&self, args: &[&str]) -> Run {
        self.run(&[args, &["--config", &self.config()]].concat(), "")
    }

    /// Runs a command that has to succeed.
    pub(crate) fn ok(&self, args: &[&str]) -> Run {
        let run = self.weaver(args);
        assert_eq!(run.code, 0, "{args:?}: {run:?}");
        run
    }

    pub(crate) fn status(&self) -> Value {
        self.ok(&["status", "--json"]).json()
    }

    /// A client that has opened its session.
    pub(crate) fn client(&self, more: &[&str]) -> Client {
        let config = self.config();
        Client::open(self.command(&[&["serve", "--config", &config], more].concat()))
    }

    /// Grants a held call as its owner.
    pub(crate) fn grant(&self, request: &str) {
        let config = self.config();
        let args =
            ["approve", "grant", request, "--yes", "--passphrase-fd", "0", "--config", &config];
        let granted = self.run(&args, &self.passphrase);
        assert_eq!(granted.code, 0, "{granted:?}");
    }

    pub(crate) fn store(&self) -> String {
        self.path("gateway/.weaver/ledger.db").to_str().unwrap().to_owned()
    }

    /// The log verifies, whoever was killed.
    pub(crate) fn verify(&self) {
        let verified = self.plain(&["trace", "verify", "--store", &self.store()]);
        assert_eq!(verified.code, 0, "{verified:?}");
    }

    /// Ends the daemon without a word to it.
    pub(crate) fn kill_daemon(&self) {
        let pid = self.status()["pid"].to_string();
        let mut command = match cfg!(windows) {
            true => Command::new("taskkill"),
            false => Command::new("kill"),
        };
        let args: &[&str] = if cfg!(windows) { &["/F", "/PID"] } else { &["-9"] };
        let killed = command.args(args).arg(pid).stdout(Stdio::null()).status().unwrap();
        assert!(killed.success());
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.weaver(&["stop"]);
    }
}

/// The answer to `initialize` over HTTP.
pub(crate) fn post(address: &str, token: Option<&str>) -> String {
    let hello = json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "portable", "version": "1" },
        },
    });
    let body = hello.to_string();
    let token = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\n{token}Content-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nConnection: close\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// A client that speaks MCP with a shim or a gateway.
pub(crate) struct Client {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    next: u64,
}

impl Client {
    fn open(mut command: Command) -> Self {
        let mut child = command.stderr(Stdio::inherit()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let input = child.stdin.take();
        let mut client = Self { child, input, lines, next: 1 };
        let hello = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "portable", "version": "1" },
        });
        assert!(client.ask("initialize", hello)["result"].is_object());
        client.put(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    fn put(&mut self, message: &Value) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{message}").unwrap();
        input.flush().unwrap();
    }

    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.next;
        self.next += 1;
        self.put(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let line = self.lines.recv_timeout(PATIENCE).expect("the gateway answers");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == id {
                return message;
            }
        }
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({ "name": tool, "arguments": arguments }))["result"].clone()
    }

    /// Asks to delete the note; the request that waits for a person.
    pub(crate) fn held_deletion(&mut self) -> String {
        let held = self.call("notes__delete_note", json!({ "name": "shopping" }));
        let request = &held["structuredContent"]["approval"]["request"];
        request.as_str().unwrap_or_else(|| panic!("{held}")).to_owned()
    }

    /// Reads the note; true if it was read.
    pub(crate) fn reads(&mut self) -> bool {
        let read = self.call("notes__read_note", json!({ "name": "shopping" }));
        read.to_string().contains("buy milk")
    }

    /// Ends the session as clients do, and waits for the end of its process.
    pub(crate) fn finish(mut self) {
        drop(self.input.take());
        let child = &mut self.child;
        until("the client's process ends", || child.try_wait().unwrap().is_some());
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
