//! The sessions that are open.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, Weak};

use tokio::sync::mpsc::WeakSender;

use super::status::SessionStatus;
use crate::serve::requests::Requests;

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

    pub(super) fn are_finished(&self) -> bool {
        self.all().iter().all(|session| {
            let in_flight = session.requests.upgrade().map_or(0, |requests| requests.in_flight());
            session.announcements.is_none() && in_flight == 0
        })
    }

    pub(super) fn all(&self) -> Vec<OpenSession> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }
}
