//! What an append and an opening cost at 10^3 to 10^7 events.

use std::path::Path;
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
/// The most that an append may cost against one in a log of 10^3 events beside it.
const FLAT: f64 = 1.5;

/// Measures; gives how many targets were missed.
pub(crate) fn run(size: &Size) -> Result<usize, Failure> {
    let (beside, folder) = (folder()?, folder()?);
    let path = folder.path().join("ledger.db");
    self::ledger(beside.path())?.commit(batch(0, 1_000, Durability::Os)).wait()?;
    let short = beside.path().join("ledger.db");
    let mut ledger = ledger(folder.path())?;
    let (mut costs, mut flat, mut openings) = (Vec::new(), Vec::new(), Vec::new());
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
        let [first, here] = appends([&short, &path])?;
        ledger = SqliteLedger::open(&path, OpenOptions::default())?;
        costs.push(here);
        flat.push(here / first);
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
    let mut flat = vec![flat.into_iter().fold(0.0, f64::max)];
    let mut slowest = vec![openings.into_iter().fold(0.0, f64::max)];
    let at_most = |name, bound| Target { name, bound, most: true };
    Ok(judge(size, &at_most("an append in the longest log / in the shortest", FLAT), &mut flat)
        + judge(size, &at_most("opening, milliseconds", OPENING), &mut slowest))
}

/// Microseconds of an append that is not synced to each of two ledgers, in turns, the median of some:
/// how fast a waiting thread is woken is another matter each time that the threads begin anew.
fn appends(paths: [&Path; 2]) -> Result<[f64; 2], Failure> {
    let mut times = [const { Vec::new() }; 2];
    for _ in 0..2 * OPENINGS {
        for (path, times) in paths.iter().zip(&mut times) {
            let ledger = SqliteLedger::open(path, OpenOptions::default())?;
            let at = ledger.head()?.size;
            for n in 0..50 {
                let batch = batch(at + n, 1, Durability::Os);
                let start = Instant::now();
                ledger.commit(batch).wait()?;
                times.push(start.elapsed().as_secs_f64() * 1e6);
            }
        }
    }
    Ok(times.each_mut().map(|times| median(times)))
}
