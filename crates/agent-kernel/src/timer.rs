//! A timer that needs no runtime: one thread for the whole process, started when it is first
//! needed.

use std::collections::BTreeMap;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Condvar, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use weaver_types::{BoxFuture, Timer};

/// A timer that needs no runtime. All of its sleeps share one thread; a sleep that is dropped
/// leaves nothing behind.
#[derive(Debug, Clone, Copy, Default)]
pub struct ThreadTimer;

impl Timer for ThreadTimer {
    fn sleep(&self, after: Duration) -> BoxFuture<'static, ()> {
        Box::pin(Sleep { after, key: None })
    }
}

/// When, and a number that tells sleeps of one instant apart.
type Key = (Instant, u64);

struct Sleepers {
    sleeps: BTreeMap<Key, Waker>,
    next: u64,
    running: bool,
}

struct Alarms {
    waiting: Mutex<Sleepers>,
    changed: Condvar,
}

static ALARMS: Alarms = Alarms {
    waiting: Mutex::new(Sleepers { sleeps: BTreeMap::new(), next: 0, running: false }),
    changed: Condvar::new(),
};

impl Alarms {
    /// Wakes `waker` at the time of `key`. `None` when there is no thread to do it.
    fn set(&'static self, key: Option<Key>, at: Instant, waker: &Waker) -> Option<Key> {
        let mut waiting = self.waiting.lock().ok()?;
        if !waiting.running {
            let thread = std::thread::Builder::new().name("weaver-timer".to_owned());
            thread.spawn(|| self.run()).ok()?;
            waiting.running = true;
        }
        let key = key.unwrap_or_else(|| {
            waiting.next = waiting.next.wrapping_add(1);
            (at, waiting.next)
        });
        waiting.sleeps.insert(key, waker.clone());
        if waiting.sleeps.first_key_value().is_some_and(|(first, _)| *first == key) {
            self.changed.notify_one();
        }
        Some(key)
    }

    fn forget(&self, key: &Key) {
        if let Ok(mut waiting) = self.waiting.lock() {
            waiting.sleeps.remove(key);
        }
    }

    fn run(&self) {
        let Ok(mut waiting) = self.waiting.lock() else { return };
        loop {
            let now = Instant::now();
            let later = waiting.sleeps.split_off(&(now, u64::MAX));
            let due = std::mem::replace(&mut waiting.sleeps, later);
            if !due.is_empty() {
                drop(waiting);
                for waker in due.into_values() {
                    // A waker of the host that panics must not end the time of all others.
                    let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
                }
                let Ok(again) = self.waiting.lock() else { return };
                waiting = again;
                continue;
            }
            let first = waiting.sleeps.first_key_value().map(|((at, _), _)| *at);
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

/// Counts from its first poll.
struct Sleep {
    after: Duration,
    key: Option<Key>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let now = Instant::now();
        // A time beyond the end of the clock counts as over, and so does one that nobody can
        // watch: the stricter answer.
        let at = self.key.map_or_else(|| now.checked_add(self.after).unwrap_or(now), |(at, _)| at);
        if at <= now {
            return Poll::Ready(());
        }
        match ALARMS.set(self.key, at, context.waker()) {
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
            ALARMS.forget(key);
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
        assert!(ALARMS.waiting.lock().unwrap().sleeps.contains_key(&key));
        drop(sleep);
        assert!(!ALARMS.waiting.lock().unwrap().sleeps.contains_key(&key));
    }
}
