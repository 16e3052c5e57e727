//! Acknowledged callers and bulk appends, synced, against bare SQLite.

use std::path::Path;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use weaver_trace_store::{OpenOptions, SqliteLedger};
use weaver_types::ledger::{Durability, Ledger};

use crate::bare;
use crate::round::{Failure, Size, Target, batch, folder, judge, median, processors, rate, sync};

const CALLERS: usize = 64;
const BULK: usize = 512;

/// A new ledger.
pub(crate) fn ledger(folder: &Path) -> Result<SqliteLedger, Failure> {
    for suffix in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(folder.join(format!("ledger.db{suffix}")));
    }
    Ok(SqliteLedger::open(folder.join("ledger.db"), OpenOptions::default())?)
}

/// The time in which `callers` threads get `each` events acknowledged, one after the other.
pub(crate) fn callers(
    ledger: &dyn Ledger,
    callers: usize,
    each: usize,
) -> Result<Duration, Failure> {
    let gate = Barrier::new(callers + 1);
    let (start, done) = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..callers as u64)
            .map(|caller| {
                let gate = &gate;
                scope.spawn(move || {
                    let mut batches: Vec<_> = (0..each as u64)
                        .map(|n| batch(caller * 1_000_000 + n, 1, Durability::Disk))
                        .collect();
                    gate.wait();
                    batches.drain(..).all(|batch| ledger.commit(batch).wait().is_ok())
                })
            })
            .collect();
        gate.wait();
        let start = Instant::now();
        (start, threads.into_iter().all(|thread| thread.join().unwrap_or(false)))
    });
    if done { Ok(start.elapsed()) } else { Err("a commit failed".into()) }
}

/// The time for `count` batches of 512 events, two under way.
fn bulk(ledger: &dyn Ledger, count: usize) -> Result<Duration, Failure> {
    let mut batches: Vec<_> =
        (0..count as u64).map(|n| batch(n * BULK as u64, BULK, Durability::Disk)).collect();
    let start = Instant::now();
    let mut before = None;
    for batch in batches.drain(..) {
        let ticket = ledger.commit(batch);
        if let Some(before) = before.replace(ticket) {
            before.wait()?;
        }
    }
    before.map_or(Ok(()), |last| last.wait().map(drop))?;
    Ok(start.elapsed())
}

/// Microseconds of processor time, of all threads, for each of `events`, and what `work` gave.
fn spent<T>(events: usize, work: impl FnOnce() -> Result<T, Failure>) -> Result<(T, f64), Failure> {
    let start = processors();
    let done = work()?;
    Ok((done, (processors() - start).as_secs_f64() * 1e6 / events as f64))
}

/// Measures; gives how many targets were missed.
pub(crate) fn run(size: &Size) -> Result<usize, Failure> {
    let (mut callers_bare, mut callers_one, mut bulk_bare) = (Vec::new(), Vec::new(), Vec::new());
    let (mut syncs, mut rates) = (Vec::new(), [const { Vec::new() }; 5]);
    let mut costs = [const { Vec::new() }; 4];
    for _ in 0..size.rounds {
        let folder = folder()?;
        let place = folder.path();
        let each = 400 / size.part.min(100);
        let total = CALLERS * each;
        let rows = (BULK * 60 / size.part).max(BULK);
        syncs.push(sync(place)?);
        let (bare_64, spent_64) = spent(total, || bare::rows(place, total, CALLERS))?;
        let store = ledger(place)?;
        let (many, spent_many) = spent(total, || callers(&store, CALLERS, each))?;
        drop(store);
        let one = rate(each, callers(&ledger(place)?, 1, each)?);
        let (bare_512, spent_512) = spent(rows, || bare::rows(place, rows, BULK))?;
        let store = ledger(place)?;
        let (whole, spent_bulk) = spent(rows, || bulk(&store, rows / BULK))?;
        drop(store);
        for (all, spent) in costs.iter_mut().zip([spent_64, spent_many, spent_512, spent_bulk]) {
            all.push(spent);
        }
        let (bare_64, many) = (rate(total, bare_64), rate(total, many));
        let (bare_512, whole) = (rate(rows, bare_512), rate(rows, whole));
        callers_bare.push(many / bare_64);
        callers_one.push(many / one);
        bulk_bare.push(whole / bare_512);
        for (all, rate) in rates.iter_mut().zip([bare_64, many, one, bare_512, whole]) {
            all.push(rate);
        }
    }
    if size.in_earnest {
        println!("a sync of 4 KiB took {:.0} µs (median)", median(&mut syncs));
        let [bare_64, many, one, bare_512, whole] = rates.each_mut().map(|all| median(all));
        println!(
            "events/s: bare 64 {bare_64:.0}, 64 callers {many:.0}, 1 caller {one:.0}, bare 512 \
             {bare_512:.0}, bulk {whole:.0}"
        );
        let [bare_64, many, bare_512, whole] = costs.each_mut().map(|all| median(all));
        println!(
            "processor time of an event, all threads and preparing it included, µs: bare 64 \
             {bare_64:.1}, 64 callers {many:.1}, bare 512 {bare_512:.1}, bulk {whole:.1}"
        );
    }
    let at_least = |name, bound| Target { name, bound, most: false };
    Ok(judge(size, &at_least("64 callers / bare SQLite, 64 rows", 0.35), &mut callers_bare)
        + judge(size, &at_least("64 callers / 1 caller", 5.0), &mut callers_one)
        + judge(size, &at_least("bulk of 512 / bare SQLite, 512 rows", 0.7), &mut bulk_bare))
}
