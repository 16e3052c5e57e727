//! A client of our own that has each protocol feature, over stdin and stdout.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::child::ProcessGroup;
use crate::interop::server::Server;
use crate::interop::session;

/// The timeout for one answer or notification.
pub const TIMEOUT: Duration = Duration::from_secs(30);
const REVISION: &str = "2025-11-25";

/// The client's answers to the server's requests.
pub const ROOT: &str = "file:///tmp/a-root-of-the-trial";
pub const ELICITED: &str = "Ann of the trial";
pub const SAMPLED: &str = "a word of the trial";

/// A connected client.
pub struct Peer {
    // Killed with its process group on drop.
    _group: ProcessGroup,
    stdin: ChildStdin,
    lines: mpsc::Receiver<String>,
    next: u64,
    /// The server whose tools are called through `tool_execute`.
    through: Option<&'static Server>,
    answers: BTreeMap<u64, Value>,
    notifications: Vec<Value>,
    received_requests: Vec<String>,
}

impl Peer {
    /// Starts a program and initializes a session.
    pub fn open(command: &mut Command, through: Option<&'static Server>) -> Result<Self> {
        let mut group = ProcessGroup::start(command.stdin(Stdio::piped()).stdout(Stdio::piped()))?;
        let stdin = group.leader().stdin.take().context("no standard input to write to")?;
        let stdout = group.leader().stdout.take().context("no standard output to read")?;
        let lines = session::spawn_line_reader(stdout);
        let (answers, notifications, received_requests) = (BTreeMap::new(), Vec::new(), Vec::new());
        let mut peer = Self {
            _group: group,
            stdin,
            lines,
            next: 1,
            through,
            answers,
            notifications,
            received_requests,
        };
        let capabilities =
            json!({ "roots": { "listChanged": true }, "sampling": {}, "elicitation": {} });
        let info = json!({ "name": "interop", "version": "1" });
        let hello = json!({ "protocolVersion": REVISION, "capabilities": capabilities, "clientInfo": info });
        let opened = peer.ask("initialize", hello)?;
        ensure!(opened["protocolVersion"] == REVISION, "another revision: {opened}");
        peer.notify("notifications/initialized", json!({}))?;
        // The server offers some tools only after it knows that the client accepts its requests.
        let tool = if through.is_some() { "tool_execute" } else { "get-roots-list" };
        let until = Instant::now() + TIMEOUT;
        while !peer.ask("tools/list", json!({}))?.to_string().contains(tool) {
            ensure!(Instant::now() < until, "no tool `{tool}`");
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(peer)
    }

    /// Sends a request and waits for the result.
    pub fn ask(&mut self, method: &str, params: Value) -> Result<Value> {
        let id = self.send(method, params)?;
        self.result(id)
    }

    /// Calls a tool of the server and waits for a result that is no error.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Result<Value> {
        let id = self.send_call(tool, arguments, None)?;
        let result = self.result(id)?;
        ensure!(result["isError"] != true, "`{tool}` failed: {result}");
        Ok(result)
    }

    /// Calls a tool of the server, optionally with a progress token.
    pub fn send_call(&mut self, tool: &str, arguments: Value, token: Option<&str>) -> Result<u64> {
        let mut params = match self.through {
            None => json!({ "name": tool, "arguments": arguments }),
            Some(server) => json!({ "name": "tool_execute", "arguments":
                { "capability": server.capability(tool), "arguments": arguments } }),
        };
        if let Some(token) = token {
            params["_meta"] = json!({ "progressToken": token });
        }
        self.send("tools/call", params)
    }

    fn send(&mut self, method: &str, params: Value) -> Result<u64> {
        let id = self.next;
        self.next += 1;
        self.write_message(
            &json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }),
        )?;
        Ok(id)
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, params: Value) -> Result<()> {
        self.write_message(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
    }

    /// Waits for the result of a request.
    pub fn result(&mut self, id: u64) -> Result<Value> {
        let until = Instant::now() + TIMEOUT;
        loop {
            if let Some(mut answer) = self.answers.remove(&id) {
                if let Some(error) = answer.get("error") {
                    bail!("answered with an error: {error}");
                }
                return Ok(answer["result"].take());
            }
            self.receive(until).with_context(|| format!("no answer to request {id}"))?;
        }
    }

    /// Waits for a notification of this method, and returns its parameters.
    pub fn notification(&mut self, method: &str) -> Result<Value> {
        let until = Instant::now() + TIMEOUT;
        loop {
            if let Some(found) = self.notifications(method).into_iter().next() {
                return Ok(found);
            }
            self.receive(until).with_context(|| format!("no `{method}`"))?;
        }
    }

    /// The parameters of all notifications of this method received so far.
    pub fn notifications(&self, method: &str) -> Vec<Value> {
        let of = self.notifications.iter().filter(|one| one["method"] == method);
        of.map(|one| one["params"].clone()).collect()
    }

    /// Whether an answer arrived that nobody waited for.
    pub fn has_answered(&self, id: u64) -> bool {
        self.answers.contains_key(&id)
    }

    /// Whether the server sent this request.
    pub fn has_received_request(&self, method: &str) -> bool {
        self.received_requests.iter().any(|one| one == method)
    }

    /// Handles one message, and answers it if it is a request.
    fn receive(&mut self, until: Instant) -> Result<()> {
        let left = until.saturating_duration_since(Instant::now());
        let line = self.lines.recv_timeout(left).context("nothing came in time")?;
        let message: Value =
            serde_json::from_str(&line).with_context(|| format!("no JSON: {line}"))?;
        match (message["method"].as_str(), &message["id"]) {
            (None, id) => {
                let id = id.as_u64().with_context(|| format!("an answer to nothing: {message}"))?;
                self.answers.insert(id, message);
            }
            (Some(_), Value::Null) => self.notifications.push(message),
            (Some(method), id) => {
                self.received_requests.push(method.to_owned());
                let answer = match client_answer(method) {
                    Some(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
                    None => json!({ "jsonrpc": "2.0", "id": id,
                        "error": { "code": -32601, "message": "no such method" } }),
                };
                self.write_message(&answer)?;
            }
        }
        Ok(())
    }

    fn write_message(&mut self, message: &Value) -> Result<()> {
        writeln!(self.stdin, "{message}").context("the other side is gone")
    }
}

/// What the client answers to a request of the server.
fn client_answer(method: &str) -> Option<Value> {
    Some(match method {
        "ping" => json!({}),
        "roots/list" => json!({ "roots": [{ "uri": ROOT, "name": "trial" }] }),
        "sampling/createMessage" => json!({ "role": "assistant", "model": "none",
            "stopReason": "endTurn", "content": { "type": "text", "text": SAMPLED } }),
        "elicitation/create" => {
            json!({ "action": "accept", "content": { "name": ELICITED, "check": true } })
        }
        _ => return None,
    })
}
