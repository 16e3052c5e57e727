//! A small MCP client over stdin and stdout: one JSON message per line.

use std::fs::File;
use std::io::Write;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::child::ProcessGroup;
use crate::interop::session::spawn_line_reader;

/// The timeout for one answer.
const TIMEOUT: Duration = Duration::from_secs(120);
/// The most pages of a tool list.
const MAX_PAGES: usize = 20;
const PROTOCOL_VERSION: &str = "2025-11-25";

/// A connection to one server.
pub struct Connection {
    name: String,
    group: ProcessGroup,
    stdin: Option<ChildStdin>,
    lines: mpsc::Receiver<String>,
    id: u64,
}

/// A server's answer to one request.
pub struct Answer {
    /// The result, or the protocol error.
    pub body: Result<Value, Value>,
    /// How many progress notifications came before it.
    pub progress: usize,
}

impl Connection {
    /// Starts the server and initializes a session.
    pub fn open(name: &str, command: &mut Command, log: File) -> Result<Self> {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        let mut group = ProcessGroup::start(command)?;
        let stdin = group.leader().stdin.take();
        let stdout = group.leader().stdout.take().context("no standard output to read")?;
        let mut connection =
            Self { name: name.to_owned(), group, stdin, lines: spawn_line_reader(stdout), id: 0 };
        let opened = connection.request(
            "initialize",
            json!({
                "protocolVersion": PROTOCOL_VERSION,
                "capabilities": {},
                "clientInfo": { "name": "weaver-eval-work", "version": "1" },
            }),
        )?;
        if let Err(error) = opened.body {
            bail!("`{name}` refuses to open: {error}");
        }
        connection.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(connection)
    }

    /// All tools of the server.
    pub fn tools(&mut self) -> Result<Vec<Value>> {
        let (mut tools, mut params) = (Vec::new(), json!({}));
        for _ in 0..MAX_PAGES {
            let answer = self.request("tools/list", params)?;
            let page = answer.body.map_err(|error| anyhow::anyhow!("tools/list: {error}"))?;
            tools.extend(page["tools"].as_array().into_iter().flatten().cloned());
            match page["nextCursor"].as_str() {
                Some(cursor) => params = json!({ "cursor": cursor }),
                None => return Ok(tools),
            }
        }
        bail!("`{}` lists its tools on more than {MAX_PAGES} pages", self.name)
    }

    /// Calls a tool with a progress token.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Result<Answer> {
        let token = format!("progress-{}", self.id + 1);
        let meta = json!({ "progressToken": token });
        self.request("tools/call", json!({ "name": tool, "arguments": arguments, "_meta": meta }))
    }

    /// Ends the session and waits for the server to exit; kills it if it does not.
    pub fn close(mut self) -> Result<()> {
        drop(self.stdin.take());
        self.group.wait(Duration::from_secs(10))?;
        Ok(())
    }

    fn request(&mut self, method: &str, params: Value) -> Result<Answer> {
        self.id += 1;
        let id = self.id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        let end = Instant::now() + TIMEOUT;
        let mut progress = 0;
        loop {
            let mut message = self.receive(end).with_context(|| format!("in `{method}`"))?;
            if message["method"] == "notifications/progress" {
                progress += 1;
            } else if message.get("method").is_some() && message.get("id").is_some() {
                // This client offers nothing that a server could request.
                let error = json!({ "code": -32601, "message": "not offered" });
                let refusal = json!({ "jsonrpc": "2.0", "id": message["id"], "error": error });
                self.send(&refusal)?;
            } else if message["id"] == id {
                let body = match message.get("error") {
                    Some(error) => Err(error.clone()),
                    None => Ok(message["result"].take()),
                };
                return Ok(Answer { body, progress });
            }
        }
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        let stdin = self.stdin.as_mut().context("the session is over")?;
        writeln!(stdin, "{message}").with_context(|| format!("`{}` is gone", self.name))
    }

    fn receive(&mut self, end: Instant) -> Result<Value> {
        let left = end.saturating_duration_since(Instant::now());
        match self.lines.recv_timeout(left) {
            Ok(line) => serde_json::from_str(&line).with_context(|| format!("no JSON: {line}")),
            Err(RecvTimeoutError::Timeout) => {
                bail!("`{}` did not answer in {} s", self.name, TIMEOUT.as_secs())
            }
            Err(RecvTimeoutError::Disconnected) => bail!("`{}` ended early", self.name),
        }
    }
}
