//! A file that somebody changed with SQLite itself.

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use weaver_trace_store::verify::{EventFault, VerifyError, verify};
use weaver_trace_store::{OpenOptions, Reader, SqliteLedger};
use weaver_types::Timestamp;
use weaver_types::ledger::{Batch, Durability, Ledger, LedgerError, TreeHead};

use crate::support::{change, fill, key, numbered, open};

/// A store of ten events, its head after six, and a way to change it.
fn store(folder: &Path) -> (PathBuf, TreeHead) {
    let path = folder.join("ledger.db");
    let ledger = open(&path);
    fill(&ledger, 6);
    let head = ledger.head().unwrap();
    fill(&ledger, 4);
    (path, head)
}

fn verdict(path: &Path, head: Option<&TreeHead>) -> Result<(), VerifyError> {
    verify(&Reader::open(path).unwrap(), head).map(drop)
}

fn event(seq: u64, fault: EventFault) -> Result<(), VerifyError> {
    Err(VerifyError::Event { seq, fault })
}

#[test]
fn the_first_bad_event_is_named() {
    let salt = "UPDATE events SET salt = zeroblob(16) WHERE seq = 3";
    let payload = "UPDATE events SET payload = CAST('{\"n\":9}' AS BLOB) WHERE seq = 3";
    let emptied = "UPDATE events SET payload = NULL, salt = NULL WHERE seq = 3";
    let header = "UPDATE events SET header =
        CAST(replace(CAST(header AS TEXT), '\"at\":1000', '\"at\":1001') AS BLOB) WHERE seq = 3";
    let gone = "DELETE FROM events WHERE seq = 3";
    let swap = "UPDATE events SET seq = -1 WHERE seq = 3; UPDATE events SET seq = 3 WHERE seq = 6;
        UPDATE events SET seq = 6 WHERE seq = -1";
    let cut = "DELETE FROM events WHERE seq > 7";
    let moved = "UPDATE events SET seq = 12 WHERE seq = 9";
    let before = "INSERT INTO events SELECT -1, header, leaf, salt, payload, durability
        FROM events WHERE seq = 0";
    let twice = "INSERT INTO events SELECT 10, header, leaf, salt, payload, durability
        FROM events WHERE seq = 9";
    for (sql, want) in [
        (salt, event(3, EventFault::Commitment)),
        (payload, event(3, EventFault::Commitment)),
        (emptied, event(3, EventFault::Gone)),
        (header, event(3, EventFault::Leaf)),
        (gone, event(3, EventFault::Missing)),
        (swap, event(3, EventFault::Misplaced { seq: 6 })),
        (cut, event(8, EventFault::Missing)),
        (moved, event(9, EventFault::Missing)),
        (twice, event(10, EventFault::Extra)),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (path, head) = store(folder.path());
        assert_eq!(verdict(&path, Some(&head)), Ok(()));
        change(&path, sql);
        assert_eq!(verdict(&path, None), want, "{sql}");
        assert_eq!(verdict(&path, Some(&head)), want, "{sql}");
    }
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = store(folder.path());
    change(&path, before);
    assert!(matches!(verdict(&path, None), Err(VerifyError::Read(LedgerError::Damaged(_)))));
}

