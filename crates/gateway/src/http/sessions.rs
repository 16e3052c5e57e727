//! The sessions of clients over HTTP: those that a client opened with `initialize`, and one for each
//! client whose requests stand alone.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use weaver_types::{OsRandom, random_text};

use super::HttpGateway;
use super::caller::Caller;
use crate::serve::{MessageSession, ServeError};

/// The most sessions at once.
const MAX_SESSIONS: usize = 1_000;
/// After how long without a request a session ends.
const IDLE: Duration = Duration::from_secs(30 * 60);
/// How often idle sessions are looked for.
const INTERVAL: Duration = Duration::from_secs(30);
/// How many notices are kept for a client that connects again.
const MAX_NOTICES: usize = 64;

/// All sessions.
#[derive(Default)]
pub(crate) struct HttpSessions {
    by_id: Mutex<BTreeMap<String, Arc<HttpSession>>>,
}

/// A session.
pub(crate) struct HttpSession {
    pub(super) messages: MessageSession,
    /// The client that it belongs to: another one's token does not reach it.
    owner: String,
    used: Mutex<Instant>,
    notices: Mutex<Notices>,
    more: Notify,
}

/// Notices for the stream of a session, with their numbers.
#[derive(Default)]
struct Notices {
    last: u64,
    kept: VecDeque<(u64, Vec<u8>)>,
}

impl HttpSession {
    fn touch(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn is_idle(&self) -> bool {
        let used = *self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.elapsed() > IDLE && self.messages.under_way() == 0
    }

    fn add_notice(&self, line: Vec<u8>) {
        let mut notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
        notices.last += 1;
        let number = notices.last;
        notices.kept.push_back((number, line));
        if notices.kept.len() > MAX_NOTICES {
            notices.kept.pop_front();
        }
        drop(notices);
        self.more.notify_waiters();
    }

    /// The number of the latest notice.
    pub(super) fn last_notice(&self) -> u64 {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner).last
    }

    /// Waits for the next notice after this number.
    pub(super) async fn notice_after(&self, number: u64) -> (u64, Vec<u8>) {
        loop {
            let more = self.more.notified();
            tokio::pin!(more);
            more.as_mut().enable();
            let found = {
                let notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
                notices.kept.iter().find(|(n, _)| *n > number).cloned()
            };
            match found {
                Some(notice) => return notice,
                None => more.await,
            }
        }
    }
}

/// Why a session cannot begin.
pub(super) enum NoSession {
    TooMany,
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
        self.open(gateway, caller, id)
    }

    /// The session of a client whose requests stand alone.
    pub(super) fn standing(
        &self,
        gateway: &Arc<HttpGateway>,
        caller: &Caller,
    ) -> Result<Arc<HttpSession>, NoSession> {
        // No id of a session has a blank in it.
        let id = format!("client {}", caller.name());
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
        let owner = caller.owner();
        let messages = gateway.server.begin(&owner).map_err(NoSession::Refused)?;
        let session = Arc::new(HttpSession {
            messages,
            owner: caller.name().to_owned(),
            used: Mutex::new(Instant::now()),
            notices: Mutex::default(),
            more: Notify::new(),
        });
        all.insert(id.clone(), Arc::clone(&session));
        tokio::spawn(collect_notices(Arc::downgrade(&session)));
        Ok((id, session))
    }

    /// A session that is open, where it is this caller's.
    pub(super) fn find(&self, id: &str, caller: &Caller) -> Option<Arc<HttpSession>> {
        let all = self.by_id.lock().unwrap_or_else(PoisonError::into_inner);
        let session = all.get(id).filter(|session| session.owner == caller.name())?;
        session.touch();
        Some(Arc::clone(session))
    }

    /// Takes a session out, where it is this caller's.
    pub(super) fn take(&self, id: &str, caller: &Caller) -> Option<Arc<HttpSession>> {
        let mut all = self.by_id.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(id).filter(|session| session.owner == caller.name())?;
        all.remove(id)
    }

    fn take_idle(&self) -> Vec<Arc<HttpSession>> {
        let mut all = self.by_id.lock().unwrap_or_else(PoisonError::into_inner);
        let idle: Vec<String> =
            all.iter().filter(|(_, session)| session.is_idle()).map(|(id, _)| id.clone()).collect();
        idle.iter().filter_map(|id| all.remove(id)).collect()
    }
}

/// Collects what the client is to be told beside the answers to its requests.
async fn collect_notices(session: std::sync::Weak<HttpSession>) {
    loop {
        let Some(open) = session.upgrade() else { return };
        let line = tokio::time::timeout(INTERVAL, open.messages.changed()).await;
        if let Ok(line) = line {
            open.add_notice(line);
        }
    }
}

/// Ends idle sessions, for as long as the gateway serves.
pub(super) async fn watch(gateway: Arc<HttpGateway>) {
    loop {
        tokio::time::sleep(INTERVAL).await;
        for session in gateway.sessions.take_idle() {
            session.messages.end().await;
        }
    }
}
