//! The sessions that are open.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, Weak};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::mpsc::WeakSender;

use super::status::SessionStatus;
use crate::serve::requests::Requests;

/// The interval of checks whether the sessions have finished.
const CHECK_INTERVAL: Duration = Duration::from_millis(10);

/// The sessions that are open.
#[derive(Default)]
pub(super) struct OpenSessions {
    next_number: AtomicU64,
    open: Mutex<BTreeMap<u64, OpenSession>>,
}

#[derive(Clone)]
pub(super) struct OpenSession {
    pub(super) requests: Weak<Requests>,
    /// The channel for the announcement that the gateway is about to end.
    pub(super) announcements: Option<WeakSender<Vec<u8>>>,
    pub(super) status: SessionStatus,
}

impl OpenSession {
    /// Announces the end of the gateway, once the client has read enough for it, and then ends
    /// every wait.
    async fn announce_end(&self, announcement: Vec<u8>) {
        let announcements = self.announcements.as_ref().and_then(WeakSender::upgrade);
        if let Some(announcements) = announcements {
            let _ = announcements.send(announcement).await;
        }
        if let Some(requests) = self.requests.upgrade() {
            requests.stop_waiting();
        }
    }
}

impl OpenSessions {
    pub(super) fn begin(&self, session: OpenSession) -> u64 {
        let number = self.next_number.fetch_add(1, Ordering::Relaxed);
        self.open.lock().unwrap_or_else(PoisonError::into_inner).insert(number, session);
        number
    }

    pub(super) fn end(&self, number: u64) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Announces the end of the gateway to every session, and waits until all have finished. False
    /// when some are left after `patience`. A client that does not read keeps nobody else waiting.
    pub(super) async fn drain(&self, announcement: &[u8], patience: Duration) -> bool {
        let sessions = self.all();
        let announced =
            join_all(sessions.iter().map(|session| session.announce_end(announcement.to_vec())));
        let finished = async { tokio::join!(announced, self.wait_until_finished()) };
        tokio::time::timeout(patience, finished).await.is_ok()
    }

    /// Waits until no session is left. A message session counts as finished when nothing is in
    /// flight.
    pub(super) async fn wait_until_finished(&self) {
        while !self.are_finished() {
            tokio::time::sleep(CHECK_INTERVAL).await;
        }
    }

    fn are_finished(&self) -> bool {
        self.all().iter().all(|session| {
            let in_flight = session.requests.upgrade().map_or(0, |requests| requests.in_flight());
            session.announcements.is_none() && in_flight == 0
        })
    }

    pub(super) fn all(&self) -> Vec<OpenSession> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;
    use weaver_types::PrincipalId;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);

    /// A session, with the queue of lines to its client.
    fn begin(sessions: &OpenSessions) -> (u64, mpsc::Sender<Vec<u8>>, mpsc::Receiver<Vec<u8>>) {
        let (outbox, queue) = mpsc::channel(1);
        let status = SessionStatus {
            label: "a client".to_owned(),
            principal: PrincipalId::parse("ana").unwrap(),
            client: "a process".to_owned(),
            requests: 0,
        };
        let announcements = Some(outbox.downgrade());
        let session = OpenSession { requests: Weak::new(), announcements, status };
        (sessions.begin(session), outbox, queue)
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_nothing_keeps_neither_the_gateway_nor_other_clients_waiting() {
        let sessions = OpenSessions::default();
        let (_, outbox, _queue) = begin(&sessions);
        outbox.try_send(b"unread".to_vec()).unwrap();
        let (other, _outbox, mut queue) = begin(&sessions);
        let leaving = async {
            assert_eq!(queue.recv().await.unwrap(), b"the end");
            sessions.end(other);
        };
        let draining = async { tokio::join!(sessions.drain(b"the end", PATIENCE), leaving) };
        let drained = tokio::time::timeout(2 * PATIENCE, draining).await;
        assert_eq!(drained, Ok((false, ())), "the first session is left");
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_late_hears_of_the_end_too() {
        let sessions = OpenSessions::default();
        let (number, outbox, mut queue) = begin(&sessions);
        outbox.try_send(b"unread".to_vec()).unwrap();
        let reading = async {
            tokio::time::sleep(PATIENCE / 2).await;
            assert_eq!(queue.recv().await.unwrap(), b"unread");
            assert_eq!(queue.recv().await.unwrap(), b"the end");
            sessions.end(number);
        };
        let (drained, ()) = tokio::join!(sessions.drain(b"the end", PATIENCE), reading);
        assert!(drained);
    }
}
