//! Pruned payloads are gone, also from the bytes of the file, and the log still proves itself.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use proptest::prelude::*;
use weaver_trace_store::prune::{PruneReason, PruningNote};
use weaver_trace_store::verify::{EventFault, LogExtent, LogSource, VerifyError, verify};
use weaver_trace_store::{EventRow, MemoryLedger, Reader, SqliteLedger};
use weaver_types::ledger::{Batch, BlobStore, Durability, Ledger, LedgerError, NewEvent, TreeHead};
use weaver_types::{EventKind, LogId, OsRandom, Timestamp};

use crate::support::{self, key, open};

const MARK: &str = "FORGETME";

/// A batch that prunes these events and says so.
fn pruning(seqs: &[u64]) -> Batch {
    let note = PruningNote::new(seqs.to_vec(), PruneReason::Age, "operator").unwrap();
    let event = NewEvent {
        kind: EventKind::Pruned,
        at: Timestamp::from_micros(1_000),
        run: None,
        call: None,
        payload: note.to_bytes().unwrap().into(),
    };
    Batch { prune: seqs.to_vec(), ..Batch::new(Durability::Disk).with_event(event) }
}

/// An event whose payload of about `size` bytes is made of its own mark.
fn marked(n: u64, size: usize) -> NewEvent {
    let mark = format!("{MARK}{n:06};");
    let text = mark.repeat(size / mark.len() + 1);
    NewEvent {
        kind: EventKind::Outcome,
        at: Timestamp::from_micros(1_000),
        run: None,
        call: None,
        payload: format!("{{\"n\":\"{text}\"}}").into_bytes().into(),
    }
}

fn fill(ledger: &dyn Ledger, sizes: &[usize]) {
    for (n, size) in sizes.iter().enumerate() {
        let batch = Batch::new(Durability::Os).with_event(marked(n as u64, *size));
        ledger.commit(batch).wait().unwrap();
    }
}

/// The numbers of all marks in the files of a ledger.
fn marks(path: &Path) -> std::collections::BTreeSet<u64> {
    let mut found = std::collections::BTreeSet::new();
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        let Ok(bytes) = std::fs::read(name) else { continue };
        for at in 0..bytes.len().saturating_sub(14) {
            if bytes[at..].starts_with(MARK.as_bytes()) {
                let number = std::str::from_utf8(&bytes[at + 8..at + 14]).unwrap_or("-");
                found.extend(number.parse::<u64>());
            }
        }
    }
    found
}

/// Waits until the writer says that nothing is left.
fn erased(ledger: &SqliteLedger) {
    for _ in 0..1_000 {
        if !ledger.is_erasing() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("the write-ahead log was not emptied");
}

fn reopened(path: &Path, earlier: &TreeHead) {
    let report = verify(&Reader::open(path).unwrap(), Some(earlier)).unwrap();
    assert_eq!(report.head.size, earlier.size);
    drop(open(path));
}

#[test]
fn a_pruned_log_verifies_against_an_earlier_head_and_counts_what_is_pruned() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let sqlite = open(&path);
    let memory = MemoryLedger::new(LogId::parse("log_test").unwrap(), Arc::new(OsRandom));
    fill(&sqlite, &[10; 50]);
    fill(&memory, &[10; 50]);
    let heads = (sqlite.head().unwrap(), memory.head().unwrap());
    let seqs: Vec<u64> = (0..50).filter(|seq| seq % 3 != 0).collect();
    sqlite.commit(pruning(&seqs)).wait().unwrap();
    memory.commit(pruning(&seqs)).wait().unwrap();
    let report = verify(&sqlite, Some(&heads.0)).unwrap();
    assert_eq!((report.pruned, report.head.size), (33, 51));
    assert!(report.proven().iter().any(|line| line.contains("33 of them are pruned")));
    assert_eq!(verify(&memory, Some(&heads.1)).unwrap().pruned, 33);
    let event = sqlite.events(1, 1).unwrap().remove(0);
    assert_eq!((event.salt, event.payload), (None, None));
    assert_eq!(
        weaver_trace_store::entry::EventHeader::parse(&event.header).unwrap().kind,
        EventKind::Outcome
    );
    drop(sqlite);
    reopened(&path, &report.head);
}

