//! Records in a file of their own, which several processes write. This test binary runs itself as
//! the children.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Arc;

use weaver_trace_store::{
    RECORDS_VERSION, Reader, RecordsOptions, SqliteLedger, SqliteRecords, conformance,
};
use weaver_types::ledger::{
    Batch, CounterChange, Durability, LedgerError, Record, RecordStore, RecordWrite, VersionGuard,
};
use weaver_types::{ManualClock, Timestamp};

use crate::support::{self, key, open as open_ledger};

const PLACE: &str = "WEAVER_TEST_RECORDS";
const ENDLESS: &str = "WEAVER_TEST_RECORDS_ENDLESS";
const TRACED: &str = "WEAVER_TEST_RECORDS_TRACED";
const PROCESSES: i64 = 10;
const MOVES: i64 = 1_000;

fn open(path: &Path) -> SqliteRecords {
    SqliteRecords::open(path, RecordsOptions::default()).unwrap()
}

fn golden() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/records-v1.weaver"))
}

fn number(store: &dyn RecordStore, id: &str) -> i64 {
    let record = store.read(&key(id)).unwrap();
    record.map_or(0, |record| String::from_utf8(record.value).unwrap().parse().unwrap())
}

/// One step of a counter: what was read, plus one, if nobody was faster.
fn guarded(store: &dyn RecordStore, id: &str) {
    loop {
        let found = store.read(&key(id)).unwrap();
        let version = found.as_ref().map(|record| record.version);
        let value = found.map_or(0_i64, |r| String::from_utf8(r.value).unwrap().parse().unwrap());
        let batch = Batch {
            expect: vec![VersionGuard { key: key(id), version }],
            put: vec![RecordWrite {
                key: key(id),
                value: (value + 1).to_string().into_bytes(),
                expires_at: None,
            }],
            ..Batch::new(Durability::Os)
        };
        match store.apply(batch) {
            Ok(()) => return,
            Err(LedgerError::Conflict { .. }) => {}
            Err(other) => panic!("{other}"),
        }
    }
}

fn counted(id: &str, max: i64, durability: Durability) -> Batch {
    Batch {
        add: vec![CounterChange { key: key(id), delta: 1, min: 0, max }],
        ..Batch::new(durability)
    }
}

/// Whoever opens a file while another makes its tables finds none of it, or all.
#[test]
fn several_that_make_a_file_at_once_all_have_it() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..150 {
        let path = folder.path().join(format!("records-{round}"));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| open(&path));
            }
        });
    }
}

#[test]
fn the_file_of_records_conforms() {
    const NONE: &[String] = &[];
    let folder = tempfile::tempdir().unwrap();
    let mut count = 0;
    let findings = conformance::check_records(&mut || {
        count += 1;
        Ok(Box::new(open(&folder.path().join(count.to_string()))))
    });
    assert_eq!(findings, NONE);
}

#[test]
fn what_expires_is_forgotten_by_the_clock() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::new(Timestamp::from_micros(1_000)));
    let options = RecordsOptions { clock: clock.clone(), ..RecordsOptions::default() };
    let file = SqliteRecords::open(folder.path().join("r"), options).unwrap();
    for (id, at) in [("soon", 1_500), ("later", 1_000_000)] {
        let batch = Batch::new(Durability::Os);
        let expires_at = Some(Timestamp::from_micros(at));
        file.apply(batch.create(key(id), b"x".to_vec(), expires_at)).unwrap();
    }
    assert!(file.read(&key("soon")).unwrap().is_some());
    clock.advance(std::time::Duration::from_millis(1));
    file.apply(counted("n", 9, Durability::Os)).unwrap();
    assert!(file.read(&key("soon")).unwrap().is_none());
    assert!(file.read(&key("later")).unwrap().is_some());
}

