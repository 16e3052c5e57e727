//! The sessions of clients over HTTP: those opened with `initialize`, and one for each client that
//! sends self-contained requests.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use weaver_policy::Policy;
use weaver_types::{OsRandom, Timestamp, random_text};

use super::caller::Caller;
use super::event_buffer::EventBuffer;
use super::{HttpGateway, now};
use crate::client_registry::{ClientRegistry, RevocationCheck};
use crate::serve::{MessageSession, ResponseStreaming, ServeError};
use crate::session_setup::SessionSetup;

/// The most sessions at once.
const MAX_SESSIONS: usize = 1_000;
/// The most sessions that one client may have open, so that others can still connect.
const MAX_CLIENT_SESSIONS: usize = 250;
/// The prefix of the ids of sessions that no client opened. It contains a space, which no other id
/// does.
const STATELESS_ID_PREFIX: &str = "client ";
/// A session ends after this time without a request and without a reader of its stream.
pub(super) const IDLE_TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// How often expired sessions are removed.
const SWEEP_INTERVAL: Duration = Duration::from_secs(30);
/// The most answer streams kept for one session.
const MAX_ANSWER_STREAMS: usize = 32;
/// How long a finished stream is kept.
const STREAM_RETENTION: Duration = Duration::from_secs(120);
/// Once the finished streams of a session have this many bytes, older ones are not kept.
const MAX_FINISHED_BYTES: usize = 16 * 1024 * 1024;

/// All sessions by id.
#[derive(Default)]
pub(crate) struct HttpSessions {
    by_id: Mutex<BTreeMap<String, Arc<HttpSession>>>,
}

/// A session.
pub(crate) struct HttpSession {
    pub(super) messages: MessageSession,
    /// The session key of its caller; other callers cannot use it.
    owner: String,
    /// Its caller, with the token that is valid for longest.
    caller: Mutex<Caller>,
    last_used: Mutex<Instant>,
    /// Messages to the client that are not answers.
    pub(super) notices: EventBuffer,
    /// The number of the current message stream: opening a new one ends the previous one.
    pub(super) stream: watch::Sender<u64>,
    answers: Mutex<AnswerStreams>,
    /// What its client had set up at the gateway before this one, until it is restored.
    unrestored: tokio::sync::Mutex<Option<SessionSetup>>,
    /// Cancelled once the session has ended.
    ended: CancellationToken,
}

/// The answer streams of a session by number.
#[derive(Default)]
struct AnswerStreams {
    last: u64,
    open: BTreeMap<u64, Arc<EventBuffer>>,
}

impl AnswerStreams {
    /// Removes finished streams that are too old, or one too many.
    fn remove_finished(&mut self) {
        let mut bytes = 0_usize;
        let finished = self.open.iter().rev().filter(|(_, events)| {
            let Some(ended) = events.time_since_end() else { return false };
            let newer = bytes;
            bytes = bytes.saturating_add(events.bytes());
            ended >= STREAM_RETENTION || newer >= MAX_FINISHED_BYTES
        });
        let finished: Vec<u64> = finished.map(|(number, _)| *number).collect();
        self.open.retain(|number, _| !finished.contains(number));
    }
}

/// The stream that answers one request. Its event ids begin with `number`.
pub(super) struct AnswerStream {
    pub(super) number: u64,
    pub(super) events: Arc<EventBuffer>,
}

