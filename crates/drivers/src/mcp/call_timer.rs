//! The time limits of a call, which pause while the server waits for somebody else.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

/// Longest total pause of one time limit, so that a server cannot keep a call alive forever by asking again and again.
const MAX_PAUSED: Duration = Duration::from_secs(30 * 60);

/// The time limits of one call. They pause while a person answers on behalf of the server, because the server does not
/// use that time.
///
/// Several limits may run on one timer; each begins when it is first polled.
#[derive(Clone, Default)]
pub struct CallTimer(Arc<TimerState>);

#[derive(Default)]
struct TimerState {
    pauses: AtomicUsize,
    changed: Notify,
}

/// Pauses the limits of a call until it is dropped.
#[must_use]
pub struct TimerPause(CallTimer);

impl CallTimer {
    /// Pauses every limit on this timer until the returned guard is dropped.
    pub fn pause(&self) -> TimerPause {
        self.0.pauses.fetch_add(1, Ordering::AcqRel);
        self.0.changed.notify_waiters();
        TimerPause(self.clone())
    }

    /// Returns after `limit`, not counting pauses.
    pub async fn elapsed(&self, limit: Duration) {
        let (mut left, mut pause_left) = (limit, MAX_PAUSED);
        loop {
            let changed = self.0.changed.notified();
            tokio::pin!(changed);
            // From here on no change is missed.
            changed.as_mut().enable();
            let paused = self.0.pauses.load(Ordering::Acquire) > 0 && !pause_left.is_zero();
            let running = if paused { &mut pause_left } else { &mut left };
            let begun = Instant::now();
            tokio::select! {
                () = changed => *running = running.saturating_sub(begun.elapsed()),
                () = sleep(*running) => {
                    if !paused {
                        return;
                    }
                    pause_left = Duration::ZERO;
                }
            }
        }
    }

    /// The output of `work`, or `None` if `limit` passes first, not counting pauses.
    pub async fn timeout<T>(&self, limit: Duration, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            done = work => Some(done),
            () = self.elapsed(limit) => None,
        }
    }
}

impl Drop for TimerPause {
    fn drop(&mut self) {
        self.0.0.pauses.fetch_sub(1, Ordering::AcqRel);
        self.0.0.changed.notify_waiters();
    }
}

impl fmt::Debug for CallTimer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallTimer")
            .field("pauses", &self.0.pauses.load(Ordering::Relaxed))
            .finish_non_exhaustive()
    }
}

weaver_types::opaque_debug!(TimerPause);

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(10);

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[tokio::test(start_paused = true)]
    async fn a_limit_stands_still_while_any_pause_lasts() {
        let (timer, begun) = (CallTimer::default(), Instant::now());
        let limited = timer.clone();
        let limit = tokio::spawn(async move { limited.elapsed(LIMIT).await });
        sleep(seconds(4)).await;
        let (first, second) = (timer.pause(), timer.pause());
        sleep(seconds(60)).await;
        drop(first);
        sleep(seconds(60)).await;
        assert!(!limit.is_finished());
        drop(second);
        limit.await.unwrap();
        assert_eq!(begun.elapsed().as_secs(), 4 + 120 + 6);
    }

    #[tokio::test(start_paused = true)]
    async fn a_limit_that_begins_in_a_pause_counts_from_its_end() {
        let (timer, begun) = (CallTimer::default(), Instant::now());
        let pause = timer.pause();
        let ended = tokio::spawn(async move {
            sleep(seconds(5)).await;
            drop(pause);
        });
        assert_eq!(timer.timeout(LIMIT, std::future::pending::<()>()).await, None);
        ended.await.unwrap();
        assert_eq!(begun.elapsed().as_secs(), 15);
        assert_eq!(timer.timeout(LIMIT, async { 7 }).await, Some(7));
    }

    #[tokio::test(start_paused = true)]
    async fn pauses_end_at_last() {
        let (timer, begun) = (CallTimer::default(), Instant::now());
        let _pause = timer.pause();
        timer.elapsed(LIMIT).await;
        assert_eq!(begun.elapsed(), MAX_PAUSED + LIMIT);
    }
}