/// A reader looks each event up by its number, where a page of SQLite names the greatest number
/// below it. If that page lies, an event is in the table, but its number does not lead to it.
#[test]
fn an_event_to_which_its_number_does_not_lead_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let ledger = open(&path);
    fill(&ledger, 400);
    drop(ledger);
    assert_eq!(verdict(&path, None), Ok(()));
    let db = Connection::open(&path).unwrap();
    let root: u32 = db
        .query_row("SELECT rootpage FROM sqlite_schema WHERE name = 'events'", [], |row| row.get(0))
        .unwrap();
    drop(db);
    let mut bytes = std::fs::read(&path).unwrap();
    let short =
        |bytes: &[u8], at: usize| usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
    let page = (root as usize - 1) * short(&bytes, 16);
    assert_eq!(bytes[page], 5, "an interior page of a table");
    // The first cell: a page number of four bytes, and a key, which is one byte if it is below 128.
    let key = page + short(&bytes, page + 12) + 4;
    let greatest = bytes[key];
    assert!(greatest < 127, "{greatest}");
    bytes[key] += 1;
    std::fs::write(&path, bytes).unwrap();
    let lost = u64::from(greatest) + 1;
    match verdict(&path, None) {
        Err(VerifyError::Read(LedgerError::Damaged(text))) => {
            let said = format!("event {lost} is there, but is not found by its number");
            assert!(text.contains(&said), "{text}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_cut_tail_with_a_head_made_to_fit_needs_an_earlier_head() {
    let folder = tempfile::tempdir().unwrap();
    let (path, early) = store(folder.path());
    let snapshot = folder.path().join("older.db");
    change(&path, &format!("VACUUM INTO '{}'", snapshot.display()));
    let ledger = open(&path);
    fill(&ledger, 3);
    let late = ledger.head().unwrap();
    assert_eq!(verdict(&path, Some(&late)), Ok(()));
    // The older snapshot is a log cut at ten events whose head fits.
    assert_eq!(verdict(&snapshot, None), Ok(()));
    assert_eq!(verdict(&snapshot, Some(&early)), Ok(()));
    let truncated = VerifyError::Truncated { earlier: 13, stored: 10 };
    assert_eq!(verdict(&snapshot, Some(&late)), Err(truncated));
    // Going on from the snapshot makes another history.
    fill(&open(&snapshot), 5);
    assert_eq!(verdict(&snapshot, None), Ok(()));
    assert_eq!(verdict(&snapshot, Some(&late)), Err(VerifyError::Forked { size: 13 }));
}

#[test]
fn a_bad_end_keeps_the_ledger_from_opening() {
    let size = "UPDATE meta SET size = 9";
    let root = "UPDATE meta SET root = zeroblob(32)";
    for sql in [
        "DELETE FROM events WHERE seq = 9",
        "DELETE FROM events",
        "UPDATE events SET header = CAST('{}' AS BLOB) WHERE seq = 9",
        "UPDATE events SET leaf = zeroblob(32) WHERE seq = 9",
        "UPDATE meta SET frontier = zeroblob(64)",
        "UPDATE meta SET frontier = zeroblob(63)",
        "UPDATE meta SET highest = 1001",
        "UPDATE meta SET highest = 999",
        "UPDATE meta SET log = ''",
        "UPDATE meta SET blob_key = zeroblob(31)",
        "DELETE FROM meta",
        "PRAGMA user_version = 0",
        size,
        root,
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (path, _) = store(folder.path());
        change(&path, sql);
        match SqliteLedger::open(&path, OpenOptions::default()).map(drop) {
            Err(LedgerError::Damaged(text)) => {
                assert!(text.contains("trace verify"), "{text}");
                let cut = sql.starts_with("DELETE FROM events");
                assert!(!cut || text.contains("the head counts 10 events"), "{text}");
            }
            other => panic!("{sql}: {other:?}"),
        }
    }
}

#[test]
fn the_time_of_the_log_is_that_of_its_last_event() {
    let folder = tempfile::tempdir().unwrap();
    let (path, head) = store(folder.path());
    for at in [1_001, 999, 0] {
        change(&path, &format!("UPDATE meta SET highest = {at}"));
        let stored = Timestamp::from_micros(at);
        let want = VerifyError::Highest { stored, last: Timestamp::from_micros(1_000) };
        assert_eq!(verdict(&path, None), Err(want.clone()));
        assert_eq!(verdict(&path, Some(&head)), Err(want));
    }
    change(&path, "UPDATE meta SET highest = 1000");
    assert_eq!(verdict(&path, Some(&head)), Ok(()));
    // What is dated earlier takes the time of the log, which a commit without events leaves alone.
    let ledger = open(&path);
    for batch in [
        Batch::new(Durability::Os).with_event(crate::support::event(5, "{}".to_owned())),
        Batch::new(Durability::Os).create(key("one"), b"{}".to_vec(), None),
    ] {
        ledger.commit(batch).wait().unwrap();
    }
    drop(ledger);
    assert_eq!(verdict(&path, Some(&head)), Ok(()));
    drop(open(&path));

    let empty = folder.path().join("empty.db");
    drop(open(&empty));
    drop(open(&empty));
    assert_eq!(verdict(&empty, None), Ok(()));
    change(&empty, "UPDATE meta SET highest = 1");
    assert!(matches!(verdict(&empty, None), Err(VerifyError::Highest { .. })));
    let opened = SqliteLedger::open(&empty, OpenOptions::default()).map(drop);
    assert!(matches!(opened, Err(LedgerError::Damaged(_))), "{opened:?}");
}

#[test]
fn how_far_an_event_was_synced_is_not_proven() {
    let folder = tempfile::tempdir().unwrap();
    let (path, head) = store(folder.path());
    change(&path, "UPDATE events SET durability = 1");
    let found = verdict(&path, Some(&head));
    assert_eq!(found, Err(VerifyError::Synced { counted: 0, found: 10 }));
    // Whoever can write the file can correct the count.
    change(&path, "UPDATE meta SET synced = 10");
    let report = verify(&Reader::open(&path).unwrap(), Some(&head)).unwrap();
    assert_eq!(report.synced, 10);
    let text = report.not_proven().join("; ");
    assert!(text.contains("that 10 events were synced to disk"), "{text}");
}

/// The sums beside the log find what is damaged, and what somebody changes who does not know them.
#[test]
fn a_record_or_a_blob_that_was_changed_beside_the_ledger_is_found() {
    use weaver_trace_store::verify::SideTable;
    use weaver_types::ledger::BlobStore;

    for (sql, part) in [
        ("UPDATE records SET value = CAST('{\"v\":2}' AS BLOB)", SideTable::Records),
        ("UPDATE records SET version = version + 1", SideTable::Records),
        ("UPDATE records SET expires_at = expires_at - 1", SideTable::Records),
        ("UPDATE records SET id = 'other'", SideTable::Records),
        ("DELETE FROM records", SideTable::Records),
        (
            "INSERT INTO records VALUES ('local', 'token.use', 'more', 1, x'', NULL)",
            SideTable::Records,
        ),
        ("DELETE FROM blobs", SideTable::Blobs),
        ("UPDATE blobs SET id = zeroblob(32)", SideTable::Blobs),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (path, head) = store(folder.path());
        let ledger = open(&path);
        let at = Some(Timestamp::from_micros(5_000));
        let record = Batch::new(Durability::Os).create(key("a"), b"{}".to_vec(), at);
        ledger.commit(record).wait().unwrap();
        let kept = ledger.blobs().put(b"kept").unwrap();
        let gone = ledger.blobs().put(b"gone").unwrap();
        ledger.blobs().put(b"kept").unwrap();
        ledger.blobs().remove(&gone).unwrap();
        ledger.blobs().remove(&gone).unwrap();
        assert!(ledger.blobs().get(&kept).unwrap().is_some());
        drop(ledger);
        assert_eq!(verdict(&path, Some(&head)), Ok(()));
        change(&path, sql);
        assert_eq!(verdict(&path, Some(&head)), Err(VerifyError::Astray { part }), "{sql}");
        // It stays found after the ledger was used again.
        fill(&open(&path), 1);
        assert_eq!(verdict(&path, None), Err(VerifyError::Astray { part }), "{sql}");
    }
}

/// A record is read once for all that one batch asks of it; the next batch sees what this one wrote.
#[test]
fn guards_counters_writes_and_removals_leave_the_sum_right() {
    use weaver_types::ledger::{CounterChange, RecordWrite, VersionGuard};

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let ledger = open(&path);
    let tickets: Vec<_> = (0..60_u64)
        .map(|n| {
            let put =
                |id: &str| RecordWrite { key: key(id), value: vec![b'x'; 9], expires_at: None };
            let count = |id: &str| CounterChange { key: key(id), delta: 1, min: 0, max: 99 };
            let guard = VersionGuard { key: key("guarded"), version: (n > 0).then_some(n) };
            let gone = [format!("removed-{}", n % 2), format!("unseen-{}", n % 3)];
            ledger.commit(Batch {
                expect: vec![guard],
                add: vec![count("counted"), count("both")],
                put: vec![
                    put("guarded"),
                    put("removed-0"),
                    put(&format!("unseen-{}", (n + 1) % 3)),
                ],
                delete: [gone.map(|id| key(&id)).to_vec(), vec![key("both")]].concat(),
                ..Batch::new(Durability::Os)
            })
        })
        .collect();
    for ticket in tickets {
        ticket.wait().unwrap();
    }
    assert_eq!(ledger.read(&key("counted")).unwrap().unwrap().value, b"60");
    assert_eq!(ledger.read(&key("guarded")).unwrap().unwrap().version, 60);
    assert_eq!(verify(&ledger, None).map(drop), Ok(()));
}

#[test]
fn what_expires_leaves_the_sum_of_the_records() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let ledger = open(&path);
    for n in 0..40_i64 {
        let at = Timestamp::from_micros(1_000 + n);
        let event = crate::support::event(1_000 + n, "{}".to_owned());
        let batch = Batch::new(Durability::Os).with_event(event);
        let batch = batch.create(key(&format!("short-{n}")), b"{}".to_vec(), Some(at));
        ledger.commit(batch).wait().unwrap();
    }
    let left = ledger.list(&weaver_types::Tenant::default(), key("").namespace, None, 100).unwrap();
    assert!(left.len() < 10, "{left:?}");
    assert!(verify(&ledger, None).is_ok());
}

#[test]
fn what_is_newer_or_no_ledger_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = store(folder.path());
    change(&path, "PRAGMA user_version = 3");
    let newer = LedgerError::Newer { what: "the ledger".to_owned(), found: 3, known: 2 };
    let opened = SqliteLedger::open(&path, OpenOptions::default()).map(drop);
    assert_eq!(opened, Err(newer.clone()));
    assert_eq!(Reader::open(&path).map(drop), Err(newer));

    let other = folder.path().join("other.db");
    change(&other, "CREATE TABLE mine (x); INSERT INTO mine VALUES (1)");
    let opened = SqliteLedger::open(&other, OpenOptions::default()).map(drop);
    assert!(matches!(opened, Err(LedgerError::Damaged(_))), "{opened:?}");
    let text = folder.path().join("text.db");
    std::fs::write(&text, "no database at all, but long enough to be taken for one".repeat(9))
        .unwrap();
    let opened = SqliteLedger::open(&text, OpenOptions::default()).map(drop);
    assert!(matches!(opened, Err(LedgerError::Damaged(_))), "{opened:?}");
    let read = Reader::open(&text).map(drop);
    assert!(matches!(read, Err(LedgerError::Damaged(_))), "{read:?}");
    assert!(Reader::open(folder.path().join("none.db")).is_err());
    assert!(!folder.path().join("none.db").exists());
}

#[test]
fn a_changed_blob_is_not_given_out() {
    use weaver_types::ledger::BlobStore;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let ledger = open(&path);
    let blobs = ledger.blobs();
    let id = blobs.put(b"what was seen").unwrap();
    ledger.commit(numbered(1, Durability::Disk)).wait().unwrap();
    change(&path, "UPDATE blobs SET bytes = CAST('something else' AS BLOB)");
    assert!(matches!(blobs.get(&id), Err(LedgerError::Damaged(_))));
}