/// What the children do: a thousand steps of two counters each, or steps for ever, told one by one.
#[test]
fn child() {
    if let Ok(path) = std::env::var(PLACE) {
        let store = open(Path::new(&path));
        for _ in 0..MOVES {
            guarded(&store, "guarded");
            store.apply(counted("bounded", PROCESSES * MOVES, Durability::Os)).unwrap();
        }
    }
    if let Ok(path) = std::env::var(ENDLESS) {
        let store = open(Path::new(&path));
        for n in 0_u64.. {
            let level = if n % 8 == 0 { Durability::Disk } else { Durability::Os };
            let own = format!("own-{}", std::process::id());
            let both = counted("all", i64::MAX, level).join(counted(&own, i64::MAX, level));
            store.apply(both).unwrap();
            let mut out = std::io::stdout().lock();
            out.write_all(format!("\n@ {}\n", n + 1).as_bytes()).unwrap();
            out.flush().unwrap();
        }
    }
}

/// What the traced child does: writes of both levels, five each, and an empty one as a barrier.
#[test]
fn traced_child() {
    let Ok(path) = std::env::var(TRACED) else { return };
    let store = open(Path::new(&path));
    let say = |what: &str| {
        let mut out = std::io::stdout().lock();
        out.write_all(format!("\n@ {what}\n").as_bytes()).unwrap();
        out.flush().unwrap();
    };
    for level in [Durability::Disk, Durability::Os, Durability::Disk] {
        say("begin");
        (0..5).for_each(|_| store.apply(counted("n", 99, level)).unwrap());
        say("end");
    }
    store.apply(counted("n", 99, Durability::Os)).unwrap();
    say("begin");
    store.apply(Batch::new(Durability::Disk)).unwrap();
    say("end");
}

/// Killing a process cannot show a missing sync, the system calls can.
#[cfg(target_os = "linux")]
#[test]
fn a_disk_batch_is_synced_before_it_is_applied_and_an_empty_one_is_a_barrier() {
    let folder = tempfile::tempdir().unwrap();
    let traced = "record_file::traced_child";
    if let Some(seen) = support::syncs_of(traced, TRACED, folder.path(), &["end"]) {
        assert_eq!(seen, [5, 0, 5, 1]);
    }
}

fn start(variable: &str, path: &Path) -> Child {
    support::child("record_file::child", variable, path)
}

#[test]
fn ten_processes_count_to_ten_thousand() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records");
    let children: Vec<Child> = (0..PROCESSES).map(|_| start(PLACE, &path)).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let store = open(&path);
    assert_eq!(number(&store, "guarded"), 10_000);
    assert_eq!(number(&store, "bounded"), 10_000);
    assert_eq!(store.read(&key("guarded")).unwrap().unwrap().version, 10_000);
    let over = store.apply(counted("bounded", PROCESSES * MOVES, Durability::Os));
    assert!(matches!(over, Err(LedgerError::OutOfBounds { .. })), "{over:?}");
}

#[test]
fn killed_processes_lose_nothing_acknowledged_and_stop_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records");
    let mut acknowledged = BTreeMap::new();
    for round in 1..=4 {
        let mut children: Vec<Child> = (0..4).map(|_| start(ENDLESS, &path)).collect();
        for (index, child) in children.iter_mut().enumerate() {
            let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
            let mut told = || {
                lines.by_ref().map_while(Result::ok).find_map(|line| {
                    line.strip_prefix("@ ").and_then(|count| count.parse::<i64>().ok())
                })
            };
            let mut last = 0;
            for _ in 0..round * (10 + index * 7) {
                last = told().unwrap_or(last);
            }
            child.kill().unwrap();
            child.wait().unwrap();
            while let Some(count) = told() {
                last = count;
            }
            acknowledged.insert(child.id(), last);
        }
        let store = open(&path);
        let mut sum = 0;
        for (process, told) in &acknowledged {
            let stands = number(&store, &format!("own-{process}"));
            // The last step may be committed and not told.
            assert!((*told..=*told + 1).contains(&stands), "{stands} of {told}");
            sum += stands;
        }
        assert_eq!(number(&store, "all"), sum, "a batch was applied in part");
        let db = rusqlite::Connection::open(&path).unwrap();
        let check: String = db.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(check, "ok");
    }
}

