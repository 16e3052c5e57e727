//! A long session with an SDK: one process, one line per request and per answer.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::child::ProcessGroup;

/// The timeout for one answer.
const TIMEOUT: Duration = Duration::from_secs(90);
const MAX_LINE_BYTES: u64 = 16 * 1024 * 1024;

/// A running session.
pub struct Session {
    group: ProcessGroup,
    stdin: Option<ChildStdin>,
    lines: mpsc::Receiver<String>,
    protocol: String,
}

impl Session {
    /// Starts the script of the SDK and waits for the handshake.
    pub fn start(command: &mut Command) -> Result<Self> {
        let mut group = ProcessGroup::start(command.stdin(Stdio::piped()).stdout(Stdio::piped()))?;
        let stdin = group.leader().stdin.take();
        let stdout = group.leader().stdout.take().context("no standard output to read")?;
        let mut session =
            Self { group, stdin, lines: spawn_line_reader(stdout), protocol: String::new() };
        let opened = session.receive().context("no handshake")?;
        match opened["protocol"].as_str() {
            Some(protocol) => session.protocol = protocol.to_owned(),
            None => bail!("no handshake: {opened}"),
        }
        Ok(session)
    }

    /// The negotiated protocol version.
    pub fn protocol(&self) -> &str {
        &self.protocol
    }

    /// Sends a request and waits for the answer.
    pub fn ask(&mut self, request: &Value) -> Result<Value> {
        let stdin = self.stdin.as_mut().context("the session is over")?;
        writeln!(stdin, "{request}").context("the session is over")?;
        self.receive()
    }

    /// Closes the session and waits until the gateway has exited too.
    pub fn close(&mut self) -> Result<()> {
        drop(self.stdin.take());
        match self.group.wait(TIMEOUT)? {
            Some(status) if status.success() => Ok(()),
            Some(status) => bail!("the session ended with {status}"),
            None => bail!("the session did not end"),
        }
    }

    fn receive(&mut self) -> Result<Value> {
        match self.lines.recv_timeout(TIMEOUT) {
            Ok(line) => serde_json::from_str(&line).with_context(|| format!("no JSON: {line}")),
            Err(RecvTimeoutError::Timeout) => bail!("no answer in {} s", TIMEOUT.as_secs()),
            Err(RecvTimeoutError::Disconnected) => bail!("the session ended early"),
        }
    }
}

/// The lines of a stream that are not blank, read on a separate thread.
pub fn spawn_line_reader(stdout: impl Read + Send + 'static) -> mpsc::Receiver<String> {
    let (send, receive) = mpsc::sync_channel(16);
    thread::spawn(move || {
        let mut reader = BufReader::new(stdout);
        loop {
            let mut line = String::new();
            match (&mut reader).take(MAX_LINE_BYTES).read_line(&mut line) {
                Ok(0) | Err(_) => break,
                Ok(_) if line.trim().is_empty() => {}
                Ok(_) => {
                    if send.send(line).is_err() {
                        break;
                    }
                }
            }
        }
    });
    receive
}
