//! The file of a ledger beside what it means: who reads it, who holds it, what it says when it is
//! not what it was, and what is forgotten when.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use weaver_trace_store::verify::{LogProver, LogSource, VerifyError, verify};
use weaver_trace_store::{OpenOptions, Reader, RecordsOptions, SqliteLedger, SqliteRecords};
use weaver_types::ledger::{
    Batch, BlobReference, BlobStore, Durability, Ledger, LedgerError, Namespace, Record, RecordKey,
    RecordStore, RecordWrite,
};
use weaver_types::{ManualClock, Tenant, Timestamp};

use crate::support::{change, event, fill, key, memory, numbered, open};

fn place(folder: &tempfile::TempDir) -> PathBuf {
    folder.path().join("ledger.db")
}

fn put(key: RecordKey, value: &[u8], expires_at: Option<i64>) -> RecordWrite {
    RecordWrite { key, value: value.to_vec(), expires_at: expires_at.map(Timestamp::from_micros) }
}

fn writing(put: Vec<RecordWrite>) -> Batch {
    Batch { put, ..Batch::new(Durability::Os) }
}

#[test]
fn a_reader_lists_the_tenants_and_the_records_of_each() {
    let folder = tempfile::tempdir().unwrap();
    let path = place(&folder);
    let ledger = open(&path);
    let tenant = |name: &str| Tenant::parse(name).unwrap();
    let of = |name: &str, id: &str| RecordKey::new(tenant(name), Namespace::Run, id);
    let reader = Reader::open(&path).unwrap();
    assert!(reader.tenants().unwrap().is_empty());
    let keys = [of("zed", "1"), of("ann", "1"), of("ann", "2"), of("bob", "x"), of("ann", "3")];
    ledger.commit(writing(keys.map(|key| put(key, b"v", None)).to_vec())).wait().unwrap();
    assert_eq!(reader.tenants().unwrap(), ["ann", "bob", "zed"].map(tenant));
    let ids = |name: &str, namespace, after: Option<&str>, limit| -> Vec<String> {
        let page = reader.records(&tenant(name), namespace, after, limit).unwrap();
        page.into_iter().map(|(id, _)| id).collect()
    };
    assert_eq!(ids("ann", Namespace::Run, None, 9), ["1", "2", "3"]);
    assert_eq!(ids("ann", Namespace::Run, None, 2), ["1", "2"]);
    assert_eq!(ids("ann", Namespace::Run, Some("1"), 1), ["2"]);
    assert_eq!(ids("ann", Namespace::Run, Some("3"), 9), [""; 0]);
    assert_eq!(ids("ann", Namespace::Hold, None, 9), [""; 0]);
    assert_eq!(ids("none", Namespace::Run, None, 9), [""; 0]);
    let found = reader.records(&tenant("bob"), Namespace::Run, None, 9).unwrap();
    assert_eq!((found[0].1.version, found[0].1.value.as_slice()), (1, &b"v"[..]));
    assert_eq!(reader.head().unwrap(), ledger.head().unwrap());
}

#[test]
fn a_reader_looks_at_the_events_that_are_there_and_counts_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = place(&folder);
    let ledger = open(&path);
    fill(&ledger, 10);
    drop(ledger);
    let visit = |reader: &Reader, from: u64, limit: usize| {
        let mut seen = Vec::new();
        let count = reader.visit(from, limit, &mut |row| seen.push(row.seq)).unwrap();
        assert_eq!(count, seen.len());
        seen
    };
    let reader = Reader::open(&path).unwrap();
    assert_eq!(visit(&reader, 3, 4), [3, 4, 5, 6]);
    assert_eq!(visit(&reader, 8, 9), [8, 9]);
    assert_eq!(visit(&reader, 10, 9), [0; 0]);
    assert_eq!(visit(&reader, 3, 0), [0; 0]);
    change(&path, "DELETE FROM events WHERE seq IN (3, 4)");
    assert_eq!(visit(&reader, 1, 9), [1, 2], "it ends before a gap");
    assert_eq!(visit(&reader, 3, 4), [5, 6, 7, 8], "and begins after one");
    assert_eq!(reader.rows(3, 2).unwrap()[0].event.seq, 5);
    let events = reader.events(2, 3).unwrap();
    assert_eq!(events.iter().map(|event| event.seq).collect::<Vec<_>>(), [2, 5, 6]);
}

