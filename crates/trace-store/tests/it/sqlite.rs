//! The file: many callers, readers, blobs, the lock, bounds.

use std::collections::BTreeSet;

use weaver_trace_store::entry::EventHeader;
use weaver_trace_store::verify::verify;
use weaver_trace_store::{OpenOptions, Reader, SqliteLedger};
use weaver_types::Tenant;
use weaver_types::ledger::{
    Batch, BlobStore, Durability, Ledger, LedgerError, Namespace, RecordKey,
};

use crate::support::{event, fill, key, numbered, open};

#[test]
fn sixty_four_callers_share_one_log_without_loss_or_repetition() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let ledger = open(&path);
    let (callers, each) = (64, 1_563);
    let acknowledged: Vec<(u64, u64)> = std::thread::scope(|scope| {
        let callers: Vec<_> = (0..callers)
            .map(|caller| {
                let ledger = &ledger;
                scope.spawn(move || {
                    let commit = |n| {
                        let number = caller * each + n;
                        let level = if n % 2 == 0 { Durability::Os } else { Durability::Disk };
                        let receipt = ledger.commit(numbered(number, level)).wait().unwrap();
                        assert!(receipt.durability >= level);
                        assert!(receipt.head.size() > receipt.first_seq.unwrap());
                        (receipt.first_seq.unwrap(), number)
                    };
                    (0..each).map(commit).collect::<Vec<_>>()
                })
            })
            .collect();
        callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect()
    });
    let distinct: BTreeSet<u64> = acknowledged.iter().map(|(seq, _)| *seq).collect();
    assert_eq!(distinct, (0..callers * each).collect());
    drop(ledger);
    let reader = Reader::open(&path).unwrap();
    let mut numbers: Vec<(u64, u64)> = acknowledged;
    numbers.sort_unstable();
    for page in numbers.chunks(1_000) {
        let events = reader.events(page[0].0, 1_000).unwrap();
        for ((seq, number), event) in page.iter().zip(events) {
            assert_eq!(event.seq, *seq);
            assert_eq!(event.payload.unwrap(), format!("{{\"n\":{number}}}").into_bytes());
        }
    }
    assert_eq!(verify(&reader, None).unwrap().head.size, callers * each);
}

#[test]
fn a_refused_batch_does_not_spoil_its_group() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(&folder.path().join("ledger.db"));
    let once = || {
        let batch = numbered(0, Durability::Disk);
        batch.create(key("tok"), b"{}".to_vec(), None)
    };
    // Submitted without waiting, so that they share commits.
    let tickets: Vec<_> = (0..200)
        .map(|n| ledger.commit(if n % 2 == 0 { once() } else { numbered(n, Durability::Os) }))
        .collect();
    let results: Vec<_> = tickets.into_iter().map(|ticket| ticket.wait().is_ok()).collect();
    let won = results.iter().step_by(2).filter(|ok| **ok).count();
    assert_eq!(won, 1);
    assert!(results.iter().skip(1).step_by(2).all(|ok| *ok));
    let report = verify(&ledger, None).unwrap();
    assert_eq!(report.head.size, 101);
}

#[test]
fn the_level_is_recorded_and_changes_from_commit_to_commit() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(&folder.path().join("ledger.db"));
    let levels = [Durability::Os, Durability::Disk, Durability::Disk, Durability::Os];
    for level in levels {
        let receipt = ledger.commit(numbered(1, level)).wait().unwrap();
        assert_eq!(receipt.durability, level);
    }
    let stored = ledger.events(0, 10).unwrap();
    assert_eq!(stored.iter().map(|event| event.durability).collect::<Vec<_>>(), levels);
    assert_eq!(verify(&ledger, None).unwrap().synced, 2);
}

#[test]
fn a_reader_follows_the_log_while_it_grows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let ledger = open(&path);
    let reader = Reader::open(&path).unwrap();
    let writer = std::thread::spawn(move || {
        fill(&ledger, 300);
        ledger.commit(Batch::new(Durability::Os).create(key("a"), b"x".to_vec(), None)).wait()
    });
    let mut seen = 0;
    while seen < 300 {
        for event in reader.events(seen, 7).unwrap() {
            assert_eq!(EventHeader::parse(&event.header).unwrap().seq, seen);
            seen += 1;
        }
        let head = reader.head().unwrap();
        assert!(head.size >= seen);
        assert!(verify(&reader, Some(&head)).is_ok());
    }
    writer.join().unwrap().unwrap();
    let mut records = reader.records(&Tenant::default(), Namespace::TokenUse, None, 10).unwrap();
    assert_eq!(records.len(), 1);
    let (id, record) = records.remove(0);
    let read = |id: &str| {
        reader.record(&RecordKey::new(Tenant::default(), Namespace::TokenUse, id)).unwrap()
    };
    assert_eq!((read(&id), read("another")), (Some(record), None));
}

#[test]
fn one_file_has_one_writer_also_through_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let options = OpenOptions { holder: "first\nholder".to_owned(), ..OpenOptions::default() };
    let ledger = SqliteLedger::open(&path, options).unwrap();
    let link = folder.path().join("link.db");
    #[cfg(unix)]
    std::os::unix::fs::symlink(&path, &link).unwrap();
    for path in [&path, &link] {
        match SqliteLedger::open(path, OpenOptions::default()).map(drop) {
            Err(LedgerError::Locked { holder, .. }) => {
                assert!(holder.contains(&std::process::id().to_string()), "{holder}");
                assert!(holder.contains("first") && !holder.contains('\n'), "{holder}");
            }
            other => panic!("{other:?}"),
        }
    }
    drop(ledger);
    assert!(SqliteLedger::open(&link, OpenOptions::default()).is_ok());
    assert!(folder.path().join("ledger.db.lock").exists());
}

