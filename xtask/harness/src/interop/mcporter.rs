//! The command line of `mcporter`: a process for each request, each with its own gateway.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::child;
use crate::counterparts::cache::Cache;

const TIMEOUT: Duration = Duration::from_secs(90);
/// The gateway's name in the servers file.
const SERVER: &str = "weaver";
/// The exit code after a result with `isError`.
const TOOL_ERROR: i32 = 1;

/// The command line, except for the request.
pub struct Mcporter {
    cache: Cache,
    script: PathBuf,
    servers: PathBuf,
    /// Where it writes its recordings, below `.mcporter`.
    home: PathBuf,
    calls: usize,
}

impl Mcporter {
    /// Writes the servers file that it reads.
    pub fn new(cache: &Cache, serve: &[String], folder: &Path) -> Result<Self> {
        let (command, args) = serve.split_first().context("an empty command line")?;
        let server = json!({ "command": command, "args": args });
        let servers = folder.join("mcporter.json");
        // No imports: the servers of this machine's editors must not be used.
        let text = json!({ "mcpServers": { SERVER: server }, "imports": [] }).to_string();
        fs::write(&servers, text)?;
        let script = cache.npm().join("node_modules/mcporter/dist/cli.js");
        let home = folder.join("home");
        fs::create_dir_all(&home)?;
        Ok(Self { cache: cache.clone(), script, servers, home, calls: 0 })
    }

    /// The answer to `tools/list`, as printed.
    pub fn list(&self) -> Result<Value> {
        let mut list = self.command();
        list.args(["list", SERVER, "--schema", "--json", "--exit-code"]);
        let printed = child::run(&mut list, "", TIMEOUT)?.succeeded("mcporter list")?;
        serde_json::from_str(&printed).with_context(|| format!("no JSON: {printed}"))
    }

    /// The result of a tool call. Only a part of it is printed, so the command records what it
    /// receives, and the result is read from the recording.
    pub fn call(&mut self, name: &str, arguments: &Value) -> Result<Value> {
        self.calls += 1;
        let recording = format!("call-{}", self.calls);
        let mut call = self.command();
        call.env("MCPORTER_RECORD", &recording).args(["call", "--server", SERVER, "--tool", name]);
        call.args(["--output", "json", "--args", &arguments.to_string()]);
        let output = child::run(&mut call, "", TIMEOUT)?;
        let file = format!(".mcporter/recordings/{recording}.ndjson");
        let result = fs::read_to_string(self.home.join(file))
            .context("it recorded nothing")
            .and_then(|text| recorded_result(&text))
            .with_context(|| format!("mcporter ended with {}: {}", output.status, output.tail()))?;
        let is_error = result["isError"].as_bool().unwrap_or(false);
        let wanted = if is_error { TOOL_ERROR } else { 0 };
        let ended = output.status.code() == Some(wanted);
        ensure!(ended, "mcporter ended with {}: {}", output.status, output.tail());
        let printed: Result<Value, _> = serde_json::from_str(&output.stdout);
        printed.with_context(|| format!("mcporter printed no JSON: {}", output.tail()))?;
        Ok(result)
    }

    fn command(&self) -> Command {
        let mut command = self.cache.command(self.cache.node());
        // Without its daemon, which would keep the gateway alive after a request.
        command.env("HOME", &self.home).env("MCPORTER_DISABLE_KEEPALIVE", "*");
        command.arg(&self.script).arg("--config").arg(&self.servers);
        command
    }
}

/// The result of the one tool call in a recording.
fn recorded_result(recording: &str) -> Result<Value> {
    let messages: Result<Vec<Value>, _> = recording.lines().map(serde_json::from_str).collect();
    let messages = messages.context("a line of the recording is not JSON")?;
    let call = messages.iter().find(|message| message["method"] == "tools/call");
    let id = call.map(|call| &call["id"]).context("it sent no tool call")?;
    let answers = |message: &&Value| message["_meta"]["dir"] == "recv" && message["id"] == *id;
    let answer = messages.iter().find(answers).context("its tool call was not answered")?;
    match answer.get("result") {
        Some(result) => Ok(result.clone()),
        None => bail!("its tool call failed: {}", answer["error"]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: &str = r#"{"method":"tools/call","id":1,"_meta":{"dir":"send"}}"#;

    #[test]
    fn the_result_is_that_of_the_tool_call() {
        let other = r#"{"id":0,"result":{"content":[0]},"_meta":{"dir":"recv"}}"#;
        let answer = r#"{"id":1,"result":{"content":[1]},"_meta":{"dir":"recv"}}"#;
        let found = recorded_result(&[other, CALL, answer].join("\n")).unwrap();
        assert_eq!(found, json!({ "content": [1] }));
    }

    #[test]
    fn a_recording_without_a_result_is_a_failure() {
        let error = r#"{"id":1,"error":{"code":-32602},"_meta":{"dir":"recv"}}"#;
        for recording in ["", "{", CALL, &[CALL, error].join("\n")] {
            assert!(recorded_result(recording).is_err(), "{recording}");
        }
    }
}
