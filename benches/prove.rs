//! Proofs from a ledger's stored tiles: how long one takes, in logs of 10^3 and 10^6 events.
//!
//! An inclusion proof in a log of 10^6 events is meant to take less than 100 µs. Places are random,
//! and so are sizes before the last one. Times are the processor time of one thread, so that other
//! processes do not count.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Bencher, Criterion, criterion_group, criterion_main};
use weaver_benches::records::SplitMix;
use weaver_trace_store::merkle::verify_inclusion;
use weaver_trace_store::verify::{LogProver, LogSource};
use weaver_trace_store::{OpenOptions, Reader, SqliteLedger};
use weaver_types::ledger::{Batch, Durability, Ledger, MAX_BATCH_EVENTS, NewEvent};
use weaver_types::{EventKind, Timestamp};

fn event(n: u64) -> NewEvent {
    NewEvent {
        kind: EventKind::Outcome,
        at: Timestamp::from_micros(1_700_000_000_000_000),
        run: None,
        call: None,
        payload: format!("{{\"n\":{n},\"text\":\"{}\"}}", "x".repeat(400)).into_bytes().into(),
    }
}

fn fill(ledger: &SqliteLedger, count: u64) {
    let mut done = 0;
    while done < count {
        let end = count.min(done + MAX_BATCH_EVENTS as u64);
        let events = (done..end).map(event).collect();
        let batch = Batch { events, ..Batch::new(Durability::Os) };
        ledger.commit(batch).wait().expect("a commit");
        done = end;
    }
}

/// The processor time of this thread.
fn spent() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

fn timed(bencher: &mut Bencher<'_>, mut call: impl FnMut()) {
    bencher.iter_custom(|iterations| {
        let start = spent();
        (0..iterations).for_each(|_| call());
        spent() - start
    });
}

/// The proof leads to the root, also through the higher tiles.
fn check(log: &Reader, index: u64, size: u64) {
    let row = log.rows(index, 1).expect("a row").pop().expect("an event");
    let path = log.inclusion(index, size).expect("a proof");
    let root = log.root(size).expect("a root");
    assert!(verify_inclusion(row.leaf.as_bytes(), index, size, &path, &root), "{index} of {size}");
}

fn prove(criterion: &mut Criterion) {
    // Without `--bench` nothing is measured, and a small log will do.
    let earnest = std::env::args().any(|argument| argument == "--bench");
    let mut group = criterion.benchmark_group("prove");
    for (name, count) in [("10^3", 1_000), ("10^6", if earnest { 1_000_000 } else { 3_000 })] {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("ledger");
        let ledger = SqliteLedger::open(&path, OpenOptions::default()).expect("a ledger");
        fill(&ledger, count);
        drop(ledger);
        let reader = Reader::open(&path).expect("a reader");
        let mut random = SplitMix::new(1);
        for _ in 0..100 {
            let size = 1 + random.below(count);
            check(&reader, random.below(size), size);
            check(&reader, random.below(count), count);
        }
        group.bench_function(format!("inclusion/{name}"), |bencher| {
            timed(bencher, || {
                black_box(reader.inclusion(random.below(count), count).expect("a proof"));
            });
        });
        group.bench_function(format!("inclusion in an older size/{name}"), |bencher| {
            timed(bencher, || {
                let size = 1 + random.below(count);
                black_box(reader.inclusion(random.below(size), size).expect("a proof"));
            });
        });
        group.bench_function(format!("consistency/{name}"), |bencher| {
            timed(bencher, || {
                let old = 1 + random.below(count);
                black_box(reader.consistency(old, count).expect("a proof"));
            });
        });
    }
    group.finish();
}

criterion_group!(benches, prove);
criterion_main!(benches);
