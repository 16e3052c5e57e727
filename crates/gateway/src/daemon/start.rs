//! Connecting to the daemon of a store, and starting it where there is none.

use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::error::DaemonError;
use super::folder::DaemonFolder;
use super::hello::{Hello, MAX_LINE, Outcome, Purpose, Welcome};

/// The pause between two looks at a daemon that somebody else starts.
const PAUSE: Duration = Duration::from_millis(5);
/// The longest message of a daemon that could not start, in bytes.
const MAX_MESSAGE: u64 = 16 * 1024;

/// The command that starts the daemon. It says on its standard output when it is ready, in one line
/// ([`DaemonCommand::ready_line`]), or why it is not ([`DaemonCommand::failure_line`]).
#[derive(Debug, Clone)]
pub struct DaemonCommand {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// The folder in which it runs, and in which its servers start.
    pub directory: PathBuf,
    /// What it reads from its standard input: the passphrase of the log's key.
    pub input: Option<Zeroizing<String>>,
}

/// What a daemon says of its start.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StartLine {
    Ready,
    Failed { code: String, problem: String },
}

impl DaemonCommand {
    /// The line of a daemon that clients can connect to.
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

/// A connection on which the daemon has answered the first line.
pub(super) struct DaemonConnection {
    pub(super) writer: UnixStream,
    pub(super) reader: BufReader<UnixStream>,
    pub(super) welcome: Welcome,
}

/// Connects to a daemon that runs. What another user could have put at its address is not one: it
/// would be told everything, and could answer anything.
///
/// # Errors
/// [`DaemonError::NotRunning`], when none does; [`DaemonError::Refused`], with its reason;
/// [`DaemonError::NotOwn`] and [`DaemonError::Open`], where others can listen.
pub(super) fn connect(
    folder: &DaemonFolder,
    purpose: Purpose,
) -> Result<DaemonConnection, DaemonError> {
    folder.check()?;
    let stream = UnixStream::connect(folder.socket()).map_err(broken)?;
    let mut writer = stream.try_clone().map_err(broken)?;
    let mut line = serde_json::to_vec(&Hello::new(purpose)).map_err(DaemonError::connection)?;
    line.push(b'\n');
    writer.write_all(&line).map_err(broken)?;
    let mut reader = BufReader::with_capacity(64 * 1024, stream);
    let mut answer = Vec::new();
    (&mut reader).take(MAX_LINE as u64).read_until(b'\n', &mut answer).map_err(broken)?;
    if answer.is_empty() {
        // It ended between accepting and answering.
        return Err(DaemonError::NotRunning);
    }
    let welcome: Welcome = serde_json::from_slice(&answer).map_err(DaemonError::connection)?;
    match welcome.outcome {
        Outcome::MakingWay => Err(DaemonError::MakingWay),
        Outcome::Refused { code, problem } => Err(DaemonError::Refused { code, problem }),
        _ => Ok(DaemonConnection { writer, reader, welcome }),
    }
}

/// A connection that broke before the daemon answered: it is not there, or not any more.
fn broken(error: io::Error) -> DaemonError {
    use io::ErrorKind::{BrokenPipe, ConnectionRefused, ConnectionReset, NotFound};

    match error.kind() {
        NotFound | ConnectionRefused | ConnectionReset | BrokenPipe => DaemonError::NotRunning,
        _ => DaemonError::connection(error),
    }
}

/// Connects to the daemon, and starts it where there is none. Of several that come at once one starts
/// it, and the others wait.
///
/// # Errors
/// [`DaemonError`], when it cannot be had until `deadline`.
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
                std::thread::sleep(PAUSE);
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
            // Nobody else starts one, and there is none after another look.
            start(folder, command, deadline)?;
            continue;
        }
        folder.prepare()?;
        lock = folder.lock_for_start()?;
        if lock.is_none() {
            std::thread::sleep(PAUSE);
        }
    }
}

/// Starts the daemon and waits until it says that it is ready.
fn start(
    folder: &DaemonFolder,
    command: &DaemonCommand,
    deadline: Instant,
) -> Result<(), DaemonError> {
    let failed = |problem: String| DaemonError::Start { problem, log: folder.log() };
    let mut child = Command::new(&command.program)
        .args(&command.arguments)
        .current_dir(&command.directory)
        // A daemon outlives the server in which a client may have started it.
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
    match start_line(output, deadline.saturating_duration_since(Instant::now())) {
        Some(StartLine::Ready) => {
            reap(child);
            Ok(())
        }
        Some(StartLine::Failed { code, .. }) if code == DaemonError::Running.code() => {
            // One that nobody of ours started was faster, or an old one still ends.
            reap(child);
            std::thread::sleep(PAUSE);
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

/// What the daemon says first; `None` when it says nothing in time.
fn start_line(output: ChildStdout, patience: Duration) -> Option<StartLine> {
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = BufReader::new(output.take(MAX_MESSAGE)).read_line(&mut line);
        let _ = tell.send(read.ok().and_then(|_| serde_json::from_str(&line).ok()));
    });
    told.recv_timeout(patience).ok().flatten()
}

/// Waits for the end of the child in the background, so that no dead process is left behind.
fn reap(mut child: Child) {
    std::thread::spawn(move || child.wait());
}
