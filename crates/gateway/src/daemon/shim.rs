//! The shim that a client starts, between its pipes and the daemon.
//!
//! Two threads copy lines, one in each direction, and track unanswered requests. When the
//! connection breaks, the shim reconnects, starting a daemon if necessary, restores the client's
//! session (handshake, log level and subscriptions), and continues:
//! - A request without effects is sent again.
//! - A `tools/call` may have run and is never sent twice: the client is told that its outcome is
//!   unknown.
//! - If the daemon announced its end, nothing is sent after that.
//! - A request that the client cancelled is forgotten, since it is not answered.
//!
//! If no daemon is available, every request is answered with an error that says why.

mod message;
mod open_requests;
mod session;

use std::io::{self, BufRead as _, BufReader, Read as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::error::DaemonError;
use super::folder::DaemonFolder;
use super::hello::{Purpose, SessionRequest};
use super::start::{DaemonCommand, DaemonConnection, connect, connect_or_start};
use session::{ConnectMode, FeedOutcome, Session};

/// The longest line. The daemon itself refuses lines over 16 MiB with a proper answer.
const MAX_LINE_BYTES: u64 = 17 * 1024 * 1024;
/// How long a daemon may take to become ready.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// How long the last answers may take after the client closed its end. Clients commonly kill a
/// server that is still running after two seconds.
const FINAL_ANSWERS_TIMEOUT: Duration = Duration::from_millis(1_800);

/// Options of a shim.
pub struct ShimOptions {
    /// The daemon's folder.
    pub folder: DaemonFolder,
    /// The command that starts a daemon.
    pub command: DaemonCommand,
    /// The session to request.
    pub request: SessionRequest,
}

/// Runs the shim until standard input ends. With an error instead of options, for example because
/// the configuration is invalid, every request is answered with that error.
///
/// # Errors
/// [`io::Error`], if standard input cannot be read.
pub fn run_shim(options: Result<ShimOptions, DaemonError>) -> io::Result<()> {
    let connect_early = options.is_ok();
    let connect: ConnectFn = match options {
        Ok(options) => Box::new(move |mode| connect_to_daemon(&options, mode)),
        Err(error) => {
            let (code, problem) = (error.code(), error.to_string());
            Box::new(move |_| Err(DaemonError::Configuration { code, problem: problem.clone() }))
        }
    };
    let session = Arc::new(Session::new(connect, Box::new(io::stdout())));
    if connect_early {
        session.connect_early();
    }
    let answers = {
        let session = Arc::clone(&session);
        std::thread::spawn(move || session.copy_answers())
    };
    let copied = copy_requests(&session);
    session.client_closed();
    // The thread ends with the connection, or is abandoned.
    let deadline = Instant::now() + FINAL_ANSWERS_TIMEOUT;
    while !answers.is_finished() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(2));
    }
    copied
}

fn connect_to_daemon(
    options: &ShimOptions,
    mode: ConnectMode,
) -> Result<DaemonConnection, DaemonError> {
    let purpose = Purpose::Session(options.request.clone());
    match mode {
        ConnectMode::ExistingOnly => connect(&options.folder, purpose),
        ConnectMode::StartIfNeeded => {
            let deadline = Instant::now() + START_TIMEOUT;
            connect_or_start(&options.folder, &options.command, &purpose, deadline)
        }
    }
}

/// Connects to the daemon.
type ConnectFn = Box<dyn Fn(ConnectMode) -> Result<DaemonConnection, DaemonError> + Send + Sync>;

/// Feeds the lines of standard input to the session.
fn copy_requests(session: &Session) -> io::Result<()> {
    let mut reader = BufReader::with_capacity(64 * 1024, io::stdin().lock());
    let mut line = Vec::new();
    loop {
        line.clear();
        let taken = (&mut reader).take(MAX_LINE_BYTES).read_until(b'\n', &mut line)?;
        if taken == 0 {
            return Ok(());
        }
        if !line.ends_with(b"\n") && taken as u64 == MAX_LINE_BYTES {
            // Skip the rest; the daemon refuses the truncated line as too long.
            reader.skip_until(b'\n')?;
        }
        if !line.ends_with(b"\n") {
            line.push(b'\n');
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        if session.handle_client_line(&line) == FeedOutcome::Closed {
            return Ok(());
        }
    }
}
