//! An MCP client of `weaver serve` over real pipes, and the folder it is started on.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};
use weaver_trace_store::verify::verify;

use crate::fixture::{MARK, SECRET, VARIABLE};
use crate::support::{Folder, HEAD};

/// Far beyond what any answer takes: a test that waits this long has failed.
const LONG: Duration = Duration::from_secs(60);

pub(crate) const MODERN: &str = "2026-07-28";

/// Rules that most tests start from: reading is free, writing needs a reason.
pub(crate) const RULES: &str = r#"
[[rules]]
name = "reads"
match = { effects = { impact = "read" } }
effect = "allow"
reason = "reading is free"

[[rules]]
name = "writes"
match = { effects = { impact = "write", world = "closed" } }
require = { justification = { min_chars = 5, sources = ["model"] } }
effect = "allow"
reason = "writing needs a reason"

[[rules]]
name = "sends"
match = { effects = { world = "open" } }
effect = "allow"
reason = "the floor holds it anyway"
"#;

/// Trusted reads, a local write and a sink, for every server.
pub(crate) fn contracts(servers: &[&str]) -> String {
    let mut text = String::new();
    for server in servers {
        text += &format!(
            "[capabilities.\"{server}.*\"]\neffects = \"read_local\"\nsink = \"none\"\ntimeout_ms = 20000\n\
             output = {{ confidentiality = \"internal\", integrity = \"trusted\" }}\n\n\
             [capabilities.\"{server}.note\"]\neffects = \"write_local\"\nsink = \"none\"\n\n"
        );
    }
    text
}

/// A signed folder with these servers, each a pair of its name and behaviour.
pub(crate) fn folder(servers: &[(&str, &str)], settings: &str, more_contracts: &str) -> Folder {
    let folder = Folder::new();
    configure(&folder, servers, settings);
    folder.append("policy/policy.toml", RULES);
    let names: Vec<&str> = servers.iter().map(|(name, _)| *name).collect();
    folder.append("policy/contracts.toml", &contracts(&names));
    folder.append("policy/contracts.toml", more_contracts);
    folder.sign("policy");
    folder.sign("contracts");
    folder
}

/// Writes `weaver.toml` anew, under the same root key.
pub(crate) fn configure(folder: &Folder, servers: &[(&str, &str)], settings: &str) {
    let old = std::fs::read_to_string(folder.path("weaver.toml")).unwrap();
    let root = old.lines().find(|line| line.starts_with("root = ")).unwrap();
    let mut text = format!("[principal]\nid = \"owner\"\n\n[trust]\n{root}\n\n{settings}\n");
    let program = toml::Value::from(std::env::current_exe().unwrap().to_str().unwrap()).to_string();
    // Servers make no files beside the gateway's state.
    std::fs::create_dir_all(folder.path("files")).unwrap();
    let mark = toml::Value::from(folder.arg("files/mark")).to_string();
    for (name, behaviour) in servers {
        let command = if *behaviour == "absent" { "\"/nowhere/no-server\"" } else { &program };
        text += &format!(
            "\n[mcpServers.{name}]\ncommand = {command}\n\
             args = [\"--exact\", \"fixture::fixture_main\", \"--nocapture\"]\n\
             env = {{ {VARIABLE} = \"{behaviour}\", TOKEN = \"{SECRET}\", {MARK} = {mark} }}\n"
        );
        if *behaviour == "mute" {
            text += "initialize_timeout_ms = 1500\n";
        }
    }
    folder.write("weaver.toml", &text);
}

/// Replaces a signed document.
pub(crate) fn replace(folder: &Folder, kind: &str, version: u32, body: &str) {
    let head = HEAD.replace("version = 1", &format!("version = {version}"));
    folder.write(&format!("policy/{kind}.toml"), &format!("kind = \"{kind}\"\n{head}{body}"));
    folder.sign(kind);
}

/// A running `weaver serve`. Every line on its stdout must be JSON-RPC.
pub(crate) struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Value>,
    /// What came in while something else was waited for.
    early: Vec<Value>,
    stderr: JoinHandle<String>,
    next: u64,
    modern: bool,
    /// What a client of the newer revision says that it can do.
    pub(crate) capabilities: Value,
}

/// How a serve ended.
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) stderr: String,
    /// Everything that came in and was not asked for.
    pub(crate) rest: Vec<Value>,
}

