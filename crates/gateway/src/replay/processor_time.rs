//! The processor time spent on a decision.

/// The processor time of this thread, in microseconds.
#[cfg(unix)]
pub(super) fn processor_time() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or_default();
    let nanos = u64::try_from(now.tv_nsec).unwrap_or_default();
    seconds.saturating_mul(1_000_000).saturating_add(nanos / 1_000)
}

/// The time since the first call of this function, in microseconds.
#[cfg(not(unix))]
pub(super) fn processor_time() -> u64 {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    let start = START.get_or_init(std::time::Instant::now);
    u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX)
}
