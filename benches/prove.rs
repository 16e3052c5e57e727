//! Proofs from a ledger's stored tiles: how long one takes, in logs of 10^3 and 10^6 events.
//!
//! An inclusion proof in a log of 10^6 events is meant to take less than 100 µs. Of each size, the
//! proofs are of a thousand places in the whole log, and of sizes before the last one too.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use weaver_benches::records::SplitMix;
use weaver_trace_store::verify::Prove;
use weaver_trace_store::{OpenOptions, Reader, SqliteLedger};
use weaver_types::ledger::{Batch, Durability, Ledger, MAX_BATCH_EVENTS, NewEvent};
use weaver_types::{EventKind, Timestamp};

fn event(n: u64) -> NewEvent {
    NewEvent {
        kind: EventKind::Outcome,
        at: Timestamp::from_micros(1_700_000_000_000_000),
        run: None,
        call: None,
        payload: format!("{{\"n\":{n},\"text\":\"{}\"}}", "x".repeat(400)).into_bytes(),
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

fn prove(criterion: &mut Criterion) {
    // Without `--bench` nothing is measured, and a small log will do.
    let earnest = std::env::args().any(|argument| argument == "--bench");
    let mut group = criterion.benchmark_group("prove");
    for (name, count) in [("10^3", 1_000), ("10^6", if earnest { 1_000_000 } else { 3_000 })] {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("ledger");
        let ledger = SqliteLedger::open(&path, OpenOptions::default()).expect("a ledger");
        // Not a multiple of 256: the last events have no tile yet.
        fill(&ledger, count + 200);
        drop(ledger);
        let reader = Reader::open(&path).expect("a reader");
        let size = count + 200;
        let mut random = SplitMix::new(1);
        group.bench_function(format!("inclusion/{name}"), |bencher| {
            bencher
                .iter(|| black_box(reader.inclusion(random.below(size), size).expect("a proof")));
        });
        group.bench_function(format!("inclusion in an older size/{name}"), |bencher| {
            bencher.iter(|| {
                let size = 1 + random.below(size);
                black_box(reader.inclusion(random.below(size), size).expect("a proof"))
            });
        });
        group.bench_function(format!("consistency/{name}"), |bencher| {
            bencher.iter(|| {
                let old = 1 + random.below(size);
                black_box(reader.consistency(old, size).expect("a proof"))
            });
        });
    }
    group.finish();
}

criterion_group!(benches, prove);
criterion_main!(benches);
