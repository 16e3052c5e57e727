//! Records and events in a file: each as it was written, in its order, and what is said of a row
//! that somebody changed.

use std::time::Duration;

use rusqlite::Connection;
use weaver_trace_store::verify::{LogSource, verify};
use weaver_trace_store::{
    OpenOptions, RECORDS_APPLICATION_ID, Reader, RecordsOptions, SqliteLedger, SqliteRecords,
};
use weaver_types::ledger::{
    Batch, CounterChange, Durability, GuardedWrite, Ledger, LedgerError, Namespace, Record,
    RecordKey, RecordStore, RecordWrite, VersionGuard,
};
use weaver_types::{Tenant, Timestamp};

use crate::support::{change, event, fill, memory, numbered, open};

fn key(tenant: &str, namespace: Namespace, id: &str) -> RecordKey {
    RecordKey::new(Tenant::parse(tenant).unwrap(), namespace, id)
}

fn own(id: &str) -> RecordKey {
    key("local", Namespace::Run, id)
}

fn put(key: RecordKey, value: &str) -> RecordWrite {
    RecordWrite { key, value: value.as_bytes().to_vec(), expires_at: None }
}

fn batch() -> Batch {
    Batch::new(Durability::Os)
}

/// What a store of records does: applies, reads, lists.
trait Records {
    fn put(&self, batch: Batch) -> Result<(), LedgerError>;
    fn get(&self, key: &RecordKey) -> Option<(u64, String)>;
    fn ids(&self, tenant: &str, namespace: Namespace, after: Option<&str>, limit: usize) -> String;
}

macro_rules! records {
    ($($store:ty, $apply:expr;)*) => {$(
        impl Records for $store {
            fn put(&self, batch: Batch) -> Result<(), LedgerError> {
                let apply: fn(&$store, Batch) -> Result<(), LedgerError> = $apply;
                apply(self, batch)
            }
            fn get(&self, key: &RecordKey) -> Option<(u64, String)> {
                let Record { version, value } = self.read(key).unwrap()?;
                Some((version, String::from_utf8(value).unwrap()))
            }
            fn ids(&self, tenant: &str, of: Namespace, after: Option<&str>, limit: usize) -> String {
                let page = self.list(&Tenant::parse(tenant).unwrap(), of, after, limit).unwrap();
                page.into_iter().map(|(id, _)| format!("[{id}]")).collect()
            }
        }
    )*};
}

records! {
    SqliteLedger, |store, batch| store.commit(batch).wait().map(drop);
    weaver_trace_store::MemoryLedger, |store, batch| store.commit(batch).wait().map(drop);
    SqliteRecords, |store, batch| store.apply(batch);
}

fn every_store(check: impl Fn(&dyn Records)) {
    let folder = tempfile::tempdir().unwrap();
    check(&memory());
    check(&open(&folder.path().join("ledger.db")));
    let options = RecordsOptions::default();
    check(&SqliteRecords::open(folder.path().join("records"), options).unwrap());
}

#[test]
fn a_record_has_the_value_and_the_version_of_its_last_write() {
    every_store(|store| {
        let some = |version, value: &str| Some((version, value.to_owned()));
        let write = |value: &str| Batch { put: vec![put(own("a"), value)], ..batch() };
        store.put(write("1")).unwrap();
        store.put(write("2")).unwrap();
        assert_eq!(store.get(&own("a")), some(2, "2"));
        let replace = |version| {
            let put = put(own("a"), "3");
            Batch { replace: vec![GuardedWrite { put, version }], ..batch() }
        };
        let conflict = Err(LedgerError::Conflict { key: own("a") });
        assert_eq!(store.put(replace(Some(1))), conflict);
        assert_eq!(store.put(replace(None)), conflict);
        assert_eq!(store.get(&own("a")), some(2, "2"));
        store.put(replace(Some(2))).unwrap();
        assert_eq!(store.get(&own("a")), some(3, "3"));
        let add = |delta| {
            let add = CounterChange { key: own("n"), delta, min: -1, max: 5 };
            Batch { add: vec![add], ..batch() }
        };
        store.put(add(5)).unwrap();
        store.put(add(-6)).unwrap();
        let out = Err(LedgerError::OutOfBounds { key: own("n") });
        assert_eq!((store.put(add(-1)), store.put(add(7))), (out.clone(), out));
        assert_eq!(store.get(&own("n")), some(2, "-1"));
        let expect = |version| {
            let expect = vec![VersionGuard { key: own("n"), version }];
            Batch { expect, delete: vec![own("a"), own("none")], ..batch() }
        };
        assert_eq!(store.put(expect(None)), Err(LedgerError::Conflict { key: own("n") }));
        store.put(expect(Some(2))).unwrap();
        assert_eq!(store.get(&own("a")), None);
        store.put(replace(None)).unwrap();
        assert_eq!(store.get(&own("a")), some(1, "3"), "it begins anew");
    });
}

