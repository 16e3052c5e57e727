//! What a client starts: a shim between its pipes and the daemon.
//!
//! Two threads copy lines, one each way, and remember which requests are not answered. When the
//! connection breaks, the shim connects again, to a fresh daemon where the old one died, sets the
//! session up as the client had (its handshake, log level and watched resources), and goes on:
//! - A request that changes nothing is sent again.
//! - A `tools/call` may have run, and is never sent twice: it is answered as one whose outcome is
//!   not known.
//! - When the daemon said that it is about to end, nothing was sent after that, and nothing is lost.
//!
//! When no daemon can be had, every request is answered with an error that says why.

mod message;
mod session;
mod session_setup;

use std::io::{self, BufRead as _, BufReader, Read as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::error::DaemonError;
use super::folder::DaemonFolder;
use super::hello::{Purpose, SessionRequest};
use super::start::{DaemonCommand, DaemonConnection, connect, connect_or_start};
use session::{Attempt, Feed, Session};

/// The longest line, in bytes. The daemon refuses those over 16 MiB with an answer of its own.
const MAX_LINE: u64 = 17 * 1024 * 1024;
/// How long a daemon may take to be ready.
const START: Duration = Duration::from_secs(60);
/// How long the last answers may take after the client has closed its end. Clients commonly kill a
/// server that is still there after two seconds.
const LAST_ANSWERS: Duration = Duration::from_millis(1_800);

/// What a shim needs to know.
pub struct ShimOptions {
    /// Where the daemon is.
    pub folder: DaemonFolder,
    /// How one is started.
    pub command: DaemonCommand,
    /// The session that is asked for.
    pub request: SessionRequest,
}

/// Runs the shim until standard input ends. Without options, as where the configuration cannot be
/// read, every request is answered with that error.
///
/// # Errors
/// [`io::Error`], when standard input cannot be read.
pub fn run_shim(options: Result<ShimOptions, DaemonError>) -> io::Result<()> {
    let begin = options.is_ok();
    let session = Arc::new(Session::new(match options {
        Ok(options) => Box::new(move |attempt| connect_to(&options, attempt)),
        Err(error) => {
            let (code, problem) = (error.code(), error.to_string());
            Box::new(move |_| Err(DaemonError::Configuration { code, problem: problem.clone() }))
        }
    }));
    if begin {
        session.begin();
    }
    let answers = {
        let session = Arc::clone(&session);
        std::thread::spawn(move || session.copy_answers())
    };
    let copied = copy_requests(&session);
    session.client_closed();
    // The thread ends with the connection, or is left behind.
    let deadline = Instant::now() + LAST_ANSWERS;
    while !answers.is_finished() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(2));
    }
    copied
}

fn connect_to(options: &ShimOptions, attempt: Attempt) -> Result<DaemonConnection, DaemonError> {
    let purpose = Purpose::Session(options.request.clone());
    match attempt {
        Attempt::Find => connect(&options.folder, purpose),
        Attempt::Start => {
            let deadline = Instant::now() + START;
            connect_or_start(&options.folder, &options.command, &purpose, deadline)
        }
    }
}

/// Connects to the daemon.
type Connect = Box<dyn Fn(Attempt) -> Result<DaemonConnection, DaemonError> + Send + Sync>;

/// Feeds the lines of standard input to the session.
fn copy_requests(session: &Session) -> io::Result<()> {
    let mut reader = BufReader::with_capacity(64 * 1024, io::stdin().lock());
    let mut line = Vec::new();
    loop {
        line.clear();
        let taken = (&mut reader).take(MAX_LINE).read_until(b'\n', &mut line)?;
        if taken == 0 {
            return Ok(());
        }
        if !line.ends_with(b"\n") && taken as u64 == MAX_LINE {
            // The rest of it is passed over; what went on is too long for the daemon as it is.
            reader.skip_until(b'\n')?;
        }
        if !line.ends_with(b"\n") {
            line.push(b'\n');
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        if session.feed(&line) == Feed::Over {
            return Ok(());
        }
    }
}
