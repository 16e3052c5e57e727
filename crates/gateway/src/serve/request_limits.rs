//! The limits on the requests of one client in flight.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The most requests in flight.
const MAX_IN_FLIGHT: u32 = 256;
/// The most kibibytes of request lines in flight.
const MAX_KIB: u32 = 64 * 1024;

/// The permits a request holds of its client's limits, until it is answered.
pub(super) type RequestPermits = Arc<[OwnedSemaphorePermit; 2]>;

/// The limits on the requests of one client in flight: their number and their size.
pub(super) struct RequestLimits {
    requests: Arc<Semaphore>,
    kib: Arc<Semaphore>,
}

impl Default for RequestLimits {
    fn default() -> Self {
        let semaphore = |permits: u32| Arc::new(Semaphore::new(permits as usize));
        Self { requests: semaphore(MAX_IN_FLIGHT), kib: semaphore(MAX_KIB) }
    }
}

impl RequestLimits {
    /// Reserves a place for a request; `None` while there are too many.
    pub(super) fn try_reserve(&self, bytes: usize) -> Option<RequestPermits> {
        let kib = u32::try_from(bytes / 1024).ok()?.saturating_add(1);
        let request_permit = Arc::clone(&self.requests).try_acquire_owned().ok()?;
        let kib_permit = Arc::clone(&self.kib).try_acquire_many_owned(kib).ok()?;
        Some(Arc::new([request_permit, kib_permit]))
    }

    /// The number of requests in flight.
    pub(super) fn in_flight(&self) -> usize {
        (MAX_IN_FLIGHT as usize).saturating_sub(self.requests.available_permits())
    }

    /// Waits until no request is in flight. Every request holds some of the size, and what is
    /// acquired here while it waits does not count as requests.
    pub(super) async fn wait_until_idle(&self) {
        let _ = self.kib.acquire_many(MAX_KIB).await;
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn a_session_that_waits_for_its_last_request_has_one_in_flight() {
        let limits = RequestLimits::default();
        let last = limits.try_reserve(5_000).unwrap();
        let waiting = limits.wait_until_idle();
        tokio::pin!(waiting);
        assert!(waiting.as_mut().now_or_never().is_none());
        assert_eq!(limits.in_flight(), 1);
        drop(last);
        assert!(waiting.as_mut().now_or_never().is_some());
        assert_eq!(limits.in_flight(), 0);
    }

    #[test]
    fn number_and_size_are_bounded() {
        let limits = RequestLimits::default();
        let many: Vec<_> = (0..MAX_IN_FLIGHT).map(|_| limits.try_reserve(1).unwrap()).collect();
        assert_eq!(limits.in_flight(), 256);
        assert!(limits.try_reserve(1).is_none());
        drop(many);
        let large: Vec<_> =
            (0..4).map(|_| limits.try_reserve(16 * 1024 * 1024 - 1).unwrap()).collect();
        assert!(limits.try_reserve(1).is_none());
        drop(large);
        assert_eq!(limits.in_flight(), 0);
    }
}
