//! What ends a ledger: every failure that it meets, and files that are no longer its own. And what
//! does not: a reader that stays.

use std::path::Path;

use weaver_trace_store::merkle::Frontier;
use weaver_trace_store::verify::verify;
use weaver_trace_store::{OpenOptions, Reader, SqliteLedger};
use weaver_types::ledger::{Batch, BlobStore, Durability, Ledger, LedgerError};

use crate::support::{fill, key, numbered, open};

const FILES: [&str; 4] = ["ledger.db", "ledger.db-wal", "ledger.db-shm", "ledger.db.lock"];

/// Nothing is taken any more: no batch, no barrier, no blob, each with the first error.
fn closed(ledger: &SqliteLedger, first: &LedgerError) {
    for batch in [
        numbered(1, Durability::Disk),
        numbered(2, Durability::Os),
        Batch::new(Durability::Disk),
        Batch::new(Durability::Os).create(key("a"), b"x".to_vec(), None),
    ] {
        assert_eq!(ledger.commit(batch).wait().as_ref(), Err(first));
    }
    assert_eq!(ledger.blobs().put(b"later").as_ref(), Err(first));
}

/// Does `harm` to an open ledger of three events, and gives the error of the next commit.
fn harmed(folder: &Path, harm: impl FnOnce(&Path)) -> (SqliteLedger, LedgerError) {
    let ledger = open(&folder.join("ledger.db"));
    fill(&ledger, 3);
    harm(folder);
    let (head, synced) = (ledger.head().unwrap(), ledger.synced_head().unwrap());
    let error = ledger.commit(numbered(9, Durability::Disk)).wait().unwrap_err();
    assert_eq!((ledger.head().unwrap(), ledger.synced_head().unwrap()), (head, synced));
    closed(&ledger, &error);
    (ledger, error)
}

#[cfg(unix)]
#[test]
fn nothing_is_acknowledged_into_a_file_that_was_removed() {
    for name in FILES {
        let folder = tempfile::tempdir().unwrap();
        let remove = |folder: &Path| std::fs::remove_file(folder.join(name)).unwrap();
        let (ledger, error) = harmed(folder.path(), remove);
        assert!(matches!(error, LedgerError::Failed(_)), "{name}: {error:?}");
        assert!(error.to_string().contains(name), "{error}");
        drop(ledger);
    }
}

#[cfg(unix)]
#[test]
fn nothing_is_acknowledged_into_a_file_that_was_replaced() {
    for name in FILES {
        let folder = tempfile::tempdir().unwrap();
        let (_ledger, error) = harmed(folder.path(), |folder| {
            let (file, copy) = (folder.join(name), folder.join("copy"));
            std::fs::copy(&file, &copy).unwrap();
            std::fs::rename(&copy, &file).unwrap();
        });
        assert!(error.to_string().contains("removed or replaced"), "{name}: {error}");
    }
}

#[cfg(unix)]
#[test]
fn a_removed_file_is_noticed_within_a_moment_by_commits_that_are_not_synced() {
    for name in FILES {
        let folder = tempfile::tempdir().unwrap();
        let ledger = open(&folder.path().join("ledger.db"));
        fill(&ledger, 3);
        std::fs::remove_file(folder.path().join(name)).unwrap();
        // By time, however many there are, and by bytes, however fast they come.
        let begun = std::time::Instant::now();
        let error = (0..).find_map(|n| ledger.commit(numbered(n, Durability::Os)).wait().err());
        let error = error.unwrap();
        assert!(begun.elapsed() < std::time::Duration::from_secs(20), "{name}");
        assert!(error.to_string().contains(name), "{error}");
        closed(&ledger, &error);
    }
}

#[cfg(unix)]
#[test]
fn a_lock_that_was_removed_ends_the_first_writer_when_a_second_comes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let first = open(&path);
    fill(&first, 3);
    std::fs::remove_file(folder.path().join("ledger.db.lock")).unwrap();
    let second = open(&path);
    fill(&second, 2);
    let error = first.commit(numbered(9, Durability::Disk)).wait().unwrap_err();
    assert!(!error.is_refusal(), "{error}");
    closed(&first, &error);
    fill(&second, 1);
    assert_eq!(verify(&second, None).unwrap().head.size, 6);
}

#[test]
fn a_head_that_somebody_else_wrote_ends_the_ledger() {
    let folder = tempfile::tempdir().unwrap();
    let (ledger, error) = harmed(folder.path(), |folder| {
        let other = rusqlite::Connection::open(folder.join("ledger.db")).unwrap();
        other.execute("UPDATE meta SET size = 2", []).unwrap();
    });
    assert!(matches!(error, LedgerError::Damaged(_)), "{error:?}");
    drop(ledger);
    let again = SqliteLedger::open(folder.path().join("ledger.db"), OpenOptions::default());
    assert!(matches!(again.map(drop), Err(LedgerError::Damaged(_))));
}

