//! The store: what is kept, what goes, and what is encrypted.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use weaver_firewall::handle::{
    self, BytesLocation, HandleAccess, HandleBudget, HandleEncryptionKey, HandleGrant, HandleStore,
    OpenResult, StoredHandle,
};
use weaver_firewall::view::ViewRegistry;
use weaver_firewall::{FrameSpec, HandleError, HandleQuery, MASK};
use weaver_types::ledger::{
    Batch, BlobStore as _, CommitTicket, Ledger, LedgerError, Namespace, Record, RecordKey,
    StoredEvent, TreeHead,
};
use weaver_types::{
    CallId, CapabilityDraft, Constraints, Label, OsRandom, PrincipalId, RawResult, ResponseMode,
    RunId, Tenant, Timestamp,
};

use crate::support::{Blobs, FIREWALL, capability, draft, spec};

const NOW: Timestamp = Timestamp::from_micros(1_767_323_045_000_006);

/// A store with its blobs, and the records that a ledger would hold.
struct World {
    handle_store: HandleStore,
    blobs: Blobs,
    records: BTreeMap<String, Vec<u8>>,
    now: Timestamp,
}

impl World {
    fn new(budget: HandleBudget, key: Option<HandleEncryptionKey>) -> Self {
        let handle_store = HandleStore::new(Tenant::default(), budget, key);
        Self { handle_store, blobs: Blobs::default(), records: BTreeMap::new(), now: NOW }
    }

    fn store(&self, raw: &RawResult) -> Result<StoredHandle, HandleError> {
        let grant = HandleGrant {
            tenant: &Tenant::default(),
            principal: &PrincipalId::parse("ann").unwrap(),
            run: &RunId::parse("run_1").unwrap(),
            call: &CallId::parse("call_1").unwrap(),
            capability: &capability(&[]),
            constraints: &Constraints::default(),
            pii_reader: false,
            label: &Label::undeclared_output(),
            views: &ViewRegistry::default(),
            now: self.now,
        };
        self.handle_store.store(raw, grant, &self.blobs, &OsRandom)
    }

    /// Stores and commits.
    fn keep(&mut self, raw: &RawResult) -> Result<StoredHandle, HandleError> {
        let stored = self.store(raw)?;
        self.records.insert(stored.put.key.id.as_ref().to_owned(), stored.put.value.clone());
        for key in &stored.delete {
            self.records.remove(key.id.as_ref());
        }
        Ok(stored)
    }

    fn open(&self, stored: &StoredHandle) -> Result<Value, HandleError> {
        let opened = self.opened(stored)?;
        let frame =
            FIREWALL.expand_open(&opened, &HandleQuery::default(), &spec(ResponseMode::Table))?;
        Ok(json!(frame.table))
    }

    fn opened(&self, stored: &StoredHandle) -> Result<Arc<OpenResult>, HandleError> {
        let id = &stored.handle.handle_id;
        let record = self.records.get(id.as_str());
        let record = record.map(|value| Record { version: 1, value: value.clone() });
        let access = HandleAccess {
            tenant: &Tenant::default(),
            principal: &PrincipalId::parse("ann").unwrap(),
            now: self.now,
        };
        let record = handle::authorized_record(id, record.as_ref(), access)?;
        self.handle_store.open(&record, &self.blobs)
    }
}

/// Its records, to be read.
impl Ledger for World {
    fn submit(&self, _: Arc<Batch>) -> CommitTicket {
        CommitTicket::ready(Err(LedgerError::Closed))
    }

    fn read(&self, key: &RecordKey) -> Result<Option<Record>, LedgerError> {
        let value = self.records.get(key.id.as_ref()).cloned();
        Ok(value.map(|value| Record { version: 1, value }))
    }

    fn list(
        &self,
        _: &Tenant,
        _: Namespace,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, Record)>, LedgerError> {
        let behind = self.records.iter().filter(|(id, _)| Some(id.as_str()) > after);
        let record = |value: &Vec<u8>| Record { version: 1, value: value.clone() };
        Ok(behind.take(limit).map(|(id, value)| (id.clone(), record(value))).collect())
    }

    fn events(&self, _: u64, _: usize) -> Result<Vec<StoredEvent>, LedgerError> {
        Ok(Vec::new())
    }

