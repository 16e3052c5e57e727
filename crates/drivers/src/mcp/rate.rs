//! Limits how many calls of one upstream begin in a second.

use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// A bucket that holds as many calls as may begin in a second, and fills evenly.
#[derive(Default)]
pub(super) struct Rate(Mutex<Option<Instant>>);

impl Rate {
    /// Takes a call out.
    ///
    /// # Errors
    /// The time until there is one.
    pub(super) fn take(&self, limit: NonZeroU32) -> Result<(), Duration> {
        let now = Instant::now();
        let each = Duration::from_secs(1) / limit.get();
        let mut filled = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The moment at which the bucket is full again. It is empty a second before that.
        let full = filled.filter(|full| *full > now).unwrap_or(now);
        let next = full.saturating_duration_since(now).saturating_add(each);
        let wait = next.saturating_sub(Duration::from_secs(1));
        if !wait.is_zero() {
            return Err(wait);
        }
        *filled = now.checked_add(next);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn no_second_has_more_than_its_burst_and_what_fills_in_it() {
        let rate = Rate::default();
        let limit = NonZeroU32::new(4).unwrap();
        let burst = || (0..100).filter(|_| rate.take(limit).is_ok()).count();
        assert_eq!(burst(), 4);
        assert_eq!(rate.take(limit), Err(Duration::from_millis(250)));
        tokio::time::advance(Duration::from_millis(249)).await;
        assert_eq!(rate.take(limit), Err(Duration::from_millis(1)));
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(burst(), 1);
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(burst(), 4, "an idle minute saves up one second");
    }
}
