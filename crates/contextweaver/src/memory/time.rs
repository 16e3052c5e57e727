//! The clock by which memory expires.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use weaver_types::{Clock, Timestamp};

use super::entry::MAX_CLOCK_SKEW;

/// The clock of a tier, which never goes backwards: neither behind what this process has read, nor
/// behind the time that other processes persisted in the store. While the wall clock is set back, it
/// advances by the monotonic clock.
pub(super) struct ExpiryClock {
    clock: Arc<dyn Clock>,
    last_reading: Mutex<Option<(Timestamp, Duration)>>,
}

/// One reading of the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ClockReading {
    /// The time by which entries expire.
    pub(super) expiry: Timestamp,
    /// The time to persist. A leap of the wall clock by more than a day is not persisted, so that a
    /// wrong clock has no lasting effect once it is corrected.
    pub(super) persisted: Timestamp,
}

impl ExpiryClock {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, last_reading: Mutex::default() }
    }

    /// Reads the clock; `stored` is the time persisted in the store.
    pub(super) fn now(&self, stored: Option<Timestamp>) -> ClockReading {
        let (wall, monotonic) = (self.clock.now(), self.clock.monotonic());
        let mut seen = match self.last_reading.lock() {
            Ok(seen) => seen,
            // Nothing below can panic and leave the reading half updated.
            Err(poisoned) => poisoned.into_inner(),
        };
        let expected = match *seen {
            Some((last, then)) => last.after(monotonic.saturating_sub(then)),
            None => wall,
        };
        let expected = expected.max(stored.unwrap_or(expected));
        let persisted =
            if wall > expected.after(MAX_CLOCK_SKEW) { expected } else { expected.max(wall) };
        *seen = Some((persisted, monotonic));
        ClockReading { expiry: persisted.max(wall), persisted }
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
        let time = ExpiryClock::new(clock.clone());
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
        let time = ExpiryClock::new(clock.clone());
        time.now(None);
        clock.set(START.after(HOUR * 48));
        let now = time.now(None);
        assert_eq!((now.expiry, now.persisted), (START.after(HOUR * 48), START));
        clock.set(START);
        assert_eq!(time.now(None).expiry, START, "set right");
    }
}