    fn head(&self) -> Result<TreeHead, LedgerError> {
        Err(LedgerError::Closed)
    }

    fn synced_head(&self) -> Result<TreeHead, LedgerError> {
        self.head()
    }
}

fn text(len: usize) -> RawResult {
    RawResult::json(json!("x".repeat(len)))
}

#[test]
fn an_open_result_shows_no_reader_what_another_may_see() {
    let mut world = World::new(HandleBudget::default(), None);
    let rows = json!([{"who": "joe@corp.example.com"}]);
    let masked = json!([{"who": MASK}]);
    let stored = world.keep(&RawResult::json(rows.clone())).unwrap();
    let view = HandleQuery::parse(&json!({"view": "get", "args": {"path": "[0]"}})).unwrap();
    let opened = world.opened(&stored).unwrap();
    let undeclared = draft(&[]).build().unwrap();
    let declared = CapabilityDraft { mask_personal: false, ..draft(&[]) }.build().unwrap();
    assert_eq!(
        declared.fingerprint(),
        undeclared.fingerprint(),
        "the contract is not a part of it"
    );
    for (capability, expected) in
        [(&undeclared, &masked), (&declared, &rows), (&undeclared, &masked)]
    {
        let spec = FrameSpec { capability, ..spec(ResponseMode::Table) };
        let frame = FIREWALL.expand_open(&opened, &view, &spec).unwrap();
        assert_eq!(json!(frame.table), *expected);
    }
}

#[test]
fn budgets_of_bytes_hold_as_the_reference_has_them() {
    // A text of n characters is n + 2 bytes of JSON.
    let mut world = World::new(HandleBudget::default().with_max_total_bytes(100).unwrap(), None);
    let mut usage = Vec::new();
    for size in [38, 38, 38, 98] {
        world.keep(&text(size)).unwrap();
        let (entries, bytes) = world.handle_store.usage().unwrap();
        assert_eq!(entries, world.records.len());
        usage.push((bytes, entries));
    }
    assert_eq!(usage, [(40, 1), (80, 2), (80, 2), (100, 1)]);
    let error = world.keep(&text(99)).unwrap_err();
    assert!(matches!(error, HandleError::TooLarge { size: 101, max: 100 }), "{error}");
    assert_eq!(world.handle_store.usage().unwrap(), (1, 100));

    let mut world = World::new(HandleBudget::default().with_max_entry_bytes(50).unwrap(), None);
    world.keep(&text(48)).unwrap();
    assert!(matches!(world.keep(&text(49)), Err(HandleError::TooLarge { size: 51, max: 50 })));
    assert_eq!(world.handle_store.usage().unwrap(), (1, 50));

    let mut world = World::new(HandleBudget::default().with_max_entries(2).unwrap(), None);
    for _ in 0..3 {
        world.keep(&text(1)).unwrap();
    }
    assert_eq!(world.handle_store.usage().unwrap(), (2, 6));

    assert!(HandleBudget::default().with_max_total_bytes(0).is_err());
    assert!(HandleBudget::default().with_max_entry_bytes(0).is_err());
    assert!(HandleBudget::default().with_max_entries(0).is_err());
    assert!(HandleBudget::default().with_ttl(Duration::ZERO).is_err());
}

#[test]
fn the_oldest_goes_first_and_its_bytes_with_it() {
    let mut world = World::new(HandleBudget::default().with_max_entries(2).unwrap(), None);
    let large = |n: usize| RawResult::json(json!(n.to_string().repeat(5_000)));
    let first = world.keep(&large(1)).unwrap();
    let second = world.keep(&large(2)).unwrap();
    assert_eq!(world.blobs.count(), 2);
    let third = world.keep(&large(3)).unwrap();
    assert_eq!(third.delete, std::slice::from_ref(&first.put.key));
    assert_eq!(world.blobs.count(), 2);
    assert_eq!(world.open(&first).unwrap_err().code(), "handle_not_found");
    assert!(world.open(&second).is_ok() && world.open(&third).is_ok());
}