#[test]
fn records_are_listed_by_tenant_and_namespace_in_the_order_of_their_ids() {
    every_store(|store| {
        let keys = ["b", "", "aa", "a", "B", "\u{e9}", "seventeen_bytes_a", "seventeen_bytes_b"];
        let mut all: Vec<RecordWrite> = keys.iter().map(|id| put(own(id), "x")).collect();
        all.push(put(key("other", Namespace::Run, "c"), "x"));
        all.push(put(key("local", Namespace::Hold, "d"), "x"));
        store.put(Batch { put: all, ..batch() }).unwrap();
        let listed = |after, limit| store.ids("local", Namespace::Run, after, limit);
        let whole = "[][B][a][aa][b][seventeen_bytes_a][seventeen_bytes_b][\u{e9}]";
        assert_eq!(listed(None, 100), whole);
        assert_eq!(listed(None, 3), "[][B][a]");
        assert_eq!(listed(Some(""), 2), "[B][a]");
        assert_eq!(listed(Some("ab"), 1), "[b]");
        assert_eq!(listed(Some("seventeen_bytes_a"), 1), "[seventeen_bytes_b]");
        assert_eq!(listed(Some("\u{e9}"), 9), "");
        assert_eq!(listed(None, 0), "");
        assert_eq!(store.ids("other", Namespace::Run, None, 9), "[c]");
        assert_eq!(store.ids("local", Namespace::Hold, None, 9), "[d]");
        assert_eq!(store.ids("none", Namespace::Run, None, 9), "");
    });
}

#[test]
fn no_list_is_longer_than_a_page() {
    every_store(|store| {
        let all = (0..1_100).map(|n| put(own(&format!("{n:04}")), "x")).collect();
        store.put(Batch { put: all, ..batch() }).unwrap();
        let page = store.ids("local", Namespace::Run, None, usize::MAX);
        assert_eq!(page.matches('[').count(), 1_000);
        assert!(page.ends_with("[0999]"), "{page}");
        let rest = store.ids("local", Namespace::Run, Some("0999"), usize::MAX);
        assert!(rest.starts_with("[1000]") && rest.ends_with("[1099]"), "{rest}");
    });
}

#[test]
fn batches_of_every_length_are_appended_whole_and_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(&folder.path().join("ledger.db"));
    let mut size = 0_u64;
    for count in [1_u64, 15, 16, 17, 31, 32, 33, 100] {
        let events = (size..size + count).map(|n| event(1, format!("{{\"n\":{n}}}")));
        let batch = Batch { events: events.collect(), ..batch() };
        let receipt = ledger.commit(batch).wait().unwrap();
        assert_eq!((receipt.first_seq, receipt.head.size()), (Some(size), size + count));
        size += count;
    }
    for (n, event) in (0..).zip(ledger.events(0, 1_000).unwrap()) {
        assert_eq!(event.seq, n);
        assert_eq!(event.payload, Some(format!("{{\"n\":{n}}}").into_bytes()));
        assert_eq!(event.durability, Durability::Os);
    }
    for (from, limit, wanted) in
        [(0, 0, 0..0), (240, 9, 240..245), (245, 9, 0..0), (u64::MAX, 9, 0..0), (7, 2, 7..9)]
    {
        let found: Vec<u64> =
            ledger.events(from, limit).unwrap().iter().map(|event| event.seq).collect();
        assert_eq!(found, wanted.collect::<Vec<u64>>(), "{limit} from {from}");
    }
    let report = verify(&ledger, None).unwrap();
    assert_eq!((report.head.size, report.synced), (245, 0));
    ledger.commit(numbered(0, Durability::Disk)).wait().unwrap();
    assert_eq!(verify(&ledger, None).unwrap().synced, 1);
}

