//! What a batch may hold: the most of everything is taken, and one more is refused by its name.

use weaver_trace_store::prune::{MAX_PRUNED_BY_CHARS, PruneReason, PruningNote, PruningNoteError};
use weaver_trace_store::{MAX_BATCH_RECORDS, MAX_KEY, MAX_VALUE};
use weaver_types::ledger::{
    Batch, BlobId, BlobReference, CounterChange, Durability, GuardedWrite, Ledger, LedgerError,
    MAX_BATCH_EVENTS, MAX_BATCH_PRUNE, MAX_PAYLOAD, Namespace, NewEvent, RecordKey, RecordWrite,
    VersionGuard,
};
use weaver_types::{Digest, EventKind, Tenant, Timestamp};

use crate::support::{event, memory};

fn key(id: &str) -> RecordKey {
    RecordKey::new(Tenant::default(), Namespace::TokenUse, id)
}

fn put(id: &str, value: Vec<u8>) -> RecordWrite {
    RecordWrite { key: key(id), value, expires_at: None }
}

fn batch() -> Batch {
    Batch::new(Durability::Os)
}

fn refused(batch: Batch) -> String {
    let error = memory().commit(batch).wait().unwrap_err();
    assert!(matches!(error, LedgerError::Malformed(_)), "{error}");
    error.to_string()
}

fn is_taken(batch: Batch) -> bool {
    memory().commit(batch).wait().is_ok()
}

/// So many of one kind of what counts as a record, beside one that is written.
fn filled(kind: usize, count: usize) -> Batch {
    let ids = || (0..count).map(|n| format!("r{n}"));
    let mut batch = Batch { put: vec![put("own", Vec::new())], ..batch() };
    match kind {
        0 => batch.expect = ids().map(|id| VersionGuard { key: key(&id), version: None }).collect(),
        1 => {
            let replaced =
                ids().map(|id| GuardedWrite { put: put(&id, Vec::new()), version: None });
            batch.replace = replaced.collect();
        }
        2 => {
            batch.add =
                ids().map(|id| CounterChange { key: key(&id), delta: 1, min: 0, max: 9 }).collect();
        }
        3 => batch.put.extend(ids().map(|id| put(&id, Vec::new()))),
        4 => batch.delete = ids().map(|id| key(&id)).collect(),
        _ => {
            let used =
                |_| BlobReference { key: key("own"), blob: BlobId(Digest::from_bytes([1; 32])) };
            batch.blobs = ids().map(used).collect();
        }
    }
    batch
}

#[test]
fn guards_counters_writes_removals_and_uses_of_blobs_count_together() {
    let most = MAX_BATCH_RECORDS - 1;
    for kind in [0, 2, 3, 4, 5] {
        assert!(is_taken(filled(kind, most)), "kind {kind}");
        let said = "the batch is malformed: 4097 guards and records, at most 4096";
        assert_eq!(refused(filled(kind, most + 1)), said, "kind {kind}");
    }
    // What replaces a record counts as its guard, too.
    assert!(is_taken(filled(1, most / 2)));
    assert!(refused(filled(1, most / 2 + 1)).contains("4097 guards and records"));
}

#[test]
fn keys_and_values_have_their_longest() {
    let long = |count: usize| "k".repeat(count);
    assert!(is_taken(Batch { put: vec![put(&long(MAX_KEY), vec![0; MAX_VALUE])], ..batch() }));
    let said = "the batch is malformed: a key in token.use has 513 bytes, at most 512";
    let key = || key(&long(MAX_KEY + 1));
    let add = CounterChange { key: key(), delta: 1, min: 0, max: 9 };
    let replace = GuardedWrite { put: put(&long(MAX_KEY + 1), Vec::new()), version: None };
    for bad in [
        Batch { put: vec![put(&long(MAX_KEY + 1), Vec::new())], ..batch() },
        Batch { add: vec![add], ..batch() },
        Batch { replace: vec![replace], ..batch() },
        Batch { delete: vec![key()], ..batch() },
        Batch { expect: vec![VersionGuard { key: key(), version: None }], ..batch() },
    ] {
        assert_eq!(refused(bad), said);
    }
    let large = put("r", vec![0; MAX_VALUE + 1]);
    let said =
        "the batch is malformed: record local/token.use/r holds 1048577 bytes, at most 1048576";
    assert_eq!(refused(Batch { put: vec![large.clone()], ..batch() }), said);
    let replace = GuardedWrite { put: large, version: None };
    assert_eq!(refused(Batch { replace: vec![replace], ..batch() }), said);
}

