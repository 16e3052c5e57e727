//! Limits the connections of clients.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A limit on concurrent connections.
pub(crate) struct ConnectionLimit {
    free: Arc<Semaphore>,
    /// What the connections have in common, for the log.
    name: &'static str,
    is_full: bool,
}

impl ConnectionLimit {
    pub(crate) fn new(max_connections: usize, name: &'static str) -> Self {
        Self { free: Arc::new(Semaphore::new(max_connections)), name, is_full: false }
    }

    /// A permit for one more connection, or `None` if the connection must be closed. The log reports
    /// only the first of many refused connections.
    pub(crate) fn try_acquire(&mut self) -> Option<OwnedSemaphorePermit> {
        let permit = Arc::clone(&self.free).try_acquire_owned().ok();
        let was_full = std::mem::replace(&mut self.is_full, permit.is_none());
        if self.is_full && !was_full {
            tracing::warn!(of = self.name, "there are too many connections; more are closed");
        }
        permit
    }

    /// A permit for one more connection, once a place is free; `None` if none is for this long.
    pub(crate) async fn acquire(&self, patience: Duration) -> Option<OwnedSemaphorePermit> {
        let acquired = tokio::time::timeout(patience, Arc::clone(&self.free).acquire_owned());
        acquired.await.ok()?.ok()
    }
}
