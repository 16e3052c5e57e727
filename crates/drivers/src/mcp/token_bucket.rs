//! Limits how many calls per second one upstream receives.

use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// A token bucket that holds one second's worth of calls and refills evenly. Its only state is the time at which it
/// will be full again, as in the generic cell rate algorithm.
#[derive(Default)]
pub(super) struct TokenBucket(Mutex<Option<Instant>>);

impl TokenBucket {
    /// Takes one token.
    ///
    /// # Errors
    /// The time until a token is available.
    pub(super) fn try_take(&self, limit: NonZeroU32) -> Result<(), Duration> {
        let now = Instant::now();
        let interval = Duration::from_secs(1) / limit.get();
        let mut full_at = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The bucket is empty when it will be full only a second from now.
        let full = full_at.filter(|full| *full > now).unwrap_or(now);
        let next = full.saturating_duration_since(now).saturating_add(interval);
        let wait = next.saturating_sub(Duration::from_secs(1));
        if !wait.is_zero() {
            return Err(wait);
        }
        *full_at = now.checked_add(next);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn no_second_has_more_than_its_burst_and_what_fills_in_it() {
        let rate = TokenBucket::default();
        let limit = NonZeroU32::new(4).unwrap();
        let burst = || (0..100).filter(|_| rate.try_take(limit).is_ok()).count();
        assert_eq!(burst(), 4);
        assert_eq!(rate.try_take(limit), Err(Duration::from_millis(250)));
        tokio::time::advance(Duration::from_millis(249)).await;
        assert_eq!(rate.try_take(limit), Err(Duration::from_millis(1)));
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(burst(), 1);
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(burst(), 4, "an idle minute saves up one second");
    }
}