#[test]
fn a_payload_that_is_gone_without_a_note_is_found_beside_pruned_ones() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let ledger = open(&path);
    fill(&ledger, &[10; 20]);
    ledger.commit(pruning(&[3, 4, 5])).wait().unwrap();
    fill(&ledger, &[10; 3]);
    drop(ledger);
    let db = rusqlite::Connection::open(&path).unwrap();
    let gone = "UPDATE events SET salt = NULL, payload = NULL WHERE seq = ?1";
    for (seq, found) in [(6, 6), (22, 6), (20, 20)] {
        db.execute(gone, [seq]).unwrap();
        let reader = Reader::open(&path).unwrap();
        match verify(&reader, None) {
            Err(VerifyError::Event { seq, fault: EventFault::Gone }) => assert_eq!(seq, found),
            other => panic!("{seq}: {other:?}"),
        }
    }
}

/// A log in which somebody prunes an event right after its extent was read for the first time.
struct PrunedMeanwhile {
    ledger: MemoryLedger,
    first_extent: Mutex<Option<LogExtent>>,
}

impl LogSource for PrunedMeanwhile {
    fn extent(&self) -> Result<LogExtent, LedgerError> {
        self.first_extent.lock().unwrap().take().map_or_else(|| self.ledger.extent(), Ok)
    }

    fn rows(&self, from: u64, limit: usize) -> Result<Vec<EventRow>, LedgerError> {
        self.ledger.rows(from, limit)
    }
}

#[test]
fn a_verification_reads_the_note_for_what_is_pruned_meanwhile() {
    let ledger = MemoryLedger::new(LogId::parse("log_test").unwrap(), Arc::new(OsRandom));
    fill(&ledger, &[10; 4]);
    let first_extent = Mutex::new(Some(ledger.extent().unwrap()));
    ledger.commit(pruning(&[1])).wait().unwrap();
    let report = verify(&PrunedMeanwhile { ledger, first_extent }, None).unwrap();
    assert_eq!((report.head.size, report.pruned), (5, 1));
}

#[test]
fn nothing_of_a_pruned_payload_is_left_in_the_bytes_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let ledger = open(&path);
    // Small ones share pages, large ones have pages of their own.
    let sizes: Vec<usize> = (0..400).map(|n| [20, 200, 900, 3_900, 9_000, 70][n % 6]).collect();
    fill(&ledger, &sizes);
    assert_eq!(marks(&path).len(), 400, "the test cannot see the payloads");
    let seqs: Vec<u64> = (0..400).filter(|n| n % 7 != 0).collect();
    for part in seqs.chunks(60) {
        ledger.commit(pruning(part)).wait().unwrap();
    }
    assert!(ledger.is_erasing());
    erased(&ledger);
    let left: Vec<u64> = (0..400).filter(|n| n % 7 == 0).collect();
    assert_eq!(marks(&path).into_iter().collect::<Vec<_>>(), left);
    assert_eq!(verify(&ledger, None).unwrap().pruned, 342);
}

#[test]
fn a_reader_in_the_way_delays_the_erasing_and_is_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let ledger = open(&path);
    fill(&ledger, &[100; 20]);
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch("BEGIN").unwrap();
    let _: i64 = db.query_row("SELECT count(*) FROM events", [], |row| row.get(0)).unwrap();
    ledger.commit(pruning(&[1, 2])).wait().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    assert!(ledger.is_erasing(), "a snapshot still shows what was pruned");
    assert!(marks(&path).contains(&1));
    db.execute_batch("COMMIT").unwrap();
    erased(&ledger);
    assert!(!marks(&path).contains(&1) && marks(&path).contains(&3));
}

