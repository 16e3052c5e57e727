//! Connections that have not carried an accepted request yet.
//!
//! Anybody who reaches the address can open connections and send half a request on each. When there
//! are too many connections, the oldest that has not proven itself gives way to a new one, so that
//! such a flood keeps nobody out.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

/// The connections that have not proven themselves, in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct UnprovenConnections(Mutex<ConnectionTable>);

#[derive(Debug, Default)]
struct ConnectionTable {
    last_number: u64,
    by_number: BTreeMap<u64, CancellationToken>,
}

/// One connection, as its requests see it.
#[derive(Debug, Clone)]
pub(super) struct ConnectionProof {
    unproven: Arc<UnprovenConnections>,
    number: u64,
}

impl UnprovenConnections {
    /// Adds a connection. Cancelling the returned token closes it.
    pub(super) fn begin(self: &Arc<Self>) -> (ConnectionProof, CancellationToken) {
        let mut table = self.lock();
        table.last_number = table.last_number.saturating_add(1);
        let (number, closed) = (table.last_number, CancellationToken::new());
        table.by_number.insert(number, closed.clone());
        (ConnectionProof { unproven: Arc::clone(self), number }, closed)
    }

    /// Closes the oldest. False where all connections have proven themselves.
    pub(super) fn close_oldest(&self) -> bool {
        let oldest = self.lock().by_number.pop_first();
        oldest.is_some_and(|(_, closed)| {
            closed.cancel();
            true
        })
    }

    fn lock(&self) -> MutexGuard<'_, ConnectionTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionProof {
    /// An accepted request came, or the connection has ended: it gives way to no other.
    pub(super) fn give(&self) {
        self.unproven.lock().by_number.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_without_an_accepted_request_gives_way() {
        let unproven = Arc::new(UnprovenConnections::default());
        let all: Vec<_> = (0..3).map(|_| unproven.begin()).collect();
        all[0].0.give();
        assert!(unproven.close_oldest() && unproven.close_oldest());
        let closed: Vec<_> = all.iter().map(|(_, closed)| closed.is_cancelled()).collect();
        assert_eq!(closed, [false, true, true]);
        assert!(!unproven.close_oldest(), "only those that have proven themselves are left");
    }
}
