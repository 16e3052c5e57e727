//! A store of every released format is read for ever.

use std::path::PathBuf;
use std::sync::Arc;

use weaver_trace_store::verify::verify;
use weaver_trace_store::{OpenOptions, Reader, SqliteLedger};
use weaver_types::ledger::{Batch, BlobStore, Durability, Ledger, Record};
use weaver_types::{CallId, ManualClock, RunId, SeededRandom, Timestamp};

use crate::support::{event, fill, key, open};

const ROOT: &str = "sha256:6728a468360c3266de6d0514586a3a8a80aa479a87b4db60e90bfe1f37e7d1e4";
const BLOB: &str = "sha256:dc75568fc2706566cabed41e9081d154be1a36b47c02881ea7c99efd61a58db6";
const SIZE: u64 = 21;

fn golden() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/store-v1.weaver"))
}

/// Writes the golden store of the present format. Run by hand, once a format:
/// `cargo test -p weaver-trace-store --all-features -- --ignored write_the_golden_store`.
#[test]
#[ignore = "writes tests/data/store-v1.weaver"]
fn write_the_golden_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let options = OpenOptions {
        random: Arc::new(SeededRandom::new(1)),
        clock: Arc::new(ManualClock::new(Timestamp::from_micros(1_000))),
        holder: "golden".to_owned(),
    };
    let ledger = SqliteLedger::open(&path, options).unwrap();
    for n in 0..SIZE {
        let mut event = event(1_000 + i64::try_from(n).unwrap(), format!("{{\"n\":{n}}}"));
        event.run = (n % 2 == 0).then(|| RunId::parse("run_1").unwrap());
        event.call = (n % 3 == 0).then(|| CallId::parse("call_\u{e9}").unwrap());
        let level = if n % 5 == 0 { Durability::Disk } else { Durability::Os };
        ledger.commit(Batch::new(level).with_event(event)).wait().unwrap();
    }
    let record = Batch::new(Durability::Disk).create(key("kept"), b"{\"v\":1}".to_vec(), None);
    ledger.commit(record).wait().unwrap();
    ledger.blobs().put(b"a golden blob").unwrap();
    println!("root {}", ledger.head().unwrap().root);
    drop(ledger);
    std::fs::copy(path, golden()).unwrap();
}

#[test]
fn the_store_of_format_1_is_read_verified_and_continued() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    std::fs::copy(golden(), &path).unwrap();
    let reader = Reader::open(&path).unwrap();
    let head = reader.head().unwrap();
    assert_eq!((head.size, head.root.to_string().as_str()), (SIZE, ROOT));
    let report = verify(&reader, Some(&head)).unwrap();
    assert_eq!(report.synced, 5);
    drop(reader);

    let ledger = open(&path);
    let kept = Record { version: 1, value: b"{\"v\":1}".to_vec() };
    assert_eq!(ledger.read(&key("kept")).unwrap(), Some(kept));
    let blobs = ledger.blobs();
    let id = blobs.put(b"a golden blob").unwrap();
    assert_eq!(id.to_string(), BLOB);
    assert_eq!(blobs.get(&id).unwrap().unwrap(), b"a golden blob");
    fill(&ledger, 4);
    assert_eq!(verify(&ledger, Some(&head)).unwrap().head.size, SIZE + 4);
}
