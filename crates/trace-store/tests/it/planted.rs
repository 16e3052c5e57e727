//! What somebody with the file plants into its form: triggers, views, indexes, tables, columns.

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use weaver_trace_store::verify::verify;
use weaver_trace_store::{OpenOptions, Reader, RecordsOptions, SqliteLedger, SqliteRecords};
use weaver_types::ledger::{Batch, Durability, Ledger, LedgerError, RecordStore};

use crate::support::{fill, key, numbered, open};

/// A plant, and a word that the error must say.
const PLANTS: [(&str, &str); 10] = [
    (
        "CREATE TRIGGER washed AFTER INSERT ON records BEGIN
         UPDATE records SET value = x'7b7d' WHERE id = NEW.id; END",
        "washed",
    ),
    ("CREATE VIEW looking AS SELECT * FROM records", "looking"),
    ("CREATE INDEX sorted ON records (version)", "sorted"),
    ("CREATE TABLE notes (text TEXT)", "notes"),
    ("DROP TRIGGER record_gone", "record_gone"),
    ("DROP INDEX records_expiry", "records_expiry"),
    ("ALTER TABLE meta ADD COLUMN more INTEGER", "meta"),
    ("ALTER TABLE blobs RENAME TO gone; CREATE VIEW blobs AS SELECT * FROM gone", "blobs"),
    (
        "DROP INDEX records_expiry;
         CREATE INDEX records_expiry ON records (expires_at) WHERE expires_at > 5",
        "records_expiry",
    ),
    (
        "DROP TRIGGER record_gone; CREATE TRIGGER record_gone AFTER DELETE ON records BEGIN
         UPDATE meta SET size = size WHERE one = 1; END",
        "record_gone",
    ),
];

fn filled(folder: &Path) -> PathBuf {
    let path = folder.join("ledger.db");
    let ledger = open(&path);
    fill(&ledger, 3);
    path
}

fn plant(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

#[test]
fn what_was_planted_is_named_at_opening_and_by_verification() {
    for (sql, word) in PLANTS {
        let folder = tempfile::tempdir().unwrap();
        let path = filled(folder.path());
        plant(&path, sql);
        let error = SqliteLedger::open(&path, OpenOptions::default()).map(drop).expect_err(sql);
        assert!(matches!(error, LedgerError::Damaged(_)), "{sql}: {error:?}");
        assert!(error.to_string().contains(&format!("`{word}`")), "{sql}: {error}");
        let error = verify(&Reader::open(&path).unwrap(), None).expect_err(sql);
        assert_eq!(error.code(), "verify.schema", "{sql}: {error}");
        assert!(error.to_string().contains(&format!("`{word}`")), "{sql}: {error}");
    }
}

#[test]
fn what_is_planted_while_the_ledger_is_in_use_ends_it_before_the_next_write() {
    for (sql, word) in PLANTS {
        let folder = tempfile::tempdir().unwrap();
        let ledger = open(&filled(folder.path()));
        fill(&ledger, 1);
        plant(ledger.path(), sql);
        let error = ledger.commit(numbered(9, Durability::Disk)).wait().expect_err(sql);
        assert!(matches!(error, LedgerError::Damaged(_)), "{sql}: {error:?}");
        assert!(error.to_string().contains(&format!("`{word}`")), "{sql}: {error}");
    }
}

#[test]
fn what_was_planted_among_records_alone_is_named_at_opening() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory");
    let open = || SqliteRecords::open(&path, RecordsOptions::default());
    let put = Batch::new(Durability::Disk).create(key("a"), b"x".to_vec(), None);
    open().unwrap().apply(put).unwrap();
    assert!(open().is_ok());
    plant(&path, "CREATE TRIGGER washed AFTER INSERT ON records BEGIN DELETE FROM records; END");
    let error = open().map(drop).unwrap_err();
    assert!(matches!(error, LedgerError::Damaged(_)), "{error:?}");
    assert!(error.to_string().contains("`washed`"), "{error}");
}