impl HttpSession {
    fn touch(&self) {
        *self.last_used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Lets the session live as long as the token of this caller.
    fn renew(&self, caller: &Caller) {
        let mut known = self.caller.lock().unwrap_or_else(PoisonError::into_inner);
        if caller.outlives(&known) {
            known.clone_from(caller);
        }
    }

    fn has_lost_access(&self, policy: &Policy, now: Timestamp) -> bool {
        let caller = self.caller.lock().unwrap_or_else(PoisonError::into_inner);
        caller.has_lost_access(policy, now)
    }

    /// Whether its client was removed, or the last token that it was used with is over.
    fn is_revoked(&self, revoked: &RevocationCheck) -> bool {
        let caller = self.caller.lock().unwrap_or_else(PoisonError::into_inner);
        revoked.is_revoked(&self.owner, caller.token_digest())
    }

    /// Whether nobody has used it for long. A request in flight is use, and so is a stream on which
    /// the client reads.
    fn is_idle(&self) -> bool {
        if self.messages.requests_in_flight() > 0 || self.messages.has_listener() {
            self.touch();
            return false;
        }
        let last_used = *self.last_used.lock().unwrap_or_else(PoisonError::into_inner);
        last_used.elapsed() > IDLE_TIMEOUT
    }

    /// Restores what its client had set up at the gateway before this one; others wait for that. It
    /// goes on if the request for which it was begun is given up.
    async fn restore(self: &Arc<Self>) {
        if self.unrestored.lock().await.is_some() {
            let session = Arc::clone(self);
            let restored = tokio::spawn(async move { session.replay_setup().await });
            // It does not panic, and is aborted only with the process.
            let _ = restored.await;
        }
    }

    async fn replay_setup(&self) {
        let mut unrestored = self.unrestored.lock().await;
        let Some(setup) = unrestored.take() else { return };
        for message in setup.restore_messages() {
            let answers = self.messages.take(&message, ResponseStreaming::AnswerOnly).await;
            if let Some(mut answers) = answers {
                while answers.recv().await.is_some() {}
            }
        }
        // The lists may be those of another configuration.
        for list in ["tools", "resources", "prompts"] {
            let method = format!("notifications/{list}/list_changed");
            let notice = json!({ "jsonrpc": "2.0", "method": method });
            self.notices.push(notice.to_string().into_bytes());
        }
    }

    /// Ends a session that was removed: its stream of notices at once, its calls in flight when
    /// they have run.
    pub(super) fn end(self: Arc<Self>) {
        self.ended.cancel();
        tokio::spawn(async move { self.messages.end().await });
    }

    /// Waits until the session has ended.
    pub(super) async fn ended(&self) {
        self.ended.cancelled().await;
    }

    /// Opens a stream for the answer to a request.
    pub(super) fn open_answer_stream(&self) -> AnswerStream {
        let mut streams = self.current_streams();
        while streams.open.len() >= MAX_ANSWER_STREAMS {
            let expired = streams.open.iter().find(|(_, events)| events.time_since_end().is_some());
            // An unfinished stream goes on for its current connection, but can no longer be
            // resumed.
            let oldest = expired.or_else(|| streams.open.iter().next()).map(|(number, _)| *number);
            oldest.map(|number| streams.open.remove(&number));
        }
        streams.last += 1;
        let (number, events) = (streams.last, Arc::<EventBuffer>::default());
        streams.open.insert(number, Arc::clone(&events));
        AnswerStream { number, events }
    }

    /// The stream of this number, if it is still kept.
    pub(super) fn answer_stream(&self, number: u64) -> Option<AnswerStream> {
        let events = self.current_streams().open.get(&number).cloned();
        events.map(|events| AnswerStream { number, events })
    }

    /// The answer streams, without those that are kept no longer.
    fn current_streams(&self) -> MutexGuard<'_, AnswerStreams> {
        let mut streams = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        streams.remove_finished();
        streams
    }
}

/// Why a session cannot be opened.
pub(super) enum SessionRefusal {
    TooManySessions,
    /// The client has as many sessions as it may.
    TooManyOfClient,
    Refused(ServeError),
}

impl HttpSessions {
    /// Opens a session and generates its id.
    pub(super) fn begin(
        &self,
        gateway: &Arc<HttpGateway>,
        caller: &Caller,
    ) -> Result<(String, Arc<HttpSession>), SessionRefusal> {
        let id = random_text("ses_", 16, &OsRandom)
            .map_err(|error| SessionRefusal::Refused(ServeError::Run(error.into())))?;
        let (id, session) = self.open(gateway, caller, id, None)?;
        session.messages.set_id(&id);
        Ok((id, session))
    }

    /// An open session of this caller, or one that it had at the gateway before this one.
    pub(super) async fn find_or_restore(
        &self,
        gateway: &Arc<HttpGateway>,
        id: &str,
        caller: &Caller,
    ) -> Option<Arc<HttpSession>> {
        let session = match self.find(id, caller) {
            Some(session) => session,
            None => {
                let setup = gateway.archive.setup(id, &caller.session_key())?;
                let (_, session) = self.open(gateway, caller, id.to_owned(), Some(setup)).ok()?;
                session.messages.set_id(id);
                session
            }
        };
        session.restore().await;
        Some(session)
    }

    /// The session for a client's self-contained requests.
    pub(super) fn stateless_session(
        &self,
        gateway: &Arc<HttpGateway>,
        caller: &Caller,
    ) -> Result<Arc<HttpSession>, SessionRefusal> {
        let id = format!("{STATELESS_ID_PREFIX}{}", caller.session_key());
        if let Some(session) = self.find(&id, caller) {
            return Ok(session);
        }
        self.open(gateway, caller, id, None).map(|(_, session)| session)
    }

