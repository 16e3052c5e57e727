//! Connects to the daemon of a store, and starts it if there is none.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::detachment;
use super::error::DaemonError;
use super::folder::DaemonFolder;
use super::hello::{Hello, MAX_HANDSHAKE_BYTES, Purpose, Welcome, WelcomeOutcome};
use super::transport::{
    ClientOutput as _, ClientReader, ClientWriter, SystemTransport, Transport as _,
};

/// The pause between checks while another process starts the daemon.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// The longest start message of a daemon.
const MAX_START_LINE_BYTES: u64 = 16 * 1024;

/// The command that starts the daemon. The daemon writes one line to standard output: when it is
/// ready ([`DaemonCommand::ready_line`]), or why it failed ([`DaemonCommand::failure_line`]).
#[derive(Debug, Clone)]
pub struct DaemonCommand {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// The folder in which it and its servers run.
    pub directory: PathBuf,
    /// Its standard input: the passphrase of the log's key.
    pub input: Option<Zeroizing<String>>,
}

/// The message about a daemon's start.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StartLine {
    Ready,
    Failed { code: String, problem: String },
}

impl DaemonCommand {
    /// The line of a daemon that accepts clients.
    #[must_use]
    pub fn ready_line() -> String {
        serde_json::to_string(&StartLine::Ready).unwrap_or_default()
    }

    /// The line of a daemon that could not start.
    #[must_use]
    pub fn failure_line(code: &str, problem: &str) -> String {
        let line = StartLine::Failed { code: code.to_owned(), problem: problem.to_owned() };
        serde_json::to_string(&line).unwrap_or_default()
    }
}

/// A connection whose handshake has succeeded.
pub(super) struct DaemonConnection {
    pub(super) writer: ClientWriter,
    pub(super) reader: BufReader<ClientReader>,
    pub(super) welcome: Welcome,
}

/// Connects to a running daemon. An address that another user could have created is refused,
/// because its owner would see all messages and could answer them.
///
/// # Errors
/// [`DaemonError::NotRunning`] if there is none; [`DaemonError::Refused`] with the reason;
/// [`DaemonError::ForeignFolder`] and [`DaemonError::FolderNotPrivate`] if others could listen
/// there.
pub(super) fn connect(
    folder: &DaemonFolder,
    purpose: Purpose,
) -> Result<DaemonConnection, DaemonError> {
    folder.check()?;
    let (stream, writer) = SystemTransport::connect(folder)?;
    let mut line = serde_json::to_vec(&Hello::new(purpose)).map_err(DaemonError::connection)?;
    line.push(b'\n');
    writer.write_all(&line).map_err(DaemonError::connecting)?;
    let mut reader = BufReader::with_capacity(64 * 1024, stream);
    let mut answer = Vec::new();
    (&mut reader)
        .take(MAX_HANDSHAKE_BYTES as u64)
        .read_until(b'\n', &mut answer)
        .map_err(DaemonError::connecting)?;
    if answer.is_empty() {
        // It ended between accepting and answering.
        return Err(DaemonError::NotRunning);
    }
    let welcome: Welcome = serde_json::from_slice(&answer).map_err(DaemonError::connection)?;
    match welcome.outcome {
        WelcomeOutcome::MakingWay => Err(DaemonError::MakingWay),
        WelcomeOutcome::Refused { code, problem } => Err(DaemonError::Refused { code, problem }),
        _ => Ok(DaemonConnection { writer, reader, welcome }),
    }
}

/// Connects to the daemon, starting it if there is none. Of several concurrent callers one starts
/// it, and the others wait.
///
/// # Errors
/// [`DaemonError`], if it is not available by `deadline`.
pub(super) fn connect_or_start(
    folder: &DaemonFolder,
    command: &DaemonCommand,
    purpose: &Purpose,
    deadline: Instant,
) -> Result<DaemonConnection, DaemonError> {
    let mut lock = None;
    loop {
        match connect(folder, purpose.clone()) {
            Err(DaemonError::NotRunning) => {}
            Err(DaemonError::MakingWay) => {
                lock = None;
                std::thread::sleep(POLL_INTERVAL);
                if Instant::now() < deadline {
                    continue;
                }
            }
            other => return other,
        }
        if Instant::now() >= deadline {
            return Err(DaemonError::Start {
                problem: "it was not ready in time".to_owned(),
                log: folder.log(),
            });
        }
        if lock.is_some() {
            // This process holds the start lock, and there is still no daemon.
            start(folder, command, deadline)?;
            continue;
        }
        folder.prepare()?;
        lock = folder.try_start_lock()?;
        if lock.is_none() {
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}

/// Starts the daemon and waits until it is ready.
fn start(
    folder: &DaemonFolder,
    command: &DaemonCommand,
    deadline: Instant,
) -> Result<(), DaemonError> {
    let failed = |problem: String| DaemonError::Start { problem, log: folder.log() };
    let mut starting = Command::new(&command.program);
    detachment::detach_child(&mut starting);
    let mut child = starting
        .args(&command.arguments)
        .current_dir(&command.directory)
        // A daemon outlives the server process in which a client may have started it.
        .env_remove("WEAVER_SERVER_ID")
        .stdin(if command.input.is_some() { Stdio::piped() } else { Stdio::null() })
        .stdout(Stdio::piped())
        .stderr(folder.open_log()?)
        .spawn()
        .map_err(|error| failed(error.to_string()))?;
    if let (Some(input), Some(mut pipe)) = (&command.input, child.stdin.take()) {
        pipe.write_all(input.as_bytes()).map_err(|error| failed(error.to_string()))?;
    }
    let Some(output) = child.stdout.take() else { return Err(failed("no output".to_owned())) };
    match read_start_line(output, deadline.saturating_duration_since(Instant::now())) {
        Some(StartLine::Ready) => {
            reap(child);
            Ok(())
        }
        Some(StartLine::Failed { code, .. }) if code == DaemonError::Running.code() => {
            // Another process was faster, or an old daemon is still ending.
            reap(child);
            std::thread::sleep(POLL_INTERVAL);
            Ok(())
        }
        Some(StartLine::Failed { problem, .. }) => {
            reap(child);
            Err(failed(problem))
        }
        None => {
            let problem = match child.try_wait() {
                Ok(Some(status)) => format!("it ended with {status}"),
                _ => "it was not ready in time".to_owned(),
            };
            let _ = child.kill();
            reap(child);
            Err(failed(problem))
        }
    }
}

/// The daemon's first line; `None` if it does not come in time.
fn read_start_line(output: ChildStdout, timeout: Duration) -> Option<StartLine> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = BufReader::new(output.take(MAX_START_LINE_BYTES)).read_line(&mut line);
        let _ = sender.send(read.ok().and_then(|_| serde_json::from_str(&line).ok()));
    });
    receiver.recv_timeout(timeout).ok().flatten()
}

/// Waits for the child in the background, so that no zombie remains.
fn reap(mut child: Child) {
    std::thread::spawn(move || child.wait());
}
