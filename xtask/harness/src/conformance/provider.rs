//! Tests the OAuth client against a real authorization server: npm `oidc-provider`.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::gateway::{free_port, wait_for};
use super::suite::Suite;
use crate::child::{self, ProcessGroup};
use crate::workspace;

/// How long the client may take.
const TIMEOUT: Duration = Duration::from_secs(60);
/// How many tools the server has; the client calls each of them.
const TOOLS: u64 = 3;

/// Lets the client log in and call each tool, and checks the requests that the authorization server
/// recorded.
///
/// # Errors
/// If the client does not succeed, or its requests violate the protocol.
pub fn run(suite: &Suite, client: &std::path::Path) -> Result<()> {
    let script = workspace::root()?.join("xtask/harness/conformance/provider.mjs");
    let port = free_port()?;
    let mut provider = Command::new(&suite.node);
    // Node resolves packages from the working folder.
    provider.arg(script).arg(port.to_string()).current_dir(&suite.modules);
    provider.stdout(Stdio::null()).stderr(Stdio::null());
    let _running = ProcessGroup::start(&mut provider)?;
    wait_for(port).context("the authorization server does not start")?;
    let mut command = Command::new(client);
    command.arg(format!("http://127.0.0.1:{port}/mcp"));
    let output = child::run(&mut command, "", TIMEOUT)?;
    let seen = recorded_requests(port)?;
    let count = |name: &str| seen.get(name).and_then(Value::as_u64).unwrap_or_default();
    ensure!(count("called") == TOOLS, "not each tool was called: {seen}\n{}", output.tail());
    ensure!(count("registered") == 1 && count("codes") == 1, "it logged in more than once: {seen}");
    ensure!(count("refreshed") >= TOOLS - 1, "it did not use its refresh tokens: {seen}");
    ensure!(count("reused") == 0, "it used a refresh token twice: {seen}");
    let all = |name: &str, wanted: &str| {
        let asked = seen.get(name).and_then(Value::as_array);
        asked.is_some_and(|asked| asked.iter().all(|one| one.as_str() == Some(wanted)))
    };
    ensure!(all("pkce", "S256"), "it did not prove its code: {seen}");
    let resource = format!("http://127.0.0.1:{port}/mcp");
    ensure!(all("resources", &resource), "it did not say what the token is for: {seen}");
    println!(
        "oidc-provider: registered, logged in, {} refreshes, {} calls",
        count("refreshed"),
        count("called")
    );
    Ok(())
}

/// What the authorization server and the MCP server recorded.
fn recorded_requests(port: u16) -> Result<Value> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    write!(stream, "GET /seen HTTP/1.0\r\nhost: 127.0.0.1:{port}\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let body = answer.split("\r\n\r\n").nth(1).context("no answer")?;
    serde_json::from_str(body).with_context(|| format!("no JSON: {body}"))
}
