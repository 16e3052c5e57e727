//! The session of a shim: its connection, and the requests that are not answered.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::Connect;
use super::message::{self, Envelope, RESUME_ID};
use super::session_setup::SessionSetup;
use crate::daemon::error::DaemonError;
use crate::daemon::start::DaemonConnection;
use crate::serve::Farewell;

/// How many requests may be without an answer.
const MAX_OPEN: usize = 1024;
/// How many bytes of requests are kept to be sent again: less than a socket takes in before anybody
/// reads from it, so that sending them never waits.
const MAX_KEPT: usize = 48 * 1024;
/// How long a failed attempt to get a daemon stands before another is made.
const RETRY: Duration = Duration::from_secs(2);

/// Why there is no daemon after an operator ended it.
const STOPPED: &str = "the gateway was stopped with `weaver stop`; `weaver daemon`, or a client that is \
                       started now, starts it again";
/// Why a request that is not repeated has no answer.
const ENDED: &str = "the gateway ended while this request was under way, and was started again; send \
                     it once more";

/// What came of a line of the client.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Feed {
    /// It was taken.
    Taken,
    /// Nobody reads answers any more.
    Over,
}

/// The session.
pub(super) struct Session {
    connect: Connect,
    state: Mutex<State>,
    /// Told when there is another connection to read, or the client has closed its end.
    changed: Condvar,
}

struct State {
    link: Link,
    /// The connection that is to be read next.
    reader: Option<BufReader<UnixStream>>,
    open: BTreeMap<String, OpenRequest>,
    setup: SessionSetup,
    client_closed: bool,
    output_failed: bool,
}

enum Link {
    /// None was made so far.
    New,
    Up(Arc<UnixStream>),
    /// The daemon is about to end: nothing more is sent to it.
    Draining(Farewell),
    /// There is no daemon.
    Down {
        code: String,
        problem: String,
        since: Instant,
        next: Attempt,
    },
}

/// How a connection is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attempt {
    /// The daemon is started where there is none.
    Start,
    /// Only a daemon that runs is taken: an operator has ended it.
    Find,
}

/// What becomes of a request that is not answered when the daemon dies.
enum OpenRequest {
    /// It is sent again: its line.
    Repeated(Vec<u8>),
    /// It may have run: the client is told.
    Call,
    /// It is refused.
    Other,
}

