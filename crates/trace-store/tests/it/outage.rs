//! What passes: another process holds the write lock for longer than the ledger waits. While it
//! lasts nothing is taken, and afterwards the ledger goes on by itself.

use std::path::Path;

use rusqlite::Connection;
use weaver_trace_store::verify::verify;
use weaver_types::ledger::{Batch, BlobStore, Durability, Ledger, LedgerError};

use crate::support::{fill, key, numbered, open};

/// Another connection that holds the write lock.
fn holding(path: &Path) -> Connection {
    let other = Connection::open(path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    other
}

#[test]
fn a_lock_that_is_held_for_long_is_sat_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let ledger = open(&path);
    fill(&ledger, 3);
    let other = holding(&path);
    let before = ledger.head().unwrap();
    let create = || Batch::new(Durability::Disk).create(key("once"), b"x".to_vec(), None);
    for batch in [create(), numbered(3, Durability::Os), Batch::new(Durability::Disk)] {
        let error = ledger.commit(batch).wait().unwrap_err();
        assert!(matches!(error, LedgerError::Busy { .. }), "{error:?}");
        assert!(error.is_refusal() && error.to_string().contains("ledger.db"), "{error}");
    }
    assert!(ledger.blobs().put(b"a large result").unwrap_err().is_refusal());
    assert_eq!(ledger.head().unwrap(), before, "nothing was taken");
    other.execute_batch("ROLLBACK").unwrap();
    // The same process, the same ledger: nothing of what was refused is there, and all is taken.
    assert!(ledger.read(&key("once")).unwrap().is_none());
    ledger.commit(create()).wait().unwrap();
    let receipt = ledger.commit(numbered(3, Durability::Disk)).wait().unwrap();
    assert_eq!(receipt.first_seq, Some(3));
    assert!(ledger.blobs().put(b"a large result").is_ok());
    assert_eq!(verify(&ledger, Some(&before)).unwrap().head.size, 4);
}

#[test]
fn a_lock_under_which_the_log_was_changed_ends_the_ledger() {
    for change in [
        "DELETE FROM events WHERE seq = 2",
        "UPDATE meta SET size = 2",
        "UPDATE meta SET records = zeroblob(32)",
        "UPDATE records SET value = x'00'",
        "CREATE TRIGGER planted AFTER INSERT ON events BEGIN SELECT 1; END",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.db");
        let ledger = open(&path);
        fill(&ledger, 3);
        ledger
            .commit(Batch::new(Durability::Disk).create(key("a"), b"x".to_vec(), None))
            .wait()
            .unwrap();
        let other = holding(&path);
        let refused = ledger.commit(numbered(3, Durability::Disk)).wait().unwrap_err();
        assert!(refused.is_refusal(), "{refused}");
        other.execute_batch(&format!("{change}; COMMIT")).unwrap();
        let error = ledger.commit(numbered(3, Durability::Disk)).wait().unwrap_err();
        assert!(!error.is_refusal(), "{change}: {error}");
        assert_eq!(ledger.commit(numbered(4, Durability::Os)).wait(), Err(error), "{change}");
    }
}
