//! The clock of a gateway: one whose monotonic side goes on while the machine sleeps.
//!
//! A gateway lives as long as its client, and a laptop sleeps for days. With a monotonic clock that
//! stands still meanwhile, waking up would look like a leap of the wall clock, which holds effects.

use std::time::Duration;

use weaver_types::{Clock, SystemClock, Timestamp};

/// The system's clocks.
#[derive(Debug, Default)]
pub(crate) struct WakingClock(SystemClock);

impl Clock for WakingClock {
    fn now(&self) -> Timestamp {
        self.0.now()
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn monotonic(&self) -> Duration {
        use rustix::time::{ClockId, clock_gettime};

        let since_boot = clock_gettime(ClockId::Boottime);
        let seconds = u64::try_from(since_boot.tv_sec).unwrap_or_default();
        let nanos = u32::try_from(since_boot.tv_nsec).unwrap_or_default();
        Duration::new(seconds, nanos)
    }

    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    fn monotonic(&self) -> Duration {
        self.0.monotonic()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_on() {
        let clock = WakingClock::default();
        let before = clock.monotonic();
        std::thread::sleep(Duration::from_millis(5));
        let passed = clock.monotonic().saturating_sub(before);
        assert!(
            passed >= Duration::from_millis(5) && passed < Duration::from_secs(60),
            "{passed:?}"
        );
    }
}