#[test]
fn equal_bytes_lie_in_one_blob_until_the_last_goes() {
    let mut world = World::new(HandleBudget::default().with_max_entries(2).unwrap(), None);
    let same = text(5_000);
    let _ = world.keep(&same).unwrap();
    let second = world.keep(&same).unwrap();
    assert_eq!(world.blobs.count(), 1);
    world.keep(&text(1)).unwrap();
    assert!(world.open(&second).is_ok());
    world.keep(&text(1)).unwrap();
    assert_eq!(world.blobs.count(), 0);
}

#[test]
fn what_has_ended_is_removed() {
    let mut world = World::new(HandleBudget::default(), None);
    for _ in 0..3 {
        world.keep(&text(5_000)).unwrap();
    }
    world.now = NOW.after(handle::DEFAULT_TTL);
    let removed = world.handle_store.sweep(world.now, &world.blobs).unwrap();
    assert_eq!(
        (removed.len(), world.handle_store.usage().unwrap(), world.blobs.count()),
        (3, (0, 0), 0)
    );
    assert!(world.handle_store.sweep(world.now, &world.blobs).unwrap().is_empty());
}

#[test]
fn many_endings_are_shared_among_calls() {
    let mut world = World::new(HandleBudget::default(), None);
    for _ in 0..200 {
        world.keep(&text(1)).unwrap();
    }
    world.now = NOW.after(handle::DEFAULT_TTL);
    let counts: Vec<usize> = (0..4).map(|_| world.keep(&text(1)).unwrap().delete.len()).collect();
    assert_eq!(counts, [64, 64, 64, 8]);
    assert_eq!(world.records.len(), 4);
}

#[test]
fn what_was_refused_is_taken_back() {
    let mut world = World::new(HandleBudget::default().with_max_entries(1).unwrap(), None);
    let first = world.keep(&text(5_000)).unwrap();
    world.handle_store.keep_open(&first, text(5_000));
    let refused = world.store(&text(6_000)).unwrap();
    world.handle_store.rollback(&refused, &world.blobs);
    assert_eq!((world.handle_store.usage().unwrap(), world.blobs.count()), ((0, 0), 0));
    // The bytes are gone already, so that the record reads as expired, until it goes too.
    assert_eq!(world.open(&first).unwrap_err().code(), "handle_expired");
    let next = world.keep(&text(1)).unwrap();
    assert_eq!(next.delete, [first.put.key]);
}

#[test]
fn a_later_call_never_shows_the_bytes_of_an_earlier_one() {
    let mut world = World::new(HandleBudget::default(), None);
    for pad in [0, 5_000] {
        let call = |n: usize| RawResult::json(json!([{"n": n, "pad": "y".repeat(pad)}]));
        let first = world.keep(&call(1)).unwrap();
        world.handle_store.keep_open(&first, call(1));
        let second = world.keep(&call(2)).unwrap();
        assert_ne!(first.handle.handle_id, second.handle.handle_id);
        assert_eq!(world.open(&second).unwrap()[0]["n"], 2);
        assert_eq!(world.open(&first).unwrap()[0]["n"], 1);
    }
}

#[test]
fn what_is_kept_open_answers_as_what_is_read_again() {
    let mut world = World::new(HandleBudget::default(), None);
    let rows: Vec<Value> = (0..500).map(|n| json!({"id": n, "s": (["a", "b"][n % 2])})).collect();
    for raw in [RawResult::json(json!(rows)), RawResult::text(json!(rows).to_string())] {
        let kept = world.keep(&raw).unwrap();
        let read = world.keep(&raw).unwrap();
        world.handle_store.keep_open(&kept, raw);
        assert_eq!(world.open(&kept).unwrap(), world.open(&read).unwrap());
    }
}