#[test]
fn who_holds_a_ledger_is_told_and_one_without_a_name_is_another_process() {
    let folder = tempfile::tempdir().unwrap();
    let path = place(&folder);
    let lock = folder.path().join("ledger.db.lock");
    for (text, wanted) in [
        ("", "another process"),
        ("  \n", "another process"),
        ("process 7 (x)\n", "process 7 (x)"),
        ("a\tb\n", "a\\tb"),
    ] {
        std::fs::write(&lock, text).unwrap();
        let held = File::options().write(true).read(true).open(&lock).unwrap();
        held.lock().unwrap();
        match SqliteLedger::open(&path, OpenOptions::default()).map(drop) {
            Err(LedgerError::Locked { holder, path: named }) => {
                assert_eq!(holder, wanted);
                assert!(named.ends_with("ledger.db"), "{named}");
            }
            other => panic!("{other:?}"),
        }
    }
    std::fs::write(&lock, "x".repeat(900)).unwrap();
    let held = File::options().write(true).read(true).open(&lock).unwrap();
    held.lock().unwrap();
    match SqliteLedger::open(&path, OpenOptions::default()).map(drop) {
        Err(LedgerError::Locked { holder, .. }) => assert_eq!(holder, "x".repeat(200)),
        other => panic!("{other:?}"),
    }
    assert!(!path.exists(), "nothing was made");
}

#[test]
fn a_name_that_cannot_be_a_ledger_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text");
    std::fs::write(&text, "no database, but long enough to be looked at".repeat(30)).unwrap();
    let under = folder.path().join("none").join("ledger.db");
    for (path, wanted) in [
        (folder.path(), "is a folder; name a file in it"),
        (under.as_path(), "no such folder for the ledger:"),
        (Path::new("/"), "is a folder; name a file in it"),
    ] {
        let opened = SqliteLedger::open(path, OpenOptions::default()).map(drop).unwrap_err();
        assert!(opened.to_string().contains(wanted), "{opened}");
        let opened = SqliteRecords::open(path, RecordsOptions::default()).map(drop).unwrap_err();
        assert!(opened.to_string().contains(wanted), "{opened}");
    }
    // At once, and not as something that passes.
    let options = RecordsOptions { patience: Duration::from_millis(50), ..Default::default() };
    let opened = SqliteRecords::open(&text, options).map(drop);
    assert!(matches!(opened, Err(LedgerError::Damaged(_))), "{opened:?}");
    let records = folder.path().join("records");
    let store = SqliteRecords::open(&records, RecordsOptions::default()).unwrap();
    assert_eq!(store.path(), records.canonicalize().unwrap());
    let ledger = open(&place(&folder));
    assert_eq!(ledger.path(), place(&folder).canonicalize().unwrap());
}

#[test]
#[cfg(unix)]
fn a_file_with_two_names_is_refused_whichever_it_is() {
    for suffix in ["", "-wal", "-shm", ".lock"] {
        let folder = tempfile::tempdir().unwrap();
        let path = place(&folder);
        let ledger = open(&path);
        fill(&ledger, 1);
        let name = folder.path().join(format!("ledger.db{suffix}"));
        std::fs::hard_link(&name, folder.path().join("other")).unwrap();
        let opened = SqliteLedger::open(&path, OpenOptions::default()).map(drop).unwrap_err();
        let said = format!("ledger.db{suffix} has 2 names by hard links");
        assert!(opened.to_string().contains(&said), "{opened}");
        let error = ledger.commit(numbered(1, Durability::Disk)).wait().unwrap_err();
        assert!(error.to_string().contains("names by hard links"), "{error}");
    }
}

