//! The bytes of results that are kept for one client, over all of its sessions.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The most bytes of results that are kept for one client.
const MAX_CLIENT_BYTES: usize = 64 * 1024 * 1024;

/// Counts the bytes of results that are kept for one client.
#[derive(Debug, Default)]
pub(crate) struct ResultBudget(AtomicUsize);

/// The bytes of one kept result, counted until this is dropped.
#[derive(Debug)]
pub(crate) struct KeptBytes {
    budget: Arc<ResultBudget>,
    pub(crate) bytes: usize,
}

impl ResultBudget {
    /// Counts a result; `None` if too much is kept already.
    pub(crate) fn try_keep(self: &Arc<Self>, bytes: usize) -> Option<KeptBytes> {
        let add = |kept: usize| kept.checked_add(bytes).filter(|sum| *sum <= MAX_CLIENT_BYTES);
        let added = self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, add);
        added.ok().map(|_| KeptBytes { budget: Arc::clone(self), bytes })
    }
}

impl Drop for KeptBytes {
    fn drop(&mut self) {
        self.budget.0.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dropped_makes_room() {
        let budget = Arc::new(ResultBudget::default());
        let half = MAX_CLIENT_BYTES / 2;
        let [first, second] = [(); 2].map(|()| budget.try_keep(half));
        assert!(first.is_some() && second.is_some() && budget.try_keep(1).is_none());
        drop(first);
        assert!(budget.try_keep(half).is_some());
        assert!(budget.try_keep(usize::MAX).is_none());
    }
}
