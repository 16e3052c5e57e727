//! The client against a real authorization server: npm `oidc-provider`.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::gateway::{free_port, wait_for};
use super::suite::Suite;
use crate::child::{self, Group};
use crate::workspace;

/// How long the client may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// How many tools the server has, each of which the client calls.
const TOOLS: u64 = 3;

/// Has the client log in and call each tool, and looks at what was asked of the authorization server.
///
/// # Errors
/// When the client does not get through, or did not ask as the protocol demands.
pub fn run(suite: &Suite, client: &std::path::Path) -> Result<()> {
    let script = workspace::root()?.join("xtask/harness/conformance/provider.mjs");
    let port = free_port()?;
    let mut provider = Command::new(&suite.node);
    // Its packages are found from the folder that it is started in.
    provider.arg(script).arg(port.to_string()).current_dir(&suite.modules);
    provider.stdout(Stdio::null()).stderr(Stdio::null());
    let _running = Group::start(&mut provider)?;
    wait_for(port).context("the authorization server does not start")?;
    let mut command = Command::new(client);
    command.arg(format!("http://127.0.0.1:{port}/mcp"));
    let output = child::run(&mut command, "", PATIENCE)?;
    let seen = seen(port)?;
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

/// What was asked of the authorization server and the server behind it.
fn seen(port: u16) -> Result<Value> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(stream, "GET /seen HTTP/1.0\r\nhost: 127.0.0.1:{port}\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let body = answer.split("\r\n\r\n").nth(1).context("no answer")?;
    serde_json::from_str(body).with_context(|| format!("no JSON: {body}"))
}
