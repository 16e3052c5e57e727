//! Places for the connections of clients.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A bounded number of connections at once.
pub(crate) struct ConnectionPlaces {
    free: Arc<Semaphore>,
    /// What the connections have in common, for the log.
    name: &'static str,
    is_full: bool,
}

impl ConnectionPlaces {
    pub(crate) fn new(most: usize, name: &'static str) -> Self {
        Self { free: Arc::new(Semaphore::new(most)), name, is_full: false }
    }

    /// A place for one more connection. Where there is none it is to be closed, which the log says of
    /// the first of many.
    pub(crate) fn take(&mut self) -> Option<OwnedSemaphorePermit> {
        let place = Arc::clone(&self.free).try_acquire_owned().ok();
        let was_full = std::mem::replace(&mut self.is_full, place.is_none());
        if self.is_full && !was_full {
            tracing::warn!(of = self.name, "there are too many connections; more are closed");
        }
        place
    }
}
