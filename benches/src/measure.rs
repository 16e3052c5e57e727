//! The processor time of this process.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The processor time that this process has used.
pub fn now() -> Duration {
    read(ClockId::ProcessCPUTime)
}

/// The processor time that this thread has used.
pub fn thread() -> Duration {
    read(ClockId::ThreadCPUTime)
}

/// The bytes of memory that this process holds, where the system says so.
pub fn resident() -> Option<usize> {
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    Some(pages.split(' ').nth(1)?.parse::<usize>().ok()? * rustix::param::page_size())
}

fn read(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    let (seconds, nanos) = (u64::try_from(time.tv_sec), u32::try_from(time.tv_nsec));
    Duration::new(seconds.unwrap_or_default(), nanos.unwrap_or_default())
}

/// The median of `runs` runs, after one that does not count.
pub fn median(runs: usize, mut work: impl FnMut()) -> Duration {
    work();
    once(runs, work)
}

/// The median of `runs` runs, including the first.
pub fn once(runs: usize, mut work: impl FnMut()) -> Duration {
    middle((0..runs.max(1)).map(|_| {
        let start = now();
        work();
        now().saturating_sub(start)
    }))
}

/// The median.
fn middle(times: impl Iterator<Item = Duration>) -> Duration {
    let mut times: Vec<Duration> = times.collect();
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// Megabytes a second.
pub fn speed(bytes: usize, time: Duration) -> f64 {
    bytes as f64 / 1e6 / time.as_secs_f64().max(1e-9)
}

/// Microseconds of one of `each` calls: the median over so many batches of them, after one that
/// does not count.
pub fn micros(batches: usize, each: usize, call: impl FnMut()) -> f64 {
    prepared_micros(batches, each, || (), call)
}

/// The same, with something to do before each batch that does not count.
pub fn prepared_micros(
    batches: usize,
    each: usize,
    mut prepare: impl FnMut(),
    mut call: impl FnMut(),
) -> f64 {
    let one = |_| {
        prepare();
        let start = now();
        (0..each).for_each(|_| call());
        now().saturating_sub(start)
    };
    let batch = middle((0..=batches.max(1)).map(one).skip(1));
    batch.as_secs_f64() * 1e6 / each.max(1) as f64
}
