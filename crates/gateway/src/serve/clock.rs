//! The clock of a gateway: its monotonic time continues during suspend.
//!
//! A gateway lives as long as its client, and a laptop sleeps for days. If the monotonic clock
//! stopped meanwhile, waking up would look like a jump of the wall clock, and the kernel holds
//! effects after such a jump.

use std::time::Duration;

use weaver_types::{Clock, SystemClock, Timestamp};

/// The system's clocks, with `CLOCK_BOOTTIME` as the monotonic one.
#[derive(Debug, Default)]
pub(crate) struct BootTimeClock(SystemClock);

impl Clock for BootTimeClock {
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
        let clock = BootTimeClock::default();
        let before = clock.monotonic();
        std::thread::sleep(Duration::from_millis(5));
        let passed = clock.monotonic().saturating_sub(before);
        assert!(
            passed >= Duration::from_millis(5) && passed < Duration::from_secs(60),
            "{passed:?}"
        );
    }
}
