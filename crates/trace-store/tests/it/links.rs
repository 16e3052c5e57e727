//! One ledger under two names: by a hard link, by a name that moves while it is in use.

use std::path::Path;

use weaver_trace_store::verify::verify;
use weaver_trace_store::{OpenOptions, RecordsOptions, SqliteLedger, SqliteRecords};
use weaver_types::ledger::{Batch, Durability, Ledger, LedgerError, RecordStore};

use crate::support::{fill, key, numbered, open};

fn refused(path: &Path) -> LedgerError {
    match SqliteLedger::open(path, OpenOptions::default()) {
        Ok(_) => panic!("{} was opened", path.display()),
        Err(error) => error,
    }
}

#[test]
fn a_hard_link_gives_no_second_writer_and_one_use_stays_one() {
    let folder = tempfile::tempdir().unwrap();
    let other = tempfile::tempdir_in(folder.path()).unwrap();
    let path = folder.path().join("ledger.db");
    let link = other.path().join("copy.db");
    let once = || Batch::new(Durability::Disk).create(key("approval"), b"used".to_vec(), None);
    let first = open(&path);
    fill(&first, 3);
    std::fs::hard_link(&path, &link).unwrap();
    let error = refused(&link);
    assert!(error.to_string().contains("hard link"), "{error}");
    assert!(!other.path().join("copy.db-wal").exists(), "nothing is made beside a second name");
    // The one that runs notices too: which name another program goes by, it cannot know.
    let error = first.commit(once()).wait().unwrap_err();
    assert!(matches!(&error, LedgerError::Failed(why) if why.contains("hard link")), "{error}");
    assert_eq!(first.commit(numbered(1, Durability::Os)).wait(), Err(error));
    drop(first);
    assert!(refused(&path).to_string().contains("hard link"), "either name is refused");
    std::fs::remove_file(&link).unwrap();
    let again = open(&path);
    assert_eq!(verify(&again, None).unwrap().head.size, 3);
}

#[test]
fn a_hard_link_of_a_file_beside_the_ledger_is_refused_too() {
    for suffix in ["-wal", "-shm", ".lock"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.db");
        let ledger = open(&path);
        fill(&ledger, 3);
        let beside = folder.path().join(format!("ledger.db{suffix}"));
        std::fs::hard_link(&beside, folder.path().join("elsewhere")).unwrap();
        let error = ledger.commit(numbered(9, Durability::Disk)).wait().unwrap_err();
        assert!(error.to_string().contains("hard link"), "{suffix}: {error}");
        assert!(!error.is_refusal(), "{suffix}");
    }
}

#[test]
fn a_ledger_that_moves_while_it_is_in_use_is_left_by_its_first_writer() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("a.db"), folder.path().join("b.db"));
    let first = open(&from);
    fill(&first, 3);
    for suffix in ["", "-wal", "-shm"] {
        let name = |name: &str| folder.path().join(format!("{name}.db{suffix}"));
        std::fs::rename(name("a"), name("b")).unwrap();
    }
    let second = open(&to);
    fill(&second, 1);
    let once = || Batch::new(Durability::Disk).create(key("approval"), b"used".to_vec(), None);
    let made = [first.commit(once()).wait().is_ok(), second.commit(once()).wait().is_ok()];
    assert!(!made[0], "the first writer acknowledged into a file that has its name no more");
    assert!(made.iter().filter(|made| **made).count() <= 1);
    let error = first.commit(numbered(1, Durability::Os)).wait().unwrap_err();
    assert!(matches!(error, LedgerError::Failed(_) | LedgerError::Damaged(_)), "{error}");
}

#[test]
fn records_under_two_names_are_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (path, link) = (folder.path().join("memory"), folder.path().join("linked"));
    let open = |path: &Path| SqliteRecords::open(path, RecordsOptions::default());
    let put = |id: &str| Batch::new(Durability::Disk).create(key(id), b"x".to_vec(), None);
    let records = open(&path).unwrap();
    records.apply(put("a")).unwrap();
    std::fs::hard_link(&path, &link).unwrap();
    let error = open(&link).map(drop).unwrap_err();
    assert!(error.to_string().contains("hard link"), "{error}");
    let error = records.apply(put("b")).unwrap_err();
    assert!(error.to_string().contains("hard link"), "{error}");
    drop(records);
    std::fs::remove_file(&link).unwrap();
    assert!(open(&path).unwrap().read(&key("a")).unwrap().is_some());
}

#[test]
fn records_whose_file_was_replaced_are_not_written_any_more() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("memory"), folder.path().join("copy"));
    let put = |id: &str| Batch::new(Durability::Disk).create(key(id), b"x".to_vec(), None);
    let records = SqliteRecords::open(&path, RecordsOptions::default()).unwrap();
    records.apply(put("a")).unwrap();
    std::fs::copy(&path, &copy).unwrap();
    std::fs::rename(&copy, &path).unwrap();
    let error = records.apply(put("b")).unwrap_err();
    assert!(error.to_string().contains("removed or replaced"), "{error}");
}