#[test]
fn a_use_of_a_blob_belongs_to_a_record_that_the_batch_writes_and_keeps() {
    let used = |id: &str| BlobReference { key: key(id), blob: BlobId(Digest::from_bytes([1; 32])) };
    let written = |id: &str| Batch { put: vec![put(id, Vec::new())], ..batch() };
    assert!(is_taken(Batch { blobs: vec![used("a")], ..written("a") }));
    let said = "the batch is malformed: record local/token.use/a names a blob and is not written";
    for bad in [
        Batch { blobs: vec![used("a")], ..batch() },
        Batch { blobs: vec![used("a")], ..written("b") },
        Batch { blobs: vec![used("b"), used("a")], ..written("b") },
        Batch { blobs: vec![used("a")], delete: vec![key("a")], ..written("a") },
    ] {
        assert_eq!(refused(bad), said);
    }
}

#[test]
fn events_have_their_most_their_largest_and_their_latest() {
    let events = |count: usize| Batch { events: vec![event(1, "{}".to_owned()); count], ..batch() };
    assert!(is_taken(events(MAX_BATCH_EVENTS)));
    let said = format!(
        "the batch is malformed: {} events, at most {MAX_BATCH_EVENTS}",
        MAX_BATCH_EVENTS + 1
    );
    assert_eq!(refused(events(MAX_BATCH_EVENTS + 1)), said);
    let two = |second: NewEvent| batch().with_event(event(1, "{}".to_owned())).with_event(second);
    let sized = |size: usize| two(event(1, format!("\"{}\"", "x".repeat(size - 2))));
    assert!(is_taken(sized(MAX_PAYLOAD)));
    let said =
        format!("event 1 (call.intent) has {} bytes, at most {MAX_PAYLOAD}", MAX_PAYLOAD + 1);
    assert!(refused(sized(MAX_PAYLOAD + 1)).ends_with(&said));
    let said = refused(two(event(1, "{ }".to_owned())));
    assert!(said.contains("the payload of event 1 (call.intent) is not canonical JSON"), "{said}");
    for (at, taken) in
        [(1_i64 << 53, true), (-(1 << 53), true), ((1 << 53) + 1, false), (-(1 << 53) - 1, false)]
    {
        assert_eq!(is_taken(two(event(at, "{}".to_owned()))), taken, "{at}");
    }
    let said = refused(two(event(i64::MAX, "{}".to_owned())));
    assert!(said.ends_with("event 1 (call.intent) is after year 2255"), "{said}");
}

#[test]
fn a_store_of_records_takes_records_and_nothing_else() {
    use weaver_trace_store::{RecordsOptions, SqliteRecords};
    use weaver_types::ledger::RecordStore;
    let folder = tempfile::tempdir().unwrap();
    let store =
        SqliteRecords::open(folder.path().join("records"), RecordsOptions::default()).unwrap();
    let written = || Batch { put: vec![put("a", Vec::new())], ..batch() };
    let used = BlobReference { key: key("a"), blob: BlobId(Digest::from_bytes([1; 32])) };
    for bad in [
        written().with_event(event(1, "{}".to_owned())),
        Batch { prune: vec![0], ..written() },
        Batch { blobs: vec![used], ..written() },
    ] {
        let said = store.apply(bad).unwrap_err().to_string();
        let wanted = "the batch is malformed: a store of records has no log and no blobs; leave events, \
                      pruning and uses of blobs out";
        assert_eq!(said, wanted);
    }
    assert_eq!(store.read(&key("a")).unwrap(), None);
    store.apply(written()).unwrap();
    assert!(store.read(&key("a")).unwrap().is_some());
    assert!(store.read(&key(&"k".repeat(MAX_KEY))).unwrap().is_none());
    assert!(store.read(&key(&"k".repeat(MAX_KEY + 1))).is_err());
}

#[test]
fn who_pruned_has_a_name_of_some_length_without_control_characters() {
    let note = |by: &str| PruningNote::new(vec![3], PruneReason::Age, by).map(drop);
    assert_eq!(note(&"\u{e9}".repeat(MAX_PRUNED_BY_CHARS)), Ok(()));
    for bad in ["", "a\nb", "\u{85}", &"\u{e9}".repeat(MAX_PRUNED_BY_CHARS + 1)] {
        assert_eq!(note(bad), Err(PruningNoteError::Field("by")), "{bad:?}");
    }
}

