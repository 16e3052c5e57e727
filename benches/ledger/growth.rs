//! What an append and an opening cost at 10^3 to 10^7 events.

use std::time::Instant;

use weaver_trace_store::{OpenOptions, SqliteLedger};
use weaver_types::ledger::{Durability, Ledger};

use crate::callers::ledger;
use crate::round::{Failure, Size, Target, batch, folder, judge, median};

/// How often a log is opened and closed at each size; the median counts. What was just written is
/// on its way to the disk meanwhile, which the first one may have to wait for.
const OPENINGS: usize = 7;
/// The longest that an opening may take, in milliseconds.
const OPENING: f64 = 100.0;
/// The most that an append may cost against one in a log of 10^3 events.
const FLAT: f64 = 1.5;

/// Measures; gives how many targets were missed.
pub(crate) fn run(size: &Size) -> Result<usize, Failure> {
    let folder = folder()?;
    let path = folder.path().join("ledger.db");
    let mut ledger = ledger(folder.path())?;
    let (mut costs, mut openings) = (Vec::new(), Vec::new());
    let mut stage = 1_000;
    while stage <= size.largest {
        let mut at = ledger.head()?.size;
        while at < stage {
            let count = (stage - at).min(1_000);
            ledger.commit(batch(at, usize::try_from(count)?, Durability::Os)).wait()?;
            at += count;
        }
        drop(ledger);
        let mut times = Vec::new();
        for _ in 0..OPENINGS {
            let start = Instant::now();
            drop(SqliteLedger::open(&path, OpenOptions::default())?);
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
        openings.push(median(&mut times));
        ledger = SqliteLedger::open(&path, OpenOptions::default())?;
        costs.push(append(&ledger, at)?);
        if size.in_earnest {
            let (open, cost) = (openings.last(), costs.last());
            println!(
                "{stage} events: opened in {:.1} ms, an append {:.1} µs, {} MiB",
                open.unwrap_or(&f64::NAN),
                cost.unwrap_or(&f64::NAN),
                std::fs::metadata(&path)?.len() >> 20
            );
        }
        stage *= 10;
    }
    let first = costs.first().copied().unwrap_or(f64::NAN);
    let mut flat = vec![costs.into_iter().fold(0.0, f64::max) / first];
    let mut slowest = vec![openings.into_iter().fold(0.0, f64::max)];
    let at_most = |name, bound| Target { name, bound, most: true };
    Ok(judge(size, &at_most("an append in the longest log / in the shortest", FLAT), &mut flat)
        + judge(size, &at_most("opening, milliseconds", OPENING), &mut slowest))
}

/// Microseconds of an append that is not synced, the median of some.
fn append(ledger: &dyn Ledger, at: u64) -> Result<f64, Failure> {
    let mut times = Vec::new();
    for n in 0..500 {
        let batch = batch(at + n, 1, Durability::Os);
        let start = Instant::now();
        ledger.commit(batch).wait()?;
        times.push(start.elapsed().as_secs_f64() * 1e6);
    }
    Ok(median(&mut times))
}
