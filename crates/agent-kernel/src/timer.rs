//! A timer without a runtime: one thread for the whole process, started on first use.

use std::collections::BTreeMap;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Condvar, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use weaver_types::{BoxFuture, Timer};

/// A timer without a runtime. All its sleeps share one thread; a dropped sleep leaves nothing
/// behind.
#[derive(Debug, Clone, Copy, Default)]
pub struct ThreadTimer;

impl Timer for ThreadTimer {
    fn sleep(&self, after: Duration) -> BoxFuture<'static, ()> {
        Box::pin(Sleep { after, key: None })
    }
}

/// The time of a sleep, and a number that distinguishes sleeps of the same time.
type SleepKey = (Instant, u64);

struct TimerQueue {
    wakers: BTreeMap<SleepKey, Waker>,
    last_number: u64,
    running: bool,
}

struct TimerThread {
    queue: Mutex<TimerQueue>,
    changed: Condvar,
}

static TIMER_THREAD: TimerThread = TimerThread {
    queue: Mutex::new(TimerQueue { wakers: BTreeMap::new(), last_number: 0, running: false }),
    changed: Condvar::new(),
};

impl TimerThread {
    /// Registers `waker` for the time of `key`. `None` when the thread cannot be started.
    fn register(
        &'static self,
        key: Option<SleepKey>,
        at: Instant,
        waker: &Waker,
    ) -> Option<SleepKey> {
        let mut waiting = self.queue.lock().ok()?;
        if !waiting.running {
            let thread = std::thread::Builder::new().name("weaver-timer".to_owned());
            thread.spawn(|| self.run()).ok()?;
            waiting.running = true;
        }
        let key = key.unwrap_or_else(|| {
            waiting.last_number = waiting.last_number.wrapping_add(1);
            (at, waiting.last_number)
        });
        waiting.wakers.insert(key, waker.clone());
        if waiting.wakers.first_key_value().is_some_and(|(first, _)| *first == key) {
            self.changed.notify_one();
        }
        Some(key)
    }

    fn cancel(&self, key: &SleepKey) {
        if let Ok(mut waiting) = self.queue.lock() {
            waiting.wakers.remove(key);
        }
    }

    fn run(&self) {
        let Ok(mut waiting) = self.queue.lock() else { return };
        loop {
            let now = Instant::now();
            let later = waiting.wakers.split_off(&(now, u64::MAX));
            let due = std::mem::replace(&mut waiting.wakers, later);
            if !due.is_empty() {
                drop(waiting);
                for waker in due.into_values() {
                    // A waker of the host that panics must not end the timer thread.
                    let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
                }
                let Ok(again) = self.queue.lock() else { return };
                waiting = again;
                continue;
            }
            let first = waiting.wakers.first_key_value().map(|((at, _), _)| *at);
            waiting = match first {
                None => match self.changed.wait(waiting) {
                    Ok(waiting) => waiting,
                    Err(_) => return,
                },
                Some(at) => {
                    match self.changed.wait_timeout(waiting, at.saturating_duration_since(now)) {
                        Ok((waiting, _)) => waiting,
                        Err(_) => return,
                    }
                }
            };
        }
    }
}

/// A sleep. Its time starts with the first poll.
struct Sleep {
    after: Duration,
    key: Option<SleepKey>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let now = Instant::now();
        // A time beyond the range of the clock counts as over, and so does a sleep without a timer
        // thread: timeouts then fire early, which is the strict side.
        let at = self.key.map_or_else(|| now.checked_add(self.after).unwrap_or(now), |(at, _)| at);
        if at <= now {
            return Poll::Ready(());
        }
        match TIMER_THREAD.register(self.key, at, context.waker()) {
            Some(key) => {
                self.key = Some(key);
                Poll::Pending
            }
            None => Poll::Ready(()),
        }
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(key) = &self.key {
            TIMER_THREAD.cancel(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait::block_on;

    #[test]
    fn many_sleeps_end_and_share_one_thread() {
        let sleepers: Vec<_> = (0..200_u64)
            .map(|n| {
                std::thread::spawn(move || {
                    block_on(ThreadTimer.sleep(Duration::from_millis(n % 7)))
                })
            })
            .collect();
        for sleeper in sleepers {
            sleeper.join().unwrap();
        }
    }

    #[test]
    fn a_dropped_sleep_leaves_nothing_behind() {
        let mut sleep = Sleep { after: Duration::from_secs(3_600), key: None };
        let mut context = Context::from_waker(Waker::noop());
        assert_eq!(Pin::new(&mut sleep).poll(&mut context), Poll::Pending);
        let key = sleep.key.unwrap();
        assert!(TIMER_THREAD.queue.lock().unwrap().wakers.contains_key(&key));
        drop(sleep);
        assert!(!TIMER_THREAD.queue.lock().unwrap().wakers.contains_key(&key));
    }
}
