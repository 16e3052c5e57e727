//! Rounds: what is measured in turns, and what comes of it.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;
use weaver_types::canonical::{self, RecordBytes};
use weaver_types::ledger::{Batch, Durability, NewEvent};
use weaver_types::{CallId, EventKind, RunId, Timestamp};

/// The error of the bench.
pub(crate) type Failure = Box<dyn std::error::Error>;

/// How much is done.
pub(crate) struct Size {
    /// False when nothing is measured.
    pub(crate) in_earnest: bool,
    /// Rounds of each part.
    pub(crate) rounds: usize,
    /// Divides the number of events in a round.
    pub(crate) part: usize,
    /// The longest log.
    pub(crate) largest: u64,
}

impl Size {
    /// To see that it works.
    pub(crate) fn smoke() -> Self {
        Self { in_earnest: false, rounds: 1, part: 100, largest: 1_000 }
    }

    /// To measure.
    pub(crate) fn usual() -> Self {
        Self { in_earnest: true, rounds: 9, part: 1, largest: 1_000_000 }
    }
}

/// A folder on the disk that is measured: that of `WEAVER_BENCH_DIR`, or the target folder.
pub(crate) fn folder() -> Result<tempfile::TempDir, Failure> {
    let place = std::env::var_os("WEAVER_BENCH_DIR").map_or_else(std::env::temp_dir, Into::into);
    Ok(tempfile::tempdir_in(place)?)
}

/// The processor time of this thread: for what one thread does alone, so that other processes do
/// not count.
pub(crate) fn processor() -> Duration {
    clock(rustix::time::ClockId::ThreadCPUTime)
}

/// The processor time of all threads of this process.
pub(crate) fn processors() -> Duration {
    clock(rustix::time::ClockId::ProcessCPUTime)
}

fn clock(clock: rustix::time::ClockId) -> Duration {
    let time = rustix::time::clock_gettime(clock);
    let part = |number: i64| u64::try_from(number).unwrap_or_default();
    Duration::from_secs(part(time.tv_sec)) + Duration::from_nanos(part(time.tv_nsec))
}

/// Events a second.
pub(crate) fn rate(events: usize, time: Duration) -> f64 {
    events as f64 / time.as_secs_f64()
}

/// Microseconds of a write of 4 KiB and its sync, the median of some.
pub(crate) fn sync(folder: &Path) -> Result<f64, Failure> {
    let mut file = std::fs::File::create(folder.join("sync"))?;
    let mut times = Vec::new();
    for _ in 0..20 {
        let start = Instant::now();
        file.write_all(&[7; 4096])?;
        file.sync_data()?;
        times.push(start.elapsed().as_secs_f64() * 1e6);
    }
    Ok(median(&mut times))
}

/// The middle one.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// A row of the result: a ratio of each round, and whether their median is good enough.
pub(crate) struct Target {
    pub(crate) name: &'static str,
    /// At least, or at most when `most`.
    pub(crate) bound: f64,
    pub(crate) most: bool,
}

/// Prints the ratios; gives how many targets were missed.
pub(crate) fn judge(size: &Size, target: &Target, ratios: &mut [f64]) -> usize {
    if !size.in_earnest {
        return 0;
    }
    let middle = median(ratios);
    let good = if target.most { middle <= target.bound } else { middle >= target.bound };
    let (least, greatest) = (ratios.first().copied(), ratios.last().copied());
    println!(
        "{:<58} {middle:>7.2} ({:.2} to {:.2})  {} {}  {}",
        target.name,
        least.unwrap_or(f64::NAN),
        greatest.unwrap_or(f64::NAN),
        if target.most { "at most" } else { "at least" },
        target.bound,
        if good { "ok" } else { "MISSED" }
    );
    usize::from(!good)
}

/// The payload of an event as the kernel writes them: 300 bytes, known to be canonical.
pub(crate) fn payload(number: u64) -> RecordBytes {
    let digest = format!("{number:064x}");
    let payload = json!({
        "arguments": format!("sha256:{digest}"),
        "capability": "files.read",
        "checks": [
            { "reason": "rule_allow", "verdict": "allow" },
            { "reason": "within_limits", "verdict": "allow" },
        ],
        "mode": "summary",
        "n": number,
        "principal": "ana",
        "rung": 1,
        "v": 1,
        "why": "Read the notes of the last week.",
    });
    canonical::record(&payload).unwrap_or_else(|_| b"{}".to_vec().into())
}

/// An event with that payload.
pub(crate) fn event(number: u64) -> NewEvent {
    NewEvent {
        kind: EventKind::Intent,
        at: Timestamp::from_micros(1_700_000_000_000_000 + i64::try_from(number).unwrap_or(0)),
        run: RunId::parse("run_0123456789abcdef").ok(),
        call: CallId::parse("call_0123456789abcdef").ok(),
        payload: payload(number),
    }
}

/// A batch with `count` events from `number` on.
pub(crate) fn batch(number: u64, count: usize, durability: Durability) -> Batch {
    let events = (number..).take(count).map(event).collect();
    Batch { events, ..Batch::new(durability) }
}