#[test]
fn removed_blobs_and_records_are_erased_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let ledger = open(&path);
    let id = ledger.blobs().put(format!("{MARK}000001;").repeat(2_000).as_bytes()).unwrap();
    let record = format!("{MARK}000002;").repeat(50).into_bytes();
    ledger.commit(Batch::new(Durability::Disk).create(key("r"), record, None)).wait().unwrap();
    assert_eq!(marks(&path).len(), 2);
    ledger.blobs().remove(&id).unwrap();
    let gone = Batch { delete: vec![key("r")], ..Batch::new(Durability::Disk) };
    ledger.commit(gone).wait().unwrap();
    drop(ledger);
    assert!(marks(&path).is_empty(), "{:?}", marks(&path));
}

const PLACE: &str = "WEAVER_TEST_PRUNING_LEDGER";

/// What the child does: it appends and prunes for ever, and says what was acknowledged.
#[test]
fn child() {
    let Ok(path) = std::env::var(PLACE) else { return };
    let ledger = open(Path::new(&path));
    loop {
        let first = ledger.head().unwrap().size;
        for n in 0..20 {
            let batch = Batch::new(Durability::Os).with_event(marked(first + n, 2_000));
            ledger.commit(batch).wait().unwrap();
        }
        let seqs: Vec<u64> = (first..first + 20).filter(|seq| seq % 4 != 0).collect();
        for part in seqs.chunks(5) {
            ledger.commit(pruning(part)).wait().unwrap();
            let mut out = std::io::stdout().lock();
            out.write_all(format!("\n@ {}\n", part.len()).as_bytes()).unwrap();
            out.flush().unwrap();
        }
    }
}

#[test]
fn kills_leave_what_was_pruned_pruned_and_nothing_gone_that_was_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let mut acknowledged = 0;
    for round in 1..=8 {
        let mut child = support::child("pruning::child", PLACE, &path);
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut told = lines
            .map_while(Result::ok)
            .filter_map(|line| line.strip_prefix("@ ").and_then(|count| count.parse::<u64>().ok()));
        acknowledged += told.by_ref().take(round * 3).sum::<u64>();
        child.kill().unwrap();
        child.wait().unwrap();
        acknowledged += told.sum::<u64>();
        let report = verify(&Reader::open(&path).unwrap(), None).unwrap();
        // The last one may be committed and not told, once a round.
        let untold = report.pruned - acknowledged;
        assert!(untold <= 5 * round as u64, "{untold} more were pruned than was told");
    }
    // A process died while it pruned: what it left is erased by the next one.
    let ledger = open(&path);
    erased(&ledger);
    let there = |seq: &u64| ledger.events(*seq, 1).unwrap()[0].payload.is_some();
    let left = marks(&path);
    assert!(left.iter().all(there), "bytes of a pruned payload are left");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// In whatever order and sizes: what stays is readable, what went is not in the bytes.
    #[test]
    fn pruning_in_any_order_leaves_no_bytes_behind(
        sizes in proptest::collection::vec(prop_oneof![1_usize..300, 1_000_usize..5_000], 20..120),
        picks in proptest::collection::vec(any::<prop::sample::Index>(), 1..60),
        step in 1_usize..9,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.db");
        let ledger = open(&path);
        fill(&ledger, &sizes);
        let mut seqs: Vec<u64> = Vec::new();
        for pick in picks {
            let seq = pick.index(sizes.len()) as u64;
            if !seqs.contains(&seq) {
                seqs.push(seq);
            }
        }
        for part in seqs.chunks(step) {
            ledger.commit(pruning(part)).wait().unwrap();
        }
        prop_assert_eq!(verify(&ledger, None).unwrap().pruned, seqs.len() as u64);
        drop(ledger);
        let left: Vec<u64> = (0..sizes.len() as u64).filter(|n| !seqs.contains(n)).collect();
        prop_assert_eq!(marks(&path).into_iter().collect::<Vec<_>>(), left);
    }
}