#[test]
fn a_note_names_its_events_and_no_others() {
    for (seqs, ranges) in [
        (vec![0], vec![(0, 0)]),
        (vec![5, 4, 9, 6], vec![(4, 6), (9, 9)]),
        (vec![1, 3, 5], vec![(1, 1), (3, 3), (5, 5)]),
        (vec![u64::MAX, u64::MAX - 1], vec![(u64::MAX - 1, u64::MAX)]),
    ] {
        let note = PruningNote::new(seqs.clone(), PruneReason::Kind, "x").unwrap();
        assert_eq!(note.ranges(), ranges);
        assert_eq!(
            (note.count(), note.reason(), note.by()),
            (seqs.len() as u64, PruneReason::Kind, "x")
        );
        for seq in (0..12).chain([u64::MAX - 2, u64::MAX - 1, u64::MAX]) {
            assert_eq!(note.names(seq), seqs.contains(&seq), "{seq} in {seqs:?}");
        }
    }
    assert_eq!(
        PruningNote::new(vec![1 << 54], PruneReason::Age, "x").unwrap().to_bytes(),
        Err(PruningNoteError::Form)
    );
}

fn noted(seqs: impl Iterator<Item = u64>) -> Batch {
    let seqs: Vec<u64> = seqs.collect();
    let payload =
        PruningNote::new(seqs.clone(), PruneReason::Age, "x").unwrap().to_bytes().unwrap();
    let at = Timestamp::from_micros(1);
    let kind = EventKind::Pruned;
    let event = NewEvent { kind, at, run: None, call: None, payload: payload.into() };
    Batch { prune: seqs, ..batch() }.with_event(event)
}

#[test]
fn as_much_is_pruned_at_once_as_one_note_may_name() {
    let ledger = memory();
    let most = MAX_BATCH_PRUNE as u64;
    let told = NewEvent { kind: EventKind::Late, ..event(1, "{}".to_owned()) };
    for _ in 0..=most.div_euclid(500) {
        let events = vec![told.clone(); 500];
        ledger.commit(Batch { events, ..batch() }).wait().unwrap();
    }
    let both = |more: u64| noted(0..most / 2).join(noted(most / 2..most + more));
    let said = ledger.commit(both(1)).wait().unwrap_err().to_string();
    assert!(said.ends_with("it prunes more than 1024 events"), "{said}");
    let unnoted = Batch { prune: (0..=most).collect(), ..batch() };
    let said = ledger.commit(unnoted).wait().unwrap_err().to_string();
    assert!(said.ends_with("it prunes 1025 events, at most 1024"), "{said}");
    ledger.commit(both(0)).wait().unwrap();
    let events = ledger.events(most - 1, 2).unwrap();
    assert!(events[0].payload.is_none() && events[1].payload.is_some());
}

#[test]
fn the_bounds_are_those_that_are_documented() {
    use weaver_trace_store::checkpoint::{
        MAX_LOG_SIZE, MAX_NOTE_BYTES, MAX_PROOF_BYTES, MAX_SIGNATURES,
    };
    use weaver_trace_store::merkle::{TILE_BYTES, TILE_HEIGHT, TILE_WIDTH};
    use weaver_trace_store::{MAX_QUEUE, MAX_QUEUE_BYTES};

    assert_eq!((MAX_KEY, MAX_VALUE, MAX_BATCH_RECORDS), (512, 1_048_576, 4_096));
    assert_eq!((MAX_QUEUE, MAX_QUEUE_BYTES), (4_096, 268_435_456));
    assert_eq!((MAX_NOTE_BYTES, MAX_SIGNATURES, MAX_PROOF_BYTES), (65_536, 64, 16_777_216));
    assert_eq!(MAX_LOG_SIZE, 9_007_199_254_740_992);
    assert_eq!((TILE_HEIGHT, TILE_WIDTH, TILE_BYTES), (8, 256, 8_160));
    assert_eq!(weaver_trace_store::prune::INTENT_AGE, 3_600_000_000);
    assert_eq!(weaver_trace_store::retention::MIN_AGE.as_secs(), 86_400);
    assert_eq!(weaver_trace_store::OpenOptions::default().max_wal_bytes, 268_435_456);
}
