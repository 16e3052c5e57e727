//! Blobs that no record names are swept, and no other ones. This test binary runs itself as the
//! child.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::time::Duration;

use weaver_trace_store::SqliteLedger;
use weaver_types::Timestamp;
use weaver_types::ledger::{
    Batch, BlobId, BlobReference, BlobStore, Durability, Ledger, LedgerError,
};

use crate::support::{self, event, key, open};

const PLACE: &str = "WEAVER_TEST_LITTER_LEDGER";

/// A batch whose record names a blob.
fn naming(id: &str, blob: BlobId) -> Batch {
    let blobs = vec![BlobReference { key: key(id), blob }];
    Batch { blobs, ..Batch::new(Durability::Os).create(key(id), b"{}".to_vec(), None) }
}

fn commit(ledger: &SqliteLedger, batch: Batch) {
    ledger.commit(batch).wait().unwrap();
}

fn swept(ledger: &SqliteLedger) {
    for _ in 0..2_000 {
        if !ledger.is_sweeping() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("the sweep does not end");
}

fn has(ledger: &SqliteLedger, blob: BlobId) -> bool {
    ledger.blobs().get(&blob).unwrap().is_some()
}

#[test]
fn an_unnamed_blob_goes_with_the_next_opening_and_a_named_one_with_its_record() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let ledger = open(&path);
    assert!(!ledger.is_sweeping());
    let blobs = ledger.blobs();
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|text| blobs.put(text.as_bytes()).unwrap());
    commit(&ledger, naming("a", a));
    commit(&ledger, naming("b", b));
    commit(&ledger, naming("b2", b));
    drop((ledger, blobs));

    let ledger = open(&path);
    swept(&ledger);
    assert_eq!([a, b, c, d].map(|blob| has(&ledger, blob)), [true, true, false, false]);
    // Two records name b: it stays with either.
    commit(&ledger, Batch { delete: vec![key("b"), key("a")], ..Batch::new(Durability::Os) });
    drop(ledger);
    let ledger = open(&path);
    swept(&ledger);
    assert_eq!([a, b].map(|blob| has(&ledger, blob)), [false, true]);
    drop(ledger);
    // Nothing is left of what went, in the file or beside it.
    assert!(!std::fs::read(&path).unwrap().windows(32).any(|part| part == c.0.as_bytes()));
}

#[test]
fn a_record_written_again_or_expired_names_nothing_more() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let ledger = open(&path);
    let [old, new, dying] =
        ["old", "new", "dying"].map(|text| ledger.blobs().put(text.as_bytes()).unwrap());
    commit(&ledger, naming("r", old));
    let mut again = naming("r", new);
    again.replace[0].version = Some(1);
    commit(&ledger, again);
    let mut expiring = naming("e", dying);
    expiring.replace[0].put.expires_at = Some(Timestamp::from_micros(5));
    commit(&ledger, expiring);
    commit(&ledger, Batch::new(Durability::Os).with_event(event(1_000, "{}".to_owned())));
    drop(ledger);
    let ledger = open(&path);
    swept(&ledger);
    assert_eq!([old, new, dying].map(|blob| has(&ledger, blob)), [false, true, false]);
}

#[test]
fn what_is_about_to_be_named_is_never_swept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let ledger = open(&path);
    let before: Vec<BlobId> =
        (0..300).map(|n| ledger.blobs().put(format!("blob {n}").as_bytes()).unwrap()).collect();
    drop(ledger);
    // The same bytes are stored again while the sweep runs, and named a good while later.
    let ledger = open(&path);
    let again: Vec<BlobId> = (0..300)
        .rev()
        .step_by(7)
        .map(|n| ledger.blobs().put(format!("blob {n}").as_bytes()).unwrap())
        .collect();
    swept(&ledger);
    std::thread::sleep(Duration::from_millis(200));
    for (n, blob) in again.iter().enumerate() {
        commit(&ledger, naming(&format!("r{n}"), *blob));
    }
    drop(ledger);
    let ledger = open(&path);
    swept(&ledger);
    for blob in before {
        assert_eq!(has(&ledger, blob), again.contains(&blob));
    }
}

#[test]
fn a_use_without_its_record_is_refused_and_a_refused_batch_names_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let ledger = open(&path);
    let blob = ledger.blobs().put(b"x").unwrap();
    let alone = Batch { replace: Vec::new(), ..naming("r", blob) };
    let gone = Batch { delete: vec![key("r")], ..naming("r", blob) };
    for bad in [alone, gone] {
        assert!(matches!(ledger.commit(bad).wait(), Err(LedgerError::Malformed(_))));
    }
    commit(&ledger, Batch::new(Durability::Os).create(key("r"), b"{}".to_vec(), None));
    assert!(matches!(ledger.commit(naming("r", blob)).wait(), Err(LedgerError::Conflict { .. })));
    drop(ledger);
    let ledger = open(&path);
    swept(&ledger);
    assert!(!has(&ledger, blob));
}

/// What the child does: stores results for ever, and says when their records are committed. Some
/// it leaves without a record, as a caller does whose batch was refused.
#[test]
fn child() {
    let Ok(path) = std::env::var(PLACE) else { return };
    let ledger = open(Path::new(&path));
    let start = ledger.head().unwrap().size;
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            let ledger = &ledger;
            scope.spawn(move || {
                for n in 0_u64.. {
                    let text = format!("{start} {thread} {n} {}", "x".repeat(5_000));
                    let blob = ledger.blobs().put(text.as_bytes()).unwrap();
                    if n % 3 == 0 {
                        continue;
                    }
                    let id = format!("{start}-{thread}-{n}");
                    let told = event(1_000, "{}".to_owned());
                    commit(ledger, naming(&id, blob).with_event(told));
                    let mut out = std::io::stdout().lock();
                    out.write_all(format!("\n@ {blob}\n").as_bytes()).unwrap();
                    out.flush().unwrap();
                }
            });
        }
    });
}

#[test]
fn after_kills_every_named_blob_is_there_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let mut named = BTreeSet::new();
    for round in 1..=8 {
        let mut child = support::child("orphaned_blobs::child", PLACE, &path);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut told = || {
            lines.by_ref().map_while(Result::ok).find_map(|line| {
                line.strip_prefix("@ ").filter(|id| id.len() == 71).map(str::to_owned)
            })
        };
        for _ in 0..round * 15 {
            named.extend(told());
        }
        child.kill().unwrap();
        child.wait().unwrap();
        while let Some(id) = told() {
            named.insert(id);
        }
    }
    let ledger = open(&path);
    swept(&ledger);
    let db = rusqlite::Connection::open(&path).unwrap();
    let count = |sql: &str| -> i64 { db.query_row(sql, [], |row| row.get(0)).unwrap() };
    for id in &named {
        assert!(has(&ledger, BlobId(id.parse().unwrap())), "{id} was named and is gone");
    }
    assert_eq!(
        count("SELECT count(*) FROM blobs WHERE id NOT IN (SELECT blob FROM blob_names)"),
        0,
        "orphaned blobs are left"
    );
    let blobs = count("SELECT count(*) FROM blobs");
    assert_eq!(blobs, count("SELECT count(*) FROM records"), "a named blob is gone");
    assert_eq!(blobs, count("SELECT count(*) FROM blob_written"));
    assert!(blobs >= i64::try_from(named.len()).unwrap());
}
