//! The sessions of clients over HTTP: those that a client opened with `initialize`, and one for each
//! client whose requests stand alone.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use weaver_types::{OsRandom, random_text};

use super::caller::Caller;
use super::clients::Clients;
use super::event_buffer::EventBuffer;
use super::{HttpGateway, now};
use crate::serve::{MessageSession, ServeError};

/// The most sessions at once.
const MAX_SESSIONS: usize = 1_000;
/// The most sessions at once that one client has opened, so that it leaves room for others.
const MAX_OPENED: usize = 250;
/// How the ids begin of sessions that no client opened. No other id has a blank in it.
const STANDING: &str = "client ";
/// After how long without a request a session ends.
const IDLE: Duration = Duration::from_secs(30 * 60);
/// How often idle sessions are looked for.
const INTERVAL: Duration = Duration::from_secs(30);
/// The most streams of answers that are kept for one session.
const MAX_ANSWERS: usize = 32;
/// For how long a stream is kept after its end.
const KEPT: Duration = Duration::from_secs(120);

/// All sessions.
#[derive(Default)]
pub(crate) struct HttpSessions {
    by_id: Mutex<BTreeMap<String, Arc<HttpSession>>>,
}

/// A session.
pub(crate) struct HttpSession {
    pub(super) messages: MessageSession,
    /// Whose it is: nobody else's token reaches it.
    owner: String,
    used: Mutex<Instant>,
    /// What the client is told beside the answers to its requests.
    pub(super) notices: EventBuffer,
    /// The stream on which it is told, by its number: a later one takes the place of this one.
    pub(super) stream: watch::Sender<u64>,
    answers: Mutex<AnswerStreams>,
}

/// The streams that answer the requests of a session, by their numbers.
#[derive(Default)]
struct AnswerStreams {
    last: u64,
    open: BTreeMap<u64, Arc<EventBuffer>>,
}

/// A stream that answers a request, with the number that its events begin with.
pub(super) struct AnswerStream {
    pub(super) number: u64,
    pub(super) events: Arc<EventBuffer>,
}

impl HttpSession {
    fn touch(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn is_idle(&self) -> bool {
        let used = *self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.elapsed() > IDLE && self.messages.under_way() == 0
    }

    /// Begins a stream that answers a request.
    pub(super) fn begin_answer(&self) -> AnswerStream {
        let mut streams = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        streams.open.retain(|_, events| events.ended_for().is_none_or(|ended| ended < KEPT));
        while streams.open.len() >= MAX_ANSWERS {
            let over = streams.open.iter().find(|(_, events)| events.ended_for().is_some());
            // One that is still written goes on; it cannot be taken up again.
            let oldest = over.or_else(|| streams.open.iter().next()).map(|(number, _)| *number);
            oldest.map(|number| streams.open.remove(&number));
        }
        streams.last += 1;
        let (number, events) = (streams.last, Arc::<EventBuffer>::default());
        streams.open.insert(number, Arc::clone(&events));
        AnswerStream { number, events }
    }

    /// The stream of this number, where it is kept.
    pub(super) fn answer_stream(&self, number: u64) -> Option<AnswerStream> {
        let streams = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let events = streams.open.get(&number).cloned();
        events.map(|events| AnswerStream { number, events })
    }
}

/// Why a session cannot begin.
pub(super) enum NoSession {
    TooMany,
    /// The client itself has as many as it may.
    TooManyOfClient,
    Refused(ServeError),
}

impl HttpSessions {
    /// Begins a session and gives it an id.
    pub(super) fn begin(
        &self,
        gateway: &Arc<HttpGateway>,
        caller: &Caller,
    ) -> Result<(String, Arc<HttpSession>), NoSession> {
        let id = random_text("ses_", 16, &OsRandom)
            .map_err(|error| NoSession::Refused(ServeError::Run(error.into())))?;
        let (id, session) = self.open(gateway, caller, id)?;
        session.messages.identify(&id);
        Ok((id, session))
    }

    /// The session of a client whose requests stand alone.
    pub(super) fn standing(
        &self,
        gateway: &Arc<HttpGateway>,
        caller: &Caller,
    ) -> Result<Arc<HttpSession>, NoSession> {
        let id = format!("{STANDING}{}", caller.session_key());
        if let Some(session) = self.find(&id, caller) {
            return Ok(session);
        }
        self.open(gateway, caller, id).map(|(_, session)| session)
    }

    fn open(
        &self,
        gateway: &Arc<HttpGateway>,
        caller: &Caller,
        id: String,
    ) -> Result<(String, Arc<HttpSession>), NoSession> {
        let mut all = self.by_id.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = all.get(&id) {
            return Ok((id, Arc::clone(session)));
        }
        if all.len() >= MAX_SESSIONS {
            return Err(NoSession::TooMany);
        }
        let key = caller.session_key();
        let opened = all.iter().filter(|(id, session)| is_opened(id) && session.owner == key);
        if is_opened(&id) && opened.count() >= MAX_OPENED {
            return Err(NoSession::TooManyOfClient);
        }
        let owner = caller.owner();
        let messages = gateway.server.begin(&owner).map_err(NoSession::Refused)?;
        let session = Arc::new(HttpSession {
            messages,
            owner: key,
            used: Mutex::new(Instant::now()),
            notices: EventBuffer::default(),
            stream: watch::Sender::new(0),
            answers: Mutex::default(),
        });
        all.insert(id.clone(), Arc::clone(&session));
        tokio::spawn(collect_notices(Arc::downgrade(&session)));
        Ok((id, session))
    }

    /// A session that is open, where it is this caller's.
    pub(super) fn find(&self, id: &str, caller: &Caller) -> Option<Arc<HttpSession>> {
        let all = self.by_id.lock().unwrap_or_else(PoisonError::into_inner);
        let session = all.get(id).filter(|session| session.owner == caller.session_key())?;
        session.touch();
        Some(Arc::clone(session))
    }

    /// Takes a session out, where it is this caller's.
    pub(super) fn take(&self, id: &str, caller: &Caller) -> Option<Arc<HttpSession>> {
        let mut all = self.by_id.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(id).filter(|session| session.owner == caller.session_key())?;
        all.remove(id)
    }

    /// Takes out what nobody uses any more, or may use.
    fn take_over(&self, clients: &Clients) -> Vec<Arc<HttpSession>> {
        let is_gone = clients.gone(now());
        let mut all = self.by_id.lock().unwrap_or_else(PoisonError::into_inner);
        let over = all.extract_if(.., |_, session| session.is_idle() || is_gone(&session.owner));
        over.map(|(_, session)| session).collect()
    }
}

/// Whether a client opened the session of this id.
fn is_opened(id: &str) -> bool {
    !id.starts_with(STANDING)
}

/// Collects what the client is to be told beside the answers to its requests.
async fn collect_notices(session: std::sync::Weak<HttpSession>) {
    loop {
        let Some(open) = session.upgrade() else { return };
        let line = tokio::time::timeout(INTERVAL, open.messages.next_notice()).await;
        if let Ok(line) = line {
            open.notices.push(line);
        }
    }
}

/// Ends sessions that are over, for as long as the gateway serves.
pub(super) async fn watch(gateway: Arc<HttpGateway>) {
    loop {
        tokio::time::sleep(INTERVAL).await;
        for session in gateway.sessions.take_over(&gateway.clients) {
            session.messages.end().await;
        }
    }
}