#[test]
fn with_a_key_nothing_is_stored_in_the_clear() {
    let key = || HandleEncryptionKey::new([7; 32]);
    assert!(!format!("{:?}", key()).contains('7'));
    for len in [10, 10_000] {
        let mut world = World::new(HandleBudget::default(), Some(key()));
        let raw = RawResult::json(json!([{ "note": "sesame ".repeat(len / 7) }]));
        let (one, two) = (world.keep(&raw).unwrap(), world.keep(&raw).unwrap());
        let record = String::from_utf8(one.put.value.clone()).unwrap();
        assert!(!record.contains("sesame") && record.contains("\"sealed\":true"), "{record}");
        let blobs = world.blobs.all();
        assert_eq!(blobs.len(), if len > handle::MAX_INLINE_BYTES { 2 } else { 0 });
        assert!(!blobs.iter().any(|blob| blob.windows(6).any(|part| part == b"sesame")));
        assert!(world.open(&one).unwrap().to_string().contains("sesame"));
        assert!(world.open(&two).is_ok());

        let bare = HandleStore::new(Tenant::default(), HandleBudget::default(), None);
        let other = HandleStore::new(
            Tenant::default(),
            HandleBudget::default(),
            Some(HandleEncryptionKey::new([8; 32])),
        );
        let id = one.handle.handle_id.as_str();
        let record = handle::HandleRecord::from_bytes(id, &one.put.value).unwrap();
        let error = bare.open(&record, &world.blobs).unwrap_err();
        assert!(matches!(error, HandleError::Sealed { .. }), "{error}");
        let error = other.open(&record, &world.blobs).unwrap_err();
        assert!(matches!(error, HandleError::Damaged { .. }), "{error}");
        // The bytes of one handle are not those of another.
        let mut swapped = record.clone();
        let theirs = handle::HandleRecord::from_bytes(id, &two.put.value).unwrap();
        swapped.bytes = theirs.bytes;
        let fresh = HandleStore::new(Tenant::default(), HandleBudget::default(), Some(key()));
        assert!(matches!(fresh.open(&swapped, &world.blobs), Err(HandleError::Damaged { .. })));
        let mut broken = record.clone();
        if let BytesLocation::Inline(text) = &mut broken.bytes {
            text.push('!');
            assert!(matches!(fresh.open(&broken, &world.blobs), Err(HandleError::Damaged { .. })));
        }
    }
}

#[test]
fn a_handle_lives_as_long_as_the_budget_says() {
    let minute = Duration::from_secs(60);
    let budget = HandleBudget::default().with_ttl(minute).unwrap();
    assert_eq!((HandleBudget::default().ttl(), budget.ttl()), (handle::DEFAULT_TTL, minute));
    let mut world = World::new(budget, None);
    assert_eq!(world.handle_store.latest_expiry().unwrap(), None);
    let stored = world.keep(&text(1)).unwrap();
    assert_eq!(stored.handle.expires_at, NOW.after(minute));
    assert_eq!(world.handle_store.latest_expiry().unwrap(), Some(NOW.after(minute)));
}

#[test]
fn the_store_of_a_ledger_has_all_of_its_records_by_age() {
    let mut world = World::new(HandleBudget::default(), None);
    let mut ids = Vec::new();
    for second in 0..1_002 {
        world.now = NOW.after(Duration::from_secs(second));
        ids.push(world.keep(&text(1)).unwrap().handle.handle_id);
    }
    // Nobody can use a copy under another id, or what cannot be read.
    world.records.insert("hdl_copy".to_owned(), world.records[ids[0].as_str()].clone());
    world.records.insert("hdl_damaged".to_owned(), b"{}".to_vec());
    let budget = HandleBudget::default().with_max_entries(1_000).unwrap();
    let loaded = HandleStore::from_ledger(&Tenant::default(), &world, budget, None).unwrap();
    assert_eq!(loaded.usage().unwrap(), (1_002, 3 * 1_002));
    assert_eq!(loaded.latest_expiry().unwrap(), Some(world.now.after(handle::DEFAULT_TTL)));
    world.handle_store = loaded;
    let removed = world.keep(&text(1)).unwrap().delete;
    let removed: Vec<&str> = removed.iter().map(|key| key.id.as_ref()).collect();
    assert_eq!(removed, ids[..3].iter().map(|id| id.as_str()).collect::<Vec<_>>());
}

#[test]
fn a_blob_that_cannot_be_removed_is_tried_again() {
    let mut world = World::new(HandleBudget::default().with_max_entries(1).unwrap(), None);
    world.keep(&text(5_000)).unwrap();
    world.blobs.stick(true);
    world.keep(&text(6_000)).unwrap();
    assert_eq!(world.blobs.count(), 2);
    world.blobs.stick(false);
    world.keep(&text(7_000)).unwrap();
    assert_eq!(world.blobs.count(), 1);
    world.blobs.remove(&weaver_types::ledger::BlobId(capability(&[]).fingerprint())).unwrap();
}
