//! A store of every released format is read for ever.

use std::path::PathBuf;
use std::sync::Arc;

use weaver_trace_store::checkpoint::{KeyChange, VerifierKey};
use weaver_trace_store::merkle::{verify_consistency, verify_inclusion};
use weaver_trace_store::prune::{PruneReason, PruningNote};
use weaver_trace_store::verify::{LogProver, verify};
use weaver_trace_store::{OpenOptions, Reader, SqliteLedger};
use weaver_types::ledger::{Batch, BlobStore, Durability, Ledger, NewEvent, Record};
use weaver_types::signature::SigningKey;
use weaver_types::{CallId, EventKind, ManualClock, RunId, SeededRandom, Timestamp};

use crate::support::{event, fill, key, open};

const ROOT: &str = "sha256:f27042f62dabdfbcdf60429e38a40221881ad02c695046761b39edd30e8e437e";
const SIZE: u64 = 600;

fn golden() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/store-v2.weaver"))
}

fn options() -> OpenOptions {
    OpenOptions {
        random: Arc::new(SeededRandom::new(2)),
        clock: Arc::new(ManualClock::new(Timestamp::from_micros(1_000))),
        holder: "golden".to_owned(),
        ..OpenOptions::default()
    }
}

/// Writes the golden store of the present format. Run by hand, once a format; the root of what it
/// writes then goes into `ROOT`. Written again by a later build it has another root, though the same
/// events: salts are drawn ahead, and how many at once has changed since.
/// `cargo test -p weaver-trace-store --all-features -- --ignored write_the_golden_store`.
#[test]
#[ignore = "writes tests/data/store-v2.weaver"]
fn write_the_golden_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let ledger = SqliteLedger::open(&path, options()).unwrap();
    let log = ledger.head().unwrap().log;
    let signer = SigningKey::from_seed([7; 32]);
    let key = VerifierKey::log(&log, signer.public()).unwrap();
    let declared = KeyChange::declare(key, 0).to_payload().unwrap();
    let declared =
        NewEvent { kind: EventKind::LogKey, payload: declared.into(), ..event(1_000, "".into()) };
    ledger.commit(Batch::new(Durability::Disk).with_event(declared)).wait().unwrap();
    for n in 1..SIZE - 1 {
        let mut event = event(1_000 + i64::try_from(n).unwrap(), format!("{{\"n\":{n}}}"));
        event.run = (n % 2 == 0).then(|| RunId::parse("run_1").unwrap());
        event.call = (n % 3 == 0).then(|| CallId::parse("call_\u{e9}").unwrap());
        event.kind = if n % 2 == 0 { EventKind::Outcome } else { EventKind::Refused };
        let level = if n % 50 == 0 { Durability::Disk } else { Durability::Os };
        ledger.commit(Batch::new(level).with_event(event)).wait().unwrap();
    }
    let note =
        PruningNote::new(vec![3, 4, 5, 9], PruneReason::Age, "golden").unwrap().to_bytes().unwrap();
    let note =
        NewEvent { kind: EventKind::Pruned, payload: note.into(), ..event(2_000, "".into()) };
    let pruned = Batch::new(Durability::Disk).with_event(note);
    ledger.commit(Batch { prune: vec![3, 4, 5, 9], ..pruned }).wait().unwrap();
    let record = Batch::new(Durability::Disk).create(
        crate::support::key("kept"),
        b"{\"v\":1}".to_vec(),
        None,
    );
    ledger.commit(record).wait().unwrap();
    ledger.blobs().put(b"a golden blob").unwrap();
    println!("root {}", ledger.head().unwrap().root);
    drop(ledger);
    std::fs::copy(path, golden()).unwrap();
}

#[test]
fn the_store_of_format_2_is_read_verified_proven_and_continued() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    std::fs::copy(golden(), &path).unwrap();
    let reader = Reader::open(&path).unwrap();
    let head = reader.head().unwrap();
    assert_eq!((head.size, head.root.to_string().as_str()), (SIZE, ROOT));
    let report = verify(&reader, Some(&head)).unwrap();
    assert_eq!(report.pruned, 4);
    proves(&reader);
    drop(reader);
    let ledger = open(&path);
    let kept = Record { version: 1, value: b"{\"v\":1}".to_vec() };
    assert_eq!(ledger.read(&key("kept")).unwrap(), Some(kept));
    fill(&ledger, 300);
    assert_eq!(verify(&ledger, Some(&head)).unwrap().head.size, SIZE + 300);
    proves(&ledger);
}

/// Every event is proven, and so is every size before.
fn proves(log: &dyn LogProver) {
    let head = log.extent().unwrap().head;
    let root = *head.root.as_bytes();
    for seq in 0..head.size {
        let leaf = *log.rows(seq, 1).unwrap()[0].leaf.as_bytes();
        let path = log.inclusion(seq, head.size).unwrap();
        assert!(verify_inclusion(&leaf, seq, head.size, &path, &root), "event {seq}");
        let path = log.consistency(seq + 1, head.size).unwrap();
        let old = log.root(seq + 1).unwrap();
        assert!(verify_consistency(seq + 1, head.size, &path, &old, &root), "size {seq} + 1");
    }
}
