//! The processor time of this thread: what other processes do does not count.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The processor time that this thread has used so far.
pub fn now() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let (seconds, nanos) = (u64::try_from(time.tv_sec), u32::try_from(time.tv_nsec));
    Duration::new(seconds.unwrap_or_default(), nanos.unwrap_or_default())
}

/// What the work gives, and the time it takes.
pub fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = now();
    let out = work();
    (out, now().saturating_sub(start))
}

/// The middle one; zero of none.
pub fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// What reading the clock twice takes.
pub fn overhead() -> Duration {
    median((0..2_000).map(|_| timed(|| ()).1).collect())
}

/// The same, measured at the first use.
pub fn overhead_once() -> Duration {
    static OVERHEAD: std::sync::OnceLock<Duration> = std::sync::OnceLock::new();
    *OVERHEAD.get_or_init(overhead)
}

/// The median time of `count` runs of the work, without that of the clock.
pub fn typical(count: usize, mut work: impl FnMut()) -> Duration {
    let times = (0..count).map(|_| timed(&mut work).1).collect();
    median(times).saturating_sub(overhead())
}

/// A time in microseconds.
pub fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// A time in milliseconds.
pub fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