#[test]
fn a_file_that_is_kept_is_told_so_and_nothing_was_applied() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records");
    let patience = std::time::Duration::from_millis(60);
    let options = RecordsOptions { patience, ..RecordsOptions::default() };
    let store = SqliteRecords::open(&path, options).unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = store.apply(counted("n", 9, Durability::Os)).unwrap_err();
    assert!(matches!(error, LedgerError::Busy { .. }) && error.is_refusal(), "{error}");
    assert_eq!(number(&store, "n"), 0);
    other.execute_batch("ROLLBACK").unwrap();
    store.apply(counted("n", 9, Durability::Disk)).unwrap();
    store.apply(Batch::new(Durability::Disk)).unwrap();
    assert_eq!(number(&store, "n"), 1);
}

#[test]
fn a_ledger_is_no_file_of_records_and_the_other_way_round() {
    let folder = tempfile::tempdir().unwrap();
    let (records, ledger) = (folder.path().join("records"), folder.path().join("ledger"));
    open(&records).apply(counted("n", 9, Durability::Disk)).unwrap();
    drop(open_ledger(&ledger));
    let foreign = folder.path().join("foreign");
    rusqlite::Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE t (a)").unwrap();
    let before = [&records, &ledger, &foreign].map(|path| std::fs::read(path).unwrap());
    let damaged = |error: Option<LedgerError>| matches!(error, Some(LedgerError::Damaged(_)));
    let options = RecordsOptions::default;
    assert!(damaged(SqliteRecords::open(&ledger, options()).err()));
    assert!(damaged(SqliteRecords::open(&foreign, options()).err()));
    assert!(damaged(
        SqliteLedger::open(&records, weaver_trace_store::OpenOptions::default()).err()
    ));
    assert!(damaged(Reader::open(&records).err()));
    let after = [&records, &ledger, &foreign].map(|path| std::fs::read(path).unwrap());
    assert!(before == after, "a file that was refused was changed");
    let db = rusqlite::Connection::open(&records).unwrap();
    db.pragma_update(None, "user_version", i64::try_from(RECORDS_VERSION + 1).unwrap()).unwrap();
    drop(db);
    match SqliteRecords::open(&records, options()).err() {
        Some(LedgerError::Newer { found, known, .. }) => assert_eq!((found, known), (2, 1)),
        other => panic!("{other:?}"),
    }
}

/// Writes the golden file of the present form. Run by hand, once a form:
/// `cargo test -p weaver-trace-store --all-features -- --ignored write_the_golden_records`.
#[test]
#[ignore = "writes tests/data/records-v1.weaver"]
fn write_the_golden_records() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records");
    let store = open(&path);
    let later = Some(Timestamp::from_micros(4_000_000_000_000_000));
    store.apply(Batch::new(Durability::Disk).create(key("a"), b"{}".to_vec(), later)).unwrap();
    store.apply(counted("n", 9, Durability::Disk)).unwrap();
    store.apply(counted("n", 9, Durability::Disk)).unwrap();
    drop(store);
    std::fs::copy(path, golden()).unwrap();
}

#[test]
fn the_records_of_form_1_are_read_and_continued() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records");
    std::fs::copy(golden(), &path).unwrap();
    let store = open(&path);
    assert_eq!(store.read(&key("a")).unwrap(), Some(Record { version: 1, value: b"{}".to_vec() }));
    store.apply(counted("n", 9, Durability::Disk)).unwrap();
    assert_eq!(store.read(&key("n")).unwrap(), Some(Record { version: 3, value: b"3".to_vec() }));
}