#[cfg(unix)]
#[test]
fn the_files_are_for_this_user_alone() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let ledger = open(&folder.path().join("ledger.db"));
    fill(&ledger, 1);
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{}", entry.path().display());
    }
}

#[test]
fn blobs_outlive_the_process_and_their_names_need_its_key() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (folder.path().join("one.db"), folder.path().join("two.db"));
    let ledger = open(&one);
    let blobs = ledger.blobs();
    let id = blobs.put(b"a large result").unwrap();
    assert_ne!(open(&two).blobs().put(b"a large result").unwrap(), id);
    drop(ledger);
    assert_eq!(blobs.put(b"later"), Err(LedgerError::Closed));
    assert_eq!(blobs.get(&id).unwrap().unwrap(), b"a large result");
    drop(blobs);
    assert_eq!(open(&one).blobs().put(b"a large result").unwrap(), id);
    assert_eq!(open(&one).blobs().get(&id).unwrap().unwrap(), b"a large result");
}

#[test]
fn the_write_ahead_log_stays_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let ledger = open(&path);
    let blobs = ledger.blobs();
    let mut longest = 0;
    for n in 0..120_u8 {
        blobs.put(&vec![n; 1024 * 1024]).unwrap();
        let wal = std::fs::metadata(folder.path().join("ledger.db-wal")).unwrap().len();
        longest = longest.max(wal);
    }
    assert!(longest < 40 * 1024 * 1024, "{longest} bytes");
}

#[test]
fn a_ledger_that_failed_once_stays_closed_until_it_is_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let ledger = open(&path);
    fill(&ledger, 3);
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("UPDATE meta SET highest = highest + 1").unwrap();
    let commit = || ledger.commit(numbered(9, Durability::Disk)).wait();
    let first = commit().unwrap_err();
    assert!(matches!(first, LedgerError::Damaged(_)), "{first:?}");
    other.execute_batch("UPDATE meta SET highest = highest - 1").unwrap();
    assert_eq!(commit(), Err(first.clone()));
    assert_eq!(ledger.blobs().put(b"later"), Err(first));
    assert_eq!(ledger.head().unwrap().size, 3);
    drop(ledger);
    let ledger = open(&path);
    fill(&ledger, 1);
    assert_eq!(verify(&ledger, None).unwrap().head.size, 4);
}

#[test]
fn a_closed_ledger_writes_what_was_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let ledger = open(&path);
    let tickets: Vec<_> = (0..500).map(|n| ledger.commit(numbered(n, Durability::Os))).collect();
    drop(ledger);
    assert!(tickets.into_iter().all(|ticket| ticket.wait().is_ok()));
    assert_eq!(open(&path).head().unwrap().size, 500);
}

#[test]
fn time_does_not_go_back_over_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let at = |micros: i64| {
        let batch = Batch::new(Durability::Os).with_event(event(micros, "{}".to_owned()));
        open(&path).commit(batch).wait().unwrap().at.micros()
    };
    assert_eq!([at(500), at(400), at(600)], [500, 500, 600]);
}

#[test]
fn paths_that_cannot_hold_a_ledger_are_named() {
    let folder = tempfile::tempdir().unwrap();
    for path in [folder.path().join("none/ledger.db"), folder.path().to_owned(), "..".into()] {
        match SqliteLedger::open(&path, OpenOptions::default()).map(drop) {
            Err(LedgerError::Failed(text)) => assert!(!text.is_empty()),
            other => panic!("{}: {other:?}", path.display()),
        }
    }
}

#[test]
fn the_synced_head_waits_for_a_sync() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let ledger = open(&path);
    let synced = |ledger: &SqliteLedger| ledger.synced_head().unwrap().size;
    fill(&ledger, 3);
    assert_eq!(synced(&ledger), 0);
    let refused = Batch::new(Durability::Disk).create(key("a"), b"x".to_vec(), None);
    let commit = |batch: &Batch| ledger.commit(batch.clone()).wait();
    assert!(commit(&Batch { durability: Durability::Os, ..refused.clone() }).is_ok());
    assert!(commit(&refused).unwrap_err().is_refusal());
    assert_eq!(synced(&ledger), 0, "a refused batch syncs nothing");
    let removal = Batch { delete: vec![key("none")], ..Batch::new(Durability::Disk) };
    assert_eq!(commit(&removal).unwrap().head.size(), 3);
    assert_eq!(synced(&ledger), 3);
    fill(&ledger, 2);
    assert_eq!(synced(&ledger), 3);
    let receipt = commit(&Batch::new(Durability::Disk)).unwrap();
    assert_eq!(ledger.synced_head().unwrap(), receipt.head.head());
    fill(&ledger, 2);
    drop(ledger);
    let ledger = open(&path);
    assert_eq!(ledger.synced_head().unwrap(), ledger.head().unwrap(), "opening syncs");
    assert_eq!(synced(&ledger), 7);
}