#[test]
fn foreign_objects_are_named_up_to_four_and_the_others_are_counted() {
    for (count, wanted) in [
        (1, "`v0`"),
        (4, "`v0`, `v1`, `v2`, `v3`"),
        (5, "`v0`, `v1`, `v2`, `v3` and 1 more"),
        (9, "`v0`, `v1`, `v2`, `v3` and 5 more"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = place(&folder);
        drop(open(&path));
        let views: Vec<String> =
            (0..count).map(|n| format!("CREATE VIEW v{n} AS SELECT 1;")).collect();
        change(&path, &views.concat());
        let found = verify(&Reader::open(&path).unwrap(), None).map(drop);
        assert_eq!(found, Err(VerifyError::Schema { names: wanted.to_owned() }));
    }
}

#[test]
fn a_blob_that_is_removed_leaves_the_sum_of_the_blobs_right() {
    let folder = tempfile::tempdir().unwrap();
    let path = place(&folder);
    let ledger = open(&path);
    let blobs = ledger.blobs();
    let [one, two] = ["one", "two"].map(|text| blobs.put(text.as_bytes()).unwrap());
    blobs.put(b"one").unwrap();
    verify(&ledger, None).unwrap();
    blobs.remove(&one).unwrap();
    verify(&ledger, None).unwrap();
    blobs.remove(&one).unwrap();
    verify(&ledger, None).unwrap();
    assert_eq!(blobs.get(&one), Ok(None));
    assert!(blobs.get(&two).unwrap().is_some());
}

#[test]
fn a_record_that_is_written_again_without_its_blob_names_it_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let path = place(&folder);
    let ledger = open(&path);
    let [kept, gone] = ["kept", "gone"].map(|text| ledger.blobs().put(text.as_bytes()).unwrap());
    for (id, blob) in [("a", kept), ("b", gone)] {
        let blobs = vec![BlobReference { key: key(id), blob }];
        let batch = Batch { blobs, ..writing(vec![put(key(id), b"{}", None)]) };
        ledger.commit(batch).wait().unwrap();
    }
    ledger.commit(writing(vec![put(key("b"), b"[]", None)])).wait().unwrap();
    drop(ledger);
    let ledger = open(&path);
    for _ in 0..2_000 {
        if !ledger.is_sweeping() {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(ledger.blobs().get(&kept).unwrap().is_some());
    assert_eq!(ledger.blobs().get(&gone), Ok(None));
}

/// So many records that expire at 1,000 microseconds.
fn expiring(count: usize) -> Batch {
    writing((0..count).map(|n| put(key(&format!("old{n}")), b"x", Some(1_000))).collect())
}

fn lasting(count: usize) -> Batch {
    writing((0..count).map(|n| put(key(&format!("new{n}")), b"x", None)).collect())
}

/// How many of them are left.
fn left(page: &[(String, Record)]) -> usize {
    page.iter().filter(|(id, _)| id.starts_with("old")).count()
}

#[test]
fn a_commit_forgets_some_of_what_expired_before_its_time() {
    let namespace = key("").namespace;
    let sized = |ledger: &dyn Ledger| {
        left(&ledger.list(&Tenant::default(), namespace, None, 1_000).unwrap())
    };
    let folder = tempfile::tempdir().unwrap();
    let file = open(&place(&folder));
    let memory = memory();
    // 64, and two for each record that is written; the file counts the batch as well.
    let ledgers: [(&dyn Ledger, usize); 2] = [(&memory, 64 + 100), (&file, 64 + 102)];
    for (ledger, forgotten) in ledgers {
        ledger.commit(expiring(400)).wait().unwrap();
        let at = |micros| event(micros, "{}".to_owned());
        ledger.commit(lasting(50).with_event(at(1_000))).wait().unwrap();
        assert_eq!(sized(ledger), 400, "what ends now has not ended");
        ledger.commit(lasting(50).with_event(at(1_001))).wait().unwrap();
        assert_eq!(sized(ledger), 400 - forgotten);
    }
    verify(&file, None).unwrap();
}

#[test]
fn a_store_of_records_forgets_by_its_clock() {
    let namespace = key("").namespace;
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::new(Timestamp::from_micros(1_000)));
    let options = RecordsOptions { clock: Arc::<ManualClock>::clone(&clock), ..Default::default() };
    let store = SqliteRecords::open(folder.path().join("records"), options).unwrap();
    let sized = || left(&store.list(&Tenant::default(), namespace, None, 1_000).unwrap());
    store.apply(expiring(400)).unwrap();
    store.apply(lasting(50)).unwrap();
    assert_eq!(sized(), 400, "what ends now has not ended");
    clock.set(Timestamp::from_micros(1_001));
    store.apply(lasting(50)).unwrap();
    assert_eq!(sized(), 400 - 64 - 100);
}

#[test]
fn a_batch_without_events_has_no_place_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(&place(&folder));
    for durability in [Durability::Os, Durability::Disk] {
        let batch = Batch { durability, ..writing(vec![put(key("a"), b"x", None)]) };
        let receipt = ledger.commit(batch).wait().unwrap();
        assert_eq!((receipt.first_seq, receipt.head.size()), (None, 0));
        let receipt = ledger.commit(Batch::new(durability)).wait().unwrap();
        assert_eq!((receipt.first_seq, receipt.durability), (None, durability));
    }
    let receipt = ledger.commit(numbered(0, Durability::Os)).wait().unwrap();
    assert_eq!((receipt.first_seq, receipt.head.size()), (Some(0), 1));
}