impl Session {
    pub(super) fn new(connect: Connect) -> Self {
        let state = State {
            link: Link::New,
            reader: None,
            open: BTreeMap::new(),
            setup: SessionSetup::default(),
            client_closed: false,
            output_failed: false,
        };
        Self { connect, state: Mutex::new(state), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Connects before the client says anything, so that servers start early. A failure is shown on
    /// standard error, for who starts this by hand; a client gets it as the answer to its requests.
    pub(super) fn begin(&self) {
        let mut state = self.state();
        self.ensure_link(&mut state);
        if let Link::Down { problem, .. } = &state.link {
            let _ = writeln!(io::stderr(), "weaver: {problem}");
        }
    }

    /// Takes a line of the client. Nothing is sent to a daemon that is about to end: the line waits
    /// for the next one.
    pub(super) fn feed(&self, line: &[u8]) -> Feed {
        let mut state = self.state();
        while matches!(state.link, Link::Draining(_)) {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.output_failed {
            return Feed::Over;
        }
        self.ensure_link(&mut state);
        state.note_request(line);
        match &state.link {
            Link::Up(stream) => {
                let stream = Arc::clone(stream);
                // Whoever reads the answers needs the state meanwhile, or both sides could wait for
                // each other. If this fails, the reader sees the end of the connection, and does
                // with this request as with all that are open.
                drop(state);
                let _ = (&*stream).write_all(line);
            }
            Link::New | Link::Down { .. } | Link::Draining(_) => state.refuse_open(),
        }
        Feed::Taken
    }

    /// The client sends nothing more; what is under way may still be answered.
    pub(super) fn client_closed(&self) {
        let mut state = self.state();
        state.client_closed = true;
        if let Link::Up(writer) = &state.link {
            let _ = writer.shutdown(Shutdown::Write);
        }
        self.changed.notify_all();
    }

    /// Makes a connection where there is none, and it is time to try.
    fn ensure_link(&self, state: &mut State) {
        match &state.link {
            Link::New => self.link_up(state, Attempt::Start),
            Link::Down { since, next, .. } if since.elapsed() >= RETRY => {
                let next = *next;
                self.link_up(state, next);
            }
            _ => {}
        }
    }

    /// Connects, and opens the session as the client had opened it.
    fn link_up(&self, state: &mut State, attempt: Attempt) {
        match (self.connect)(attempt) {
            Ok(DaemonConnection { writer, reader, .. }) => {
                state.link = Link::Up(Arc::new(writer));
                state.reader = Some(reader);
                state.open_again();
                self.changed.notify_all();
            }
            Err(error) => state.take_down(&error, attempt),
        }
    }

    /// Copies the daemon's lines to standard output, over all connections, until the client has
    /// closed its end.
    pub(super) fn copy_answers(&self) {
        let mut line = Vec::new();
        while let Some(mut reader) = self.next_reader() {
            loop {
                line.clear();
                match reader.read_until(b'\n', &mut line) {
                    Ok(read) if read > 0 && line.ends_with(b"\n") => {}
                    // What is not whole was not said.
                    _ => break,
                }
                self.pass_on(&line);
            }
            self.connection_ended();
        }
    }

    /// Waits for a connection to read; `None` when none will come.
    fn next_reader(&self) -> Option<BufReader<UnixStream>> {
        let mut state = self.state();
        loop {
            if let Some(reader) = state.reader.take() {
                return Some(reader);
            }
            if state.client_closed {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Passes a line of the daemon on to the client.
    fn pass_on(&self, line: &[u8]) {
        let envelope = Envelope::read(line);
        let mut state = self.state();
        if let Some(envelope) = &envelope {
            if let Some(farewell) = envelope.farewell() {
                return state.drain(farewell);
            }
            if let Some(id) = envelope.answer_id() {
                if id == RESUME_ID {
                    return;
                }
                state.open.remove(id);
            }
        }
        state.write_out(line);
    }

    /// The connection has ended: what it leaves is answered or sent again.
    fn connection_ended(&self) {
        let mut state = self.state();
        match std::mem::replace(&mut state.link, Link::New) {
            Link::Draining(Farewell::Stopped) => {
                state.link = Link::Down {
                    code: DaemonError::NotRunning.code().to_owned(),
                    problem: STOPPED.to_owned(),
                    since: Instant::now(),
                    next: Attempt::Find,
                };
                state.refuse_open();
            }
            _ => {
                state.answer_lost();
                if !state.client_closed {
                    self.link_up(&mut state, Attempt::Start);
                }
                if !matches!(state.link, Link::Up(_)) {
                    state.refuse_open();
                }
            }
        }
        self.changed.notify_all();
    }
}

impl OpenRequest {
    /// How many bytes are kept of it.
    fn kept(&self) -> usize {
        match self {
            Self::Repeated(line) => line.len(),
            Self::Call | Self::Other => 0,
        }
    }
}

impl State {
    /// Remembers a request of the client, and what it sets up in the session.
    fn note_request(&mut self, line: &[u8]) {
        let Some(envelope) = Envelope::read(line) else { return };
        self.setup.note(&envelope);
        let (Some(id), Some(method)) = (envelope.request_id(), envelope.method()) else { return };
        if self.open.len() >= MAX_OPEN {
            // The daemon refuses more than it works on; what is not noted here is only not
            // answered when it dies.
            return;
        }
        let kept: usize = self.open.values().map(OpenRequest::kept).sum();
        let request = match method {
            "tools/call" => OpenRequest::Call,
            method if message::is_repeatable(method) && kept + line.len() <= MAX_KEPT => {
                OpenRequest::Repeated(line.to_vec())
            }
            _ => OpenRequest::Other,
        };
        self.open.insert(id.to_owned(), request);
    }

    /// The daemon is about to end: what was sent is answered still, and what comes now waits.
    fn drain(&mut self, farewell: Farewell) {
        if let Link::Up(stream) = &self.link {
            let _ = stream.shutdown(Shutdown::Write);
            self.link = Link::Draining(farewell);
        }
    }

    /// Answers the requests that are not sent again.
    fn answer_lost(&mut self) {
        let (again, lost): (BTreeMap<_, _>, BTreeMap<_, _>) = std::mem::take(&mut self.open)
            .into_iter()
            .partition(|(_, request)| matches!(request, OpenRequest::Repeated(_)));
        self.open = again;
        for (id, request) in lost {
            let answer = match request {
                OpenRequest::Call => message::outcome_unknown(&id),
                _ => message::unavailable(&id, "daemon.ended", ENDED),
            };
            self.write_out(&answer);
        }
    }

    /// Sets the session up on a fresh connection, and sends again what may be.
    fn open_again(&mut self) {
        let Link::Up(stream) = &self.link else { return };
        let mut stream = &**stream;
        let repeated = || {
            self.open.values().filter_map(|request| match request {
                OpenRequest::Repeated(line) => Some(line),
                _ => None,
            })
        };
        let opening = repeated().any(|line| {
            Envelope::read(line).is_some_and(|sent| sent.method() == Some("initialize"))
        });
        if !opening {
            for line in self.setup.messages() {
                let _ = stream.write_all(&line);
            }
        }
        for line in repeated() {
            let _ = stream.write_all(line);
        }
    }

    fn take_down(&mut self, error: &DaemonError, attempt: Attempt) {
        self.link = Link::Down {
            code: error.code().to_owned(),
            problem: error.to_string(),
            since: Instant::now(),
            next: attempt,
        };
    }

    /// Answers everything that is open with the reason why there is no daemon.
    fn refuse_open(&mut self) {
        let (code, problem) = match &self.link {
            Link::Down { code, problem, .. } => (code.clone(), problem.clone()),
            _ => (DaemonError::NotRunning.code().to_owned(), DaemonError::NotRunning.to_string()),
        };
        for id in std::mem::take(&mut self.open).into_keys() {
            self.write_out(&message::unavailable(&id, &code, &problem));
        }
    }

    /// Writes a line to the client.
    fn write_out(&mut self, line: &[u8]) {
        let mut output = io::stdout().lock();
        if output.write_all(line).and_then(|()| output.flush()).is_err() {
            self.output_failed = true;
        }
    }
}