impl Client {
    /// Starts it and sends nothing.
    pub(crate) fn start(folder: &Folder) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_weaver"));
        command.args(["serve", "--standalone", "--config", &folder.arg("weaver.toml")]);
        Self::start_as(command)
    }

    /// Starts the shim to the daemon and sends nothing.
    pub(crate) fn shim(folder: &Folder, more: &[&str]) -> Self {
        Self::start_as(shim(folder, more))
    }

    /// Starts this command and sends nothing.
    pub(crate) fn start_as(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut stderr = child.stderr.take().unwrap();
        let (tell, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines() {
                let Ok(line) = line else { return };
                let message = serde_json::from_str(&line).unwrap_or(json!({ "no json": line }));
                if tell.send(message).is_err() {
                    return;
                }
            }
        });
        let stderr = std::thread::spawn(move || {
            let mut text = Vec::new();
            let _ = stderr.read_to_end(&mut text);
            String::from_utf8_lossy(&text).into_owned()
        });
        let stdin = child.stdin.take();
        Self {
            child,
            stdin,
            lines,
            early: Vec::new(),
            stderr,
            next: 1,
            modern: false,
            capabilities: json!({}),
        }
    }

    /// Starts it and shakes hands in the older way.
    pub(crate) fn open(folder: &Folder) -> Self {
        Self::start(folder).shaken()
    }

    /// Shakes hands in the older way.
    pub(crate) fn shaken(self) -> Self {
        let mut client = self;
        let opened = client.request("initialize", initialize());
        assert_eq!(opened["result"]["protocolVersion"], "2025-11-25", "{opened}");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    /// Starts it and speaks the newer way, without a handshake.
    pub(crate) fn open_modern(folder: &Folder) -> Self {
        Self::start(folder).modern()
    }

    /// The same client, of the newer revision.
    pub(crate) fn modern(self) -> Self {
        Self { modern: true, ..self }
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.send_line(&message.to_string());
    }

    pub(crate) fn send_line(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line.as_bytes()).unwrap();
        stdin.write_all(b"\n").unwrap();
        stdin.flush().unwrap();
    }

    /// The next line, or nothing at the end.
    pub(crate) fn line(&mut self) -> Option<Value> {
        let message = self.lines.recv_timeout(LONG).ok()?;
        assert_eq!(message["jsonrpc"], "2.0", "not JSON-RPC on stdout: {message}");
        let kinds = ["result", "error", "method"].iter().filter(|kind| !message[**kind].is_null());
        assert_eq!(kinds.count(), 1, "not JSON-RPC on stdout: {message}");
        Some(message)
    }

    /// The answer under this id, whatever else comes first.
    pub(crate) fn answer(&mut self, id: &Value) -> Value {
        if let Some(at) = self.early.iter().position(|message| message["id"] == *id) {
            return self.early.remove(at);
        }
        loop {
            let message = self.line().unwrap_or_else(|| panic!("no answer under {id}"));
            if message["id"] == *id && message["method"].is_null() {
                return message;
            }
            self.early.push(message);
        }
    }

    pub(crate) fn begin(&mut self, method: &str, mut params: Value) -> Value {
        let id = json!(self.next);
        self.next += 1;
        if self.modern {
            let more = params["_meta"].take();
            params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": self.capabilities});
            for (name, value) in more.as_object().into_iter().flatten() {
                params["_meta"][name] = value.clone();
            }
        }
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        self.answer(&id)
    }

    pub(crate) fn tools(&mut self) -> Vec<Value> {
        self.request("tools/list", json!({}))["result"]["tools"].as_array().unwrap().clone()
    }

    /// Calls a tool by its listed name: `isError` and the structured content.
    pub(crate) fn call(&mut self, name: &str, arguments: Value) -> (bool, Value) {
        let answer = self.request("tools/call", json!({"name": name, "arguments": arguments}));
        unpack(&answer)
    }

    /// Calls a capability through `tool_execute`.
    pub(crate) fn execute(&mut self, capability: &str, arguments: Value) -> (bool, Value) {
        self.call("tool_execute", json!({"capability": capability, "arguments": arguments}))
    }

    /// The reason of a call that must be refused or fail, with its verdict.
    pub(crate) fn refusal(&mut self, capability: &str, arguments: Value) -> (String, String) {
        let (is_error, body) = self.execute(capability, arguments);
        assert!(is_error, "{body}");
        eprintln!("{body}"); // Shown when the test fails.
        reason(&body)
    }

    /// The progress that came in so far while an answer was waited for.
    pub(crate) fn progress(&mut self) -> Vec<Value> {
        let all = std::mem::take(&mut self.early).into_iter();
        let (told, early): (Vec<Value>, Vec<Value>) =
            all.partition(|message| message["method"] == "notifications/progress");
        self.early = early;
        told.into_iter().map(|message| message["params"].clone()).collect()
    }

    /// The next notification that came in or comes.
    pub(crate) fn notice(&mut self) -> Value {
        let told = |message: &Value| message["method"].is_string() && message["id"].is_null();
        if let Some(at) = self.early.iter().position(told) {
            return self.early.remove(at);
        }
        loop {
            let message = self.line().expect("a notification");
            if told(&message) {
                return message;
            }
            self.early.push(message);
        }
    }

    /// The process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Closes stdin and waits for the end.
    pub(crate) fn end(mut self) -> Ended {
        drop(self.stdin.take());
        let mut rest = std::mem::take(&mut self.early);
        while let Some(line) = self.line() {
            rest.push(line);
        }
        let code = self.child.wait().unwrap().code().expect("ended by itself");
        let stderr = self.stderr.join().unwrap();
        assert!(!stderr.contains(SECRET), "a secret on stderr: {stderr}");
        Ended { code, stderr, rest }
    }

    /// As [`Self::end`], and all must have gone well.
    pub(crate) fn finish(self) -> Vec<Value> {
        let ended = self.end();
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        ended.rest
    }
}

