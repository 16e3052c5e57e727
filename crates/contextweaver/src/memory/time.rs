//! The time by which memory expires.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use weaver_types::{Clock, Timestamp};

use super::entry::AHEAD;

/// The time of a tier. It never falls: not below what this process has seen, nor below what others
/// left in the store, and it goes on by the monotonic clock while the wall clock, set back, stands
/// behind.
pub(super) struct Time {
    clock: Arc<dyn Clock>,
    seen: Mutex<Option<(Timestamp, Duration)>>,
}

/// One look at the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ClockReading {
    /// By which entries expire.
    pub(super) expiry: Timestamp,
    /// What is kept for later: a leap of the wall clock over more than a day is not, so that a wrong
    /// clock that is set right leaves nothing behind.
    pub(super) kept: Timestamp,
}

impl Time {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, seen: Mutex::default() }
    }

    /// The time now; `stored` is what the store kept of it.
    pub(super) fn now(&self, stored: Option<Timestamp>) -> ClockReading {
        let (wall, monotonic) = (self.clock.now(), self.clock.monotonic());
        let mut seen = match self.seen.lock() {
            Ok(seen) => seen,
            // Nothing in here panics while it is half done.
            Err(poisoned) => poisoned.into_inner(),
        };
        let due = match *seen {
            Some((last, then)) => last.after(monotonic.saturating_sub(then)),
            None => wall,
        };
        let due = due.max(stored.unwrap_or(due));
        let kept = if wall > due.after(AHEAD) { due } else { due.max(wall) };
        *seen = Some((kept, monotonic));
        ClockReading { expiry: kept.max(wall), kept }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weaver_types::ManualClock;

    const START: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);
    const HOUR: Duration = Duration::from_secs(3_600);

    #[test]
    fn time_never_falls_and_goes_on_while_the_wall_clock_is_behind() {
        let clock = Arc::new(ManualClock::new(START));
        let time = Time::new(clock.clone());
        clock.advance(HOUR);
        assert_eq!(time.now(None).expiry, START.after(HOUR));
        clock.set(Timestamp::default());
        assert_eq!(time.now(None).expiry, START.after(HOUR));
        clock.advance(HOUR);
        assert_eq!(time.now(None).expiry, START.after(HOUR * 2));
        assert_eq!(time.now(Some(START.after(HOUR * 9))).expiry, START.after(HOUR * 9), "others");
    }

    #[test]
    fn a_leap_counts_at_once_and_is_kept_by_nobody() {
        let clock = Arc::new(ManualClock::new(START));
        let time = Time::new(clock.clone());
        time.now(None);
        clock.set(START.after(HOUR * 48));
        let now = time.now(None);
        assert_eq!((now.expiry, now.kept), (START.after(HOUR * 48), START));
        clock.set(START);
        assert_eq!(time.now(None).expiry, START, "set right");
    }
}
