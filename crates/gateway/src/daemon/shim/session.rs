//! A shim's session: its connection to the daemon, and unanswered requests.

use std::io::{self, BufRead as _, BufReader, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::ConnectFn;
use super::message::{self, Envelope};
use super::open_requests::{OpenRequest, OpenRequests};
use crate::daemon::error::DaemonError;
use crate::daemon::start::DaemonConnection;
use crate::daemon::transport::{ClientOutput as _, ClientReader, ClientWriter};
use crate::serve::AfterShutdown;
use crate::session_setup::{RESUME_ID, SessionSetup};

/// How long after a failed attempt the next connection is attempted.
const RETRY_INTERVAL: Duration = Duration::from_secs(2);

/// Why there is no daemon after an operator stopped it.
const STOPPED_MESSAGE: &str = "the gateway was stopped with `weaver stop`; `weaver daemon`, or a client that is \
                       started now, starts it again";
/// Why a request that is not sent again has no answer.
const ENDED_MESSAGE: &str = "the gateway ended while this request was under way, and was started again; send \
                     it once more";

/// The outcome of a line of the client.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FeedOutcome {
    /// The line was accepted.
    Accepted,
    /// The client no longer reads answers.
    Closed,
}

/// The session.
pub(super) struct Session {
    connect: ConnectFn,
    state: Mutex<State>,
    /// Signalled when there is a new connection to read, or the client has closed its end.
    changed: Condvar,
}

struct State {
    link: DaemonLink,
    /// The next connection to read.
    reader: Option<BufReader<ClientReader>>,
    open: OpenRequests,
    setup: SessionSetup,
    client_closed: bool,
    /// What the client reads.
    output: Box<dyn Write + Send>,
    output_failed: bool,
}

enum DaemonLink {
    /// No connection has been made yet.
    NotConnected,
    Connected(Arc<ClientWriter>),
    /// The daemon is about to end: nothing more is sent to it.
    Draining(AfterShutdown),
    /// No daemon is available.
    Unavailable {
        code: String,
        problem: String,
        since: Instant,
        next: ConnectMode,
    },
}

/// How a connection is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectMode {
    /// Start a daemon if there is none.
    StartIfNeeded,
    /// Use only a running daemon, because an operator stopped it.
    ExistingOnly,
}

