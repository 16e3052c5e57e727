//! The memory ledger against a `Vec` and SHA-256.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use weaver_trace_store::MemoryLedger;
use weaver_trace_store::entry::EventHeader;
use weaver_types::digest::Digest;
use weaver_types::ledger::{Durability, Ledger, NewEvent};
use weaver_types::{LogId, OsRandom};

use crate::round::{Failure, Size, Target, batch, event, judge, median, processor, rate};

const EVENTS: usize = 50_000;
const LOG: &str = "log_0123456789abcdef";

/// The least that a log in memory can do with the same events: it encodes each, header and payload,
/// hashes the bytes once, and pushes both to a `Vec`. No salt, no tree, no check, no batch.
fn bare(events: Vec<NewEvent>, log: &LogId) -> Result<(Duration, Vec<Vec<u8>>), Failure> {
    let (mut kept, commit) = (Vec::new(), Digest::from_bytes([7; 32]));
    let start = processor();
    for (seq, event) in (0..).zip(events) {
        let NewEvent { kind, at, run, call, payload } = event;
        let header = EventHeader { log: log.clone(), seq, at, kind, run, call, commit };
        let mut row = header.to_bytes()?;
        row.extend_from_slice(&payload);
        let hash: [u8; 32] = Sha256::digest(&row).into();
        kept.push((row, hash));
    }
    let time = processor() - start;
    Ok((time, black_box(kept).into_iter().map(|(row, _)| row).collect()))
}

/// The same where the bytes are encoded already, and only copied.
fn encoded(rows: &[Vec<u8>]) -> Duration {
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
    let ledger = MemoryLedger::new(LogId::parse(LOG)?, Arc::new(OsRandom));
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
    let (mut copied, log) = ([const { Vec::new() }; 2], LogId::parse(LOG)?);
    for _ in 0..size.rounds {
        let (bare, rows) = bare((0..events as u64).map(event).collect(), &log)?;
        let (bare, encoded) = (bare.as_secs_f64(), encoded(&rows).as_secs_f64());
        drop(rows);
        let (one, ledger) = ours(events, 1)?;
        drop(ledger);
        let (many, ledger) = ours(events, 50)?;
        drop(ledger);
        single.push(one.as_secs_f64() / bare);
        grouped.push(many.as_secs_f64() / bare);
        for (all, time) in copied.iter_mut().zip([one, many]) {
            all.push(time.as_secs_f64() / encoded);
        }
        seen.push((rate(events, one), rate(events, many)));
    }
    if let Some((one, many)) = seen.last().filter(|_| size.in_earnest) {
        println!("memory, events/s: 1 a batch {one:.0}, 50 a batch {many:.0}");
        let [one, many] = copied.each_mut().map(|all| median(all));
        println!(
            "against bytes that were encoded before: 1 a batch {one:.2}, 50 a batch {many:.2}"
        );
    }
    let at_most = |name| Target { name, bound: 3.0, most: true };
    Ok(judge(size, &at_most("memory, 1 event a batch / Vec and SHA-256 (time)"), &mut single)
        + judge(size, &at_most("memory, 50 events a batch / Vec and SHA-256 (time)"), &mut grouped))
}
