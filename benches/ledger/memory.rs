//! The memory ledger against a `Vec` and SHA-256.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use weaver_trace_store::MemoryLedger;
use weaver_types::ledger::{Durability, Ledger};
use weaver_types::{LogId, OsRandom};

use crate::round::{Failure, Size, Target, batch, event, judge, processor, rate};

const EVENTS: usize = 50_000;

/// Copies the encoded bytes of each event, header and payload, into a `Vec`, and hashes them.
fn bare(rows: &[Vec<u8>]) -> Duration {
    let mut kept = Vec::new();
    let start = processor();
    for row in rows {
        let hash: [u8; 32] = Sha256::digest(row).into();
        kept.push((row.clone(), hash));
    }
    let time = processor() - start;
    black_box(kept);
    time
}

fn ours(events: usize, group: usize) -> Result<(Duration, MemoryLedger), Failure> {
    let ledger = MemoryLedger::new(LogId::parse("log_0123456789abcdef")?, Arc::new(OsRandom));
    let batches: Vec<_> =
        (0..events / group).map(|n| batch((n * group) as u64, group, Durability::Os)).collect();
    let start = processor();
    for batch in batches {
        ledger.commit(batch).wait()?;
    }
    Ok((processor() - start, ledger))
}

/// Measures; gives how many targets were missed.
pub(crate) fn run(size: &Size) -> Result<usize, Failure> {
    let events = EVENTS / size.part;
    let (mut single, mut grouped, mut seen) = (Vec::new(), Vec::new(), Vec::new());
    let sample = ours(1, 1)?.1.events(0, 1)?;
    let header = sample.first().map_or(0, |event| event.header.len());
    for _ in 0..size.rounds {
        let row = |n| [vec![b'h'; header], event(n).payload].concat();
        let rows: Vec<_> = (0..events as u64).map(row).collect();
        let bare = bare(&rows).as_secs_f64();
        let (one, ledger) = ours(events, 1)?;
        drop(ledger);
        let (many, ledger) = ours(events, 50)?;
        drop(ledger);
        single.push(one.as_secs_f64() / bare);
        grouped.push(many.as_secs_f64() / bare);
        seen.push((rate(events, one), rate(events, many)));
    }
    if let Some((one, many)) = seen.last().filter(|_| size.in_earnest) {
        println!("memory, events/s: 1 a batch {one:.0}, 50 a batch {many:.0}");
    }
    let at_most = |name| Target { name, bound: 3.0, most: true };
    Ok(judge(size, &at_most("memory, 1 event a batch / Vec and SHA-256 (time)"), &mut single)
        + judge(size, &at_most("memory, 50 events a batch / Vec and SHA-256 (time)"), &mut grouped))
}