impl Session {
    /// A session that is not connected yet. Answers are written to `output`.
    pub(super) fn new(connect: ConnectFn, output: Box<dyn Write + Send>) -> Self {
        let state = State {
            link: DaemonLink::NotConnected,
            reader: None,
            open: OpenRequests::default(),
            setup: SessionSetup::default(),
            client_closed: false,
            output,
            output_failed: false,
        };
        Self { connect, state: Mutex::new(state), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Connects before the client's first message, so that servers start early. A failure is shown
    /// on standard error for a person; a client gets it as the answer to its requests.
    pub(super) fn connect_early(&self) {
        let mut state = self.state();
        self.ensure_link(&mut state);
        if let DaemonLink::Unavailable { problem, .. } = &state.link {
            let _ = writeln!(io::stderr(), "weaver: {problem}");
        }
    }

    /// Handles a line of the client. While the daemon is about to end, the line waits for the next
    /// daemon.
    pub(super) fn handle_client_line(&self, line: &[u8]) -> FeedOutcome {
        let mut state = self.state();
        while matches!(state.link, DaemonLink::Draining(_)) {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.output_failed {
            return FeedOutcome::Closed;
        }
        self.ensure_link(&mut state);
        state.note_request(line);
        match &state.link {
            DaemonLink::Connected(stream) => {
                let stream = Arc::clone(stream);
                // The thread that reads answers needs the state meanwhile; otherwise both sides
                // could deadlock. If writing fails, that thread sees the end of the connection and
                // handles this request like all open ones.
                drop(state);
                let _ = stream.write_all(line);
            }
            DaemonLink::NotConnected | DaemonLink::Unavailable { .. } | DaemonLink::Draining(_) => {
                state.refuse_open_requests()
            }
        }
        FeedOutcome::Accepted
    }

    /// The client sends nothing more; open requests may still be answered.
    pub(super) fn client_closed(&self) {
        let mut state = self.state();
        state.client_closed = true;
        if let DaemonLink::Connected(writer) = &state.link {
            writer.end();
        }
        self.changed.notify_all();
    }

    /// Connects if there is no connection and the retry interval has passed.
    fn ensure_link(&self, state: &mut State) {
        match &state.link {
            DaemonLink::NotConnected => self.connect_link(state, ConnectMode::StartIfNeeded),
            DaemonLink::Unavailable { since, next, .. } if since.elapsed() >= RETRY_INTERVAL => {
                let next = *next;
                self.connect_link(state, next);
            }
            _ => {}
        }
    }

    /// Connects, and restores the client's session.
    fn connect_link(&self, state: &mut State, mode: ConnectMode) {
        match (self.connect)(mode) {
            Ok(DaemonConnection { writer, reader, .. }) => {
                state.link = DaemonLink::Connected(Arc::new(writer));
                state.reader = Some(reader);
                state.restore_session();
                self.changed.notify_all();
            }
            Err(error) => state.mark_unavailable(&error, mode),
        }
    }

    /// Copies the daemon's lines to standard output, across reconnects, until the client has closed
    /// its end.
    pub(super) fn copy_answers(&self) {
        let mut line = Vec::new();
        while let Some(mut reader) = self.next_reader() {
            loop {
                line.clear();
                match reader.read_until(b'\n', &mut line) {
                    Ok(read) if read > 0 && line.ends_with(b"\n") => {}
                    // An incomplete line is discarded.
                    _ => break,
                }
                self.forward_answer(&line);
            }
            self.connection_ended();
        }
    }

    /// Waits for a connection to read; `None` if there will be none.
    fn next_reader(&self) -> Option<BufReader<ClientReader>> {
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

    /// Forwards a line of the daemon to the client.
    fn forward_answer(&self, line: &[u8]) {
        let envelope = Envelope::parse(line);
        let mut state = self.state();
        if let Some(envelope) = &envelope {
            if let Some(farewell) = envelope.shutdown_notice() {
                return state.start_draining(farewell);
            }
            if let Some(id) = envelope.answer_id() {
                if id == RESUME_ID {
                    return;
                }
                state.open.remove(&id);
            }
        }
        state.write_to_client(line);
    }

    /// Handles the end of the connection: open requests are answered or sent again.
    fn connection_ended(&self) {
        let mut state = self.state();
        match std::mem::replace(&mut state.link, DaemonLink::NotConnected) {
            DaemonLink::Draining(AfterShutdown::Stopped) => {
                state.link = DaemonLink::Unavailable {
                    code: DaemonError::NotRunning.code().to_owned(),
                    problem: STOPPED_MESSAGE.to_owned(),
                    since: Instant::now(),
                    next: ConnectMode::ExistingOnly,
                };
                state.answer_lost_calls();
                state.refuse_open_requests();
            }
            _ => {
                state.answer_unresendable();
                if !state.client_closed {
                    self.connect_link(&mut state, ConnectMode::StartIfNeeded);
                }
                if !matches!(state.link, DaemonLink::Connected(_)) {
                    state.refuse_open_requests();
                }
            }
        }
        self.changed.notify_all();
    }
}

impl State {
    /// Records a request of the client, and what it sets up in the session.
    fn note_request(&mut self, line: &[u8]) {
        let Some(envelope) = Envelope::parse(line) else { return };
        let params = || envelope.params.map(|params| params.get().to_owned());
        self.setup.record(envelope.method(), params);
        if let Some(id) = envelope.cancelled_id() {
            // The daemon does not answer it.
            self.open.remove(&id);
        }
        let (Some(id), Some(method)) = (envelope.request_id(), envelope.method()) else { return };
        self.open.add(id, method, line);
    }

    /// The daemon is about to end: sent requests are still answered, later ones wait.
    fn start_draining(&mut self, farewell: AfterShutdown) {
        if let DaemonLink::Connected(stream) = &self.link {
            stream.end();
            self.link = DaemonLink::Draining(farewell);
        }
    }

    /// Answers the calls that a daemon left unanswered. Each may have run.
    fn answer_lost_calls(&mut self) {
        for (id, _) in self.open.take_calls() {
            self.write_to_client(&message::outcome_unknown_answer(&id));
        }
    }

    /// Answers the requests that cannot be sent again.
    fn answer_unresendable(&mut self) {
        self.answer_lost_calls();
        for (id, request) in self.open.take_unresendable() {
            self.refuse(&id, &request, "daemon.ended", ENDED_MESSAGE);
        }
    }

    /// Restores the session on a new connection, and sends open requests again.
    fn restore_session(&mut self) {
        let DaemonLink::Connected(stream) = &self.link else { return };
        let opening = self.open.resendable_lines().any(|line| {
            Envelope::parse(line).is_some_and(|sent| sent.method() == Some("initialize"))
        });
        if !opening {
            for line in self.setup.restore_messages() {
                let _ = stream.write_all(&line);
            }
        }
        for line in self.open.resendable_lines() {
            let _ = stream.write_all(line);
        }
    }

    fn mark_unavailable(&mut self, error: &DaemonError, mode: ConnectMode) {
        let problem = match (error, mode) {
            (DaemonError::NotRunning, ConnectMode::ExistingOnly) => STOPPED_MESSAGE.to_owned(),
            _ => error.to_string(),
        };
        let code = error.code().to_owned();
        self.link = DaemonLink::Unavailable { code, problem, since: Instant::now(), next: mode };
    }

    /// Answers all open requests with the reason why there is no daemon. None of them may be a call
    /// that a daemon was sent.
    fn refuse_open_requests(&mut self) {
        let (code, problem) = match &self.link {
            DaemonLink::Unavailable { code, problem, .. } => (code.clone(), problem.clone()),
            _ => (DaemonError::NotRunning.code().to_owned(), DaemonError::NotRunning.to_string()),
        };
        for (id, request) in self.open.take_all() {
            self.refuse(&id, &request, &code, &problem);
        }
    }

    /// Answers a request with the reason why no daemon answers it.
    fn refuse(&mut self, id: &str, request: &OpenRequest, code: &str, problem: &str) {
        let answer = if request.is_about_task() {
            message::task_unavailable_answer(id, code, problem)
        } else {
            message::unavailable_answer(id, code, problem)
        };
        self.write_to_client(&answer);
    }

    /// Writes a line to the client.
    fn write_to_client(&mut self, line: &[u8]) {
        if self.output.write_all(line).and_then(|()| self.output.flush()).is_err() {
            self.output_failed = true;
        }
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests;