#[test]
fn a_batch_that_is_dropped_unseen_wakes_a_writer_that_sleeps() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(&place(&folder));
    while ledger.is_sweeping() || ledger.is_erasing() {
        std::thread::yield_now();
    }
    // Long enough for the writer to find nothing to do.
    std::thread::sleep(Duration::from_millis(120));
    drop(ledger.commit(numbered(0, Durability::Os)));
    let reader = Reader::open(place(&folder)).unwrap();
    for _ in 0..2_000 {
        if reader.head().unwrap().size == 1 {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("nobody wrote it");
}

#[test]
fn a_proof_from_a_file_that_is_damaged_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = place(&folder);
    let ledger = open(&path);
    for _ in 0..2 {
        let events = vec![event(1, "{}".to_owned()); 300];
        ledger.commit(Batch { events, ..Batch::new(Durability::Os) }).wait().unwrap();
    }
    drop(ledger);
    change(&path, "DELETE FROM tiles WHERE level = 0 AND place = 0");
    let reader = Reader::open(&path).unwrap();
    let error = reader.inclusion(0, 600).unwrap_err();
    assert!(matches!(error, LedgerError::Damaged(_)), "{error}");
    assert!(error.to_string().contains("tile 0 of level 0 is missing or cut"), "{error}");
    let refused = |reader: &Reader| reader.inclusion(600, 600).unwrap_err();
    assert!(refused(&reader).is_refusal(), "{}", refused(&reader));
    assert!(reader.consistency(0, 600).unwrap_err().is_refusal());
    assert!(reader.root(601).unwrap_err().is_refusal());
    assert!(reader.tile(0, 0).unwrap().is_none() && reader.tile(0, 1).unwrap().is_some());
    assert!(reader.keeps_tiles().unwrap());
}

#[test]
fn a_ledger_of_an_older_version_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = place(&folder);
    drop(open(&path));
    change(&path, "PRAGMA user_version = 1");
    let opened = SqliteLedger::open(&path, OpenOptions::default()).map(drop).unwrap_err();
    let reader = Reader::open(&path).map(drop).unwrap_err();
    for error in [opened, reader] {
        let said = error.to_string();
        assert!(said.contains("has format version 1, which no release wrote"), "{said}");
        assert!(said.contains("name another file"), "{said}");
    }
}