#[test]
fn a_row_that_is_not_of_the_stored_form_is_named() {
    for (sql, wanted) in [
        ("UPDATE events SET leaf = x'00' WHERE seq = 1", "event 1 has no readable leaf hash"),
        ("UPDATE events SET durability = 2 WHERE seq = 1", "event 1 has no readable durability"),
        ("UPDATE events SET durability = -1 WHERE seq = 1", "event 1 has no readable durability"),
        ("UPDATE events SET seq = -5 WHERE seq = 1", "the sequence number of an event is -5"),
        ("UPDATE meta SET size = -1", "the size of the log is -1"),
        ("UPDATE meta SET root = x'00'", "the root has not 32 bytes"),
        ("UPDATE meta SET records = x'00'", "the sum over the records has not 32 bytes"),
        ("UPDATE meta SET blobs = x'00'", "the sum over the blobs has not 32 bytes"),
        ("UPDATE meta SET synced = -1", "the number of synced events is -1"),
        ("UPDATE meta SET blob_key = x'00'", "the key of the blobs has not 32 bytes"),
        ("UPDATE meta SET log = 'a b'", ""),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.db");
        let ledger = open(&path);
        fill(&ledger, 3);
        drop(ledger);
        change(&path, sql);
        let opened = SqliteLedger::open(&path, OpenOptions::default()).map(drop);
        let found = Reader::open(&path).and_then(|reader| {
            reader.extent()?;
            reader.rows(0, 9)?;
            reader.mismatched_table()
        });
        let errors = [opened.err(), found.err()];
        let is_named = |error: &LedgerError| {
            matches!(error, LedgerError::Damaged(_)) && error.to_string().contains(wanted)
        };
        assert!(errors.iter().flatten().any(is_named), "{sql}: {errors:?}");
    }
}

#[test]
fn how_long_a_store_of_records_waited_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records");
    for (patience, waited) in [(0, 0), (6, 6), (7, 7), (8, 8)] {
        let patience = Duration::from_millis(patience);
        let options = RecordsOptions { patience, ..RecordsOptions::default() };
        let store = SqliteRecords::open(&path, options).unwrap();
        let other = Connection::open(&path).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let found = store.apply(Batch { put: vec![put(own("a"), "x")], ..batch() });
        let path = path.canonicalize().unwrap().display().to_string();
        assert_eq!(found, Err(LedgerError::Busy { path, waited_ms: waited }));
    }
}

#[test]
fn a_file_of_records_of_another_version_is_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records");
    drop(SqliteRecords::open(&path, RecordsOptions::default()).unwrap());
    let opened = |sql: &str| {
        change(&path, sql);
        SqliteRecords::open(&path, RecordsOptions::default()).map(drop)
    };
    assert_eq!(opened("PRAGMA user_version = 1"), Ok(()));
    let what = "the file of records".to_owned();
    let newer = LedgerError::Newer { what, found: 2, known: 1 };
    assert_eq!(opened("PRAGMA user_version = 2"), Err(newer));
    for (sql, wanted) in [
        ("PRAGMA user_version = 0", "there never was a format version 0"),
        ("PRAGMA user_version = -1", "the format version is -1"),
        ("PRAGMA application_id = 7", "holds no records of ours alone; name another"),
    ] {
        let error = opened(sql).unwrap_err();
        assert!(matches!(error, LedgerError::Damaged(_)), "{error}");
        assert!(error.to_string().contains(wanted), "{error}");
    }
    assert_eq!(RECORDS_APPLICATION_ID, 0x5776_5263);
}

#[test]
fn what_expires_is_kept_with_its_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let ledger = open(&path);
    let at = |micros| Some(Timestamp::from_micros(micros));
    for (id, expires_at) in [("never", None), ("late", at(9_000)), ("early", at(-7))] {
        let put = RecordWrite { expires_at, ..put(own(id), "x") };
        ledger.commit(Batch { put: vec![put], ..batch() }).wait().unwrap();
    }
    drop(ledger);
    let db = Connection::open(&path).unwrap();
    let mut rows = db.prepare("SELECT id, expires_at FROM records ORDER BY id").unwrap();
    let rows: Vec<(String, Option<i64>)> = rows
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(rows, [("late".to_owned(), Some(9_000)), ("never".to_owned(), None)]);
}