/// The command of the shim to the daemon.
pub(crate) fn shim(folder: &Folder, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weaver"));
    command.args(["serve", "--config", &folder.arg("weaver.toml")]).args(more);
    command
}

/// The command of the shim, started by another process, which waits for its end.
pub(crate) fn shim_of_another_process(folder: &Folder, shell: &str) -> Command {
    folder.write("client.sh", "\"$@\"\nexit $?\n");
    let mut command = Command::new(shell);
    command.arg(folder.path("client.sh")).arg(env!("CARGO_BIN_EXE_weaver"));
    command.args(["serve", "--config", &folder.arg("weaver.toml")]);
    command
}

pub(crate) fn initialize() -> Value {
    json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}})
}

/// `isError` and what an answer says, read by [`answer_body`].
pub(crate) fn unpack(answer: &Value) -> (bool, Value) {
    let result = &answer["result"];
    assert!(!result.to_string().contains(SECRET), "a secret in an answer: {result}");
    (result["isError"].as_bool().unwrap_or_else(|| panic!("{answer}")), answer_body(result))
}

/// What an answer says. One of the gateway's own is a JSON body, which stands in its text too. A
/// delivered result has its metadata in `_meta`; here it becomes `verdict`, `call`, `handle`,
/// `warnings`, the `content` with its `text` joined, and the `structured` value.
fn answer_body(result: &Value) -> Value {
    let meta = &result["_meta"];
    let blocks = result["content"].as_array().unwrap_or_else(|| panic!("no content: {result}"));
    if let Some(ids) = meta["weaver/tools"].as_array() {
        let tools: Vec<Value> = ids.iter().map(|id| json!({ "id": id })).collect();
        let text = blocks[0]["text"].as_str().unwrap();
        return json!({ "tools": tools, "missing": meta["weaver/missing"], "text": text });
    }
    if meta["weaver/reason"].is_string() {
        // A refusal in proxy mode, of a tool with an output schema.
        let text = blocks[0]["text"].as_str().unwrap();
        return serde_json::from_str(text).unwrap();
    }
    if meta["weaver/verdict"].is_null() {
        let body = result["structuredContent"].clone();
        assert!(body.is_object(), "{result}");
        let text = blocks[0]["text"].as_str().unwrap();
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), body);
        return body;
    }
    assert!(meta["weaver/call"].is_string(), "{result}");
    let texts: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
    json!({
        "verdict": meta["weaver/verdict"],
        "call": meta["weaver/call"],
        "handle": meta["weaver/handle"],
        "warnings": meta["weaver/warnings"],
        "content": blocks,
        "text": texts.join("\n"),
        "structured": result["structuredContent"],
    })
}

/// Verdict and reason, which every refusal and failure has beside a message.
pub(crate) fn reason(body: &Value) -> (String, String) {
    let word =
        |key: &str| body[key].as_str().unwrap_or_else(|| panic!("no {key}: {body}")).to_owned();
    assert!(!word("message").is_empty(), "{body}");
    (word("verdict"), word("reason"))
}

/// The text of a delivered result, as a model reads it.
pub(crate) fn shown(body: &Value) -> &str {
    body["text"].as_str().unwrap_or_else(|| panic!("no delivered result: {body}"))
}

/// The events of the ledger after the end, verified: kind and payload of each.
pub(crate) fn events(folder: &Folder) -> Vec<(String, Value)> {
    let reader = folder.reader();
    verify(&reader, None).unwrap();
    let size = reader.head().unwrap().size;
    let mut all = Vec::new();
    while (all.len() as u64) < size {
        for event in reader.events(all.len() as u64, 256).unwrap() {
            let payload = event.payload.as_deref().unwrap();
            assert!(!String::from_utf8_lossy(payload).contains(SECRET), "a secret on record");
            let header: Value = serde_json::from_slice(&event.header).unwrap();
            let payload = serde_json::from_slice(event.payload.as_deref().unwrap()).unwrap();
            all.push((header["type"].as_str().unwrap().to_owned(), payload));
        }
    }
    all
}

/// The events of one kind that name a capability.
pub(crate) fn of_capability(folder: &Folder, kind: &str, capability: &str) -> Vec<Value> {
    let wanted =
        |(found, payload): &(String, Value)| found == kind && payload["capability"] == capability;
    events(folder).into_iter().filter(wanted).map(|(_, payload)| payload).collect()
}
