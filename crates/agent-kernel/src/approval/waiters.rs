//! The tasks that wait for the resolution of approval requests.

use std::collections::BTreeMap;
use std::task::Waker;

use weaver_types::ApprovalRequestId;

/// A task that waits for a request: its id among the waiters, once it has one, and its waker.
pub(crate) struct Waiter<'a> {
    pub(crate) id: &'a mut Option<u64>,
    pub(crate) waker: &'a Waker,
}

/// The wakers of all waiting tasks, by request.
#[derive(Default)]
pub(super) struct Waiters {
    wakers: BTreeMap<ApprovalRequestId, BTreeMap<u64, Waker>>,
    last_id: u64,
}

impl Waiters {
    /// Registers the newest waker of a task; gives the task an id if it has none.
    pub(super) fn register(&mut self, request: &ApprovalRequestId, waiter: Waiter<'_>) {
        let id = *waiter.id.get_or_insert_with(|| {
            self.last_id = self.last_id.wrapping_add(1);
            self.last_id
        });
        self.wakers.entry(request.clone()).or_default().insert(id, waiter.waker.clone());
    }

    pub(super) fn remove(&mut self, request: &ApprovalRequestId, id: u64) {
        if let Some(wakers) = self.wakers.get_mut(request) {
            wakers.remove(&id);
            if wakers.is_empty() {
                self.wakers.remove(request);
            }
        }
    }

    /// Removes all waiters of a request. Wake them with [`wake_all`] once the table is unlocked.
    pub(super) fn take(&mut self, request: &ApprovalRequestId) -> Option<BTreeMap<u64, Waker>> {
        self.wakers.remove(request)
    }

    #[cfg(test)]
    pub(super) fn count(&self, request: &ApprovalRequestId) -> Option<usize> {
        self.wakers.get(request).map(BTreeMap::len)
    }
}

pub(super) fn wake_all(wakers: Option<BTreeMap<u64, Waker>>) {
    wakers.into_iter().flat_map(BTreeMap::into_values).for_each(Waker::wake);
}