    fn open(
        &self,
        gateway: &Arc<HttpGateway>,
        caller: &Caller,
        id: String,
        unrestored: Option<SessionSetup>,
    ) -> Result<(String, Arc<HttpSession>), SessionRefusal> {
        let mut all = self.by_id.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = all.get(&id) {
            return Ok((id, Arc::clone(session)));
        }
        if all.len() >= MAX_SESSIONS {
            return Err(SessionRefusal::TooManySessions);
        }
        let key = caller.session_key();
        let opened =
            all.iter().filter(|(id, session)| is_client_opened(id) && session.owner == key);
        if is_client_opened(&id) && opened.count() >= MAX_CLIENT_SESSIONS {
            return Err(SessionRefusal::TooManyOfClient);
        }
        let owner = caller.owner();
        let messages = gateway.server.begin(&owner).map_err(SessionRefusal::Refused)?;
        // A client may ask for what followed an event of the session before: no event of this one has
        // the number of such an event.
        let first_number = match unrestored {
            Some(_) => u64::try_from(now().micros()).unwrap_or_default(),
            None => 0,
        };
        let session = Arc::new(HttpSession {
            messages,
            owner: key,
            caller: Mutex::new(caller.clone()),
            last_used: Mutex::new(Instant::now()),
            notices: EventBuffer::after(first_number),
            stream: watch::Sender::new(0),
            answers: Mutex::new(AnswerStreams { last: first_number, ..AnswerStreams::default() }),
            unrestored: tokio::sync::Mutex::new(unrestored),
            ended: CancellationToken::new(),
        });
        all.insert(id.clone(), Arc::clone(&session));
        tokio::spawn(collect_notices(Arc::clone(&session)));
        Ok((id, session))
    }

    /// An open session of this caller.
    pub(super) fn find(&self, id: &str, caller: &Caller) -> Option<Arc<HttpSession>> {
        let all = self.by_id.lock().unwrap_or_else(PoisonError::into_inner);
        let session = all.get(id).filter(|session| session.owner == caller.session_key())?;
        session.touch();
        session.renew(caller);
        Some(Arc::clone(session))
    }

    /// Removes a session of this caller.
    pub(super) fn remove(&self, id: &str, caller: &Caller) -> Option<Arc<HttpSession>> {
        let mut all = self.by_id.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(id).filter(|session| session.owner == caller.session_key())?;
        all.remove(id)
    }

    /// Removes idle sessions, those whose clients have lost access, and old streams of the others.
    fn remove_expired(
        &self,
        clients: &ClientRegistry,
        policy: &Policy,
        now: Timestamp,
    ) -> Vec<(String, Arc<HttpSession>)> {
        let revoked = clients.revocation_check(now);
        let mut all = self.by_id.lock().unwrap_or_else(PoisonError::into_inner);
        all.values().for_each(|session| drop(session.current_streams()));
        let expired = all.extract_if(.., |_, session| {
            session.is_idle()
                || session.is_revoked(&revoked)
                || session.has_lost_access(policy, now)
        });
        expired.collect()
    }

    fn is_open(&self, id: &str) -> bool {
        self.by_id.lock().unwrap_or_else(PoisonError::into_inner).contains_key(id)
    }
}

/// Whether a client opened the session of this id.
fn is_client_opened(id: &str) -> bool {
    !id.starts_with(STATELESS_ID_PREFIX)
}

/// Collects the messages to the client that are not answers, until the session ends.
async fn collect_notices(session: Arc<HttpSession>) {
    loop {
        let line = tokio::select! {
            biased;
            () = session.ended() => return,
            line = session.messages.next_notice() => line,
        };
        session.notices.push(line);
    }
}

/// Removes and ends expired sessions while the gateway serves.
pub(super) async fn sweep_sessions(gateway: Arc<HttpGateway>) {
    loop {
        tokio::time::sleep(SWEEP_INTERVAL).await;
        let policy = gateway.server.policy();
        let sessions = &gateway.sessions;
        for (id, session) in sessions.remove_expired(&gateway.clients, policy.policy(), now()) {
            gateway.archive.remove(&id);
            session.end();
        }
        gateway.archive.remove_idle(IDLE_TIMEOUT, |id| sessions.is_open(id));
    }
}

#[cfg(test)]
mod tests;