#[test]
fn an_event_that_somebody_else_wrote_ends_the_ledger() {
    let folder = tempfile::tempdir().unwrap();
    let (_ledger, error) = harmed(folder.path(), |folder| {
        let other = rusqlite::Connection::open(folder.join("ledger.db")).unwrap();
        other
            .execute(
                "INSERT INTO events SELECT 3, header, leaf, salt, payload, 1 FROM events LIMIT 1",
                [],
            )
            .unwrap();
    });
    assert!(matches!(error, LedgerError::Damaged(_)), "{error:?}");
}

/// The shorter log is consistent in itself and ends at the same time. Only this process knows that
/// there was more.
#[test]
fn a_log_that_somebody_else_cut_ends_the_ledger() {
    let cut = |folder: &Path| {
        let other = rusqlite::Connection::open(folder.join("ledger.db")).unwrap();
        let mut frontier = Frontier::default();
        for seq in 0..2 {
            let leaf = "SELECT leaf FROM events WHERE seq = ?1";
            frontier.push(other.query_row(leaf, [seq], |row| row.get(0)).unwrap());
        }
        let head = "UPDATE meta SET size = 2, root = ?1, frontier = ?2";
        other.execute("DELETE FROM events WHERE seq = 2", []).unwrap();
        other.execute(head, (frontier.root(), frontier.to_bytes())).unwrap();
    };
    let folder = tempfile::tempdir().unwrap();
    let (_ledger, error) = harmed(folder.path(), cut);
    assert!(error.to_string().contains("the log ends after 2 events"), "{error}");
    // A commit that is not synced is begun on the caller's thread, and finds it too.
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(&folder.path().join("ledger.db"));
    fill(&ledger, 3);
    cut(folder.path());
    let error = ledger.commit(numbered(9, Durability::Os)).wait().unwrap_err();
    assert!(error.to_string().contains("the log ends after 2 events"), "{error}");
    closed(&ledger, &error);
}

#[test]
fn a_blob_that_cannot_be_written_ends_the_ledger() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let ledger = open(&path);
    fill(&ledger, 3);
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("INSERT INTO blobs VALUES (randomblob(32), x'00')").unwrap();
    let error = ledger.blobs().put(b"a large result").unwrap_err();
    closed(&ledger, &error);
    other.execute_batch("DELETE FROM blobs").unwrap();
    drop(ledger);
    let ledger = open(&path);
    assert!(ledger.blobs().put(b"a large result").is_ok());
    assert_eq!(verify(&ledger, None).unwrap().head.size, 3);
}

#[test]
fn a_reader_that_stays_bounds_what_is_taken_and_its_end_frees_it() {
    const MOST: u64 = 8 * 1024 * 1024;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let log = folder.path().join("ledger.db-wal");
    let options = OpenOptions { max_wal_bytes: MOST, ..OpenOptions::default() };
    let ledger = SqliteLedger::open(&path, options).unwrap();
    fill(&ledger, 1);
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN").unwrap();
    let size = |db: &rusqlite::Connection| -> u64 {
        let size: i64 = db.query_row("SELECT size FROM meta", [], |row| row.get(0)).unwrap();
        size.cast_unsigned()
    };
    assert_eq!(size(&other), 1);
    let blobs = ledger.blobs();
    let put = |n: u8| blobs.put(&vec![n; 1024 * 1024]);
    let taken = (0..40).find_map(|n| put(n).err().map(|error| (n, error)));
    let (taken, error) = taken.expect("the log is bounded");
    assert!(taken > 4, "{taken}");
    assert!(matches!(error, LedgerError::Full(_)) && error.is_refusal(), "{error}");
    let length = || std::fs::metadata(&log).unwrap().len();
    assert!(length() <= MOST + 2 * 1024 * 1024, "{}", length());
    let refused = ledger.commit(numbered(1, Durability::Disk)).wait().unwrap_err();
    assert!(refused.is_refusal(), "{refused}");
    assert_eq!(ledger.head().unwrap().size, 1);
    assert_eq!(Reader::open(&path).unwrap().head().unwrap().size, 1, "others read on");
    assert_eq!(size(&other), 1, "the reader still sees its snapshot");
    other.execute_batch("COMMIT").unwrap();
    fill(&ledger, 1);
    assert!(length() < 1024 * 1024, "{}", length());
    assert!((0..20).all(|n| put(n).is_ok()));
    assert_eq!(verify(&ledger, None).unwrap().head.size, 2);
}
