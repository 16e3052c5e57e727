//! Stored results: within their budget, over a restart, encrypted, and never more than was allowed.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use weaver_agent_kernel::{Caller, Invocation, Kernel, KernelBuilder, Ports, Settings, block_on};
use weaver_firewall::HandleQuery;
use weaver_firewall::handle::{
    self, BytesLocation, HandleBudget, HandleEncryptionKey, HandleRecord,
};
use weaver_policy::{Effect, Policy, Rule};
use weaver_types::ledger::{Batch, BlobId, BlobStore, Durability, Ledger, Namespace, RecordWrite};
use weaver_types::{
    Clock, Constraints, Effects, Frame, HandleId, ManualClock, OsRandom, RawResult, ReasonCode,
    Remedy, RunContext, RunSettings, Tenant, Verdict,
};

use crate::support::{
    Asked, START, ana, draft, log, memory, open_policy, parts, sqlite, succeeded,
};

/// A kernel with a tool that answers with as many rows as it is asked for.
struct Desk {
    kernel: Kernel,
    ledger: Arc<dyn Ledger>,
    run: RunContext,
}

impl Desk {
    fn new(parts: KernelBuilder, clock: &ManualClock) -> Self {
        let kernel = parts.open().unwrap();
        let ledger = Arc::clone(kernel.ledger());
        let rows = |arguments: Value| -> Value {
            let count = arguments["rows"].as_u64().unwrap();
            let row = |n| json!({ "id": n, "state": if n % 2 == 0 { "even" } else { "odd" }, "note": "sesame street", "mail": format!("p{n}@corp.example.com") });
            (0..count).map(row).collect()
        };
        let driver = weaver_agent_kernel::FnDriver::inline(move |call| {
            Ok(RawResult::json(rows(Value::Object(call.arguments().clone()))))
        });
        let capability = draft("db.rows", Effects::READ_LOCAL).build().unwrap();
        kernel.registry().register(capability, Arc::new(driver)).unwrap();
        let settings =
            RunSettings { budget: weaver_types::RunBudget::unlimited(), ..RunSettings::default() };
        let run = RunContext::create(settings, clock, &OsRandom).unwrap();
        Self { kernel, ledger, run }
    }

    fn call(&self, rows: u64) -> Frame {
        let who = ana();
        let asked = Asked::new("db.rows").with(json!({ "rows": rows }));
        let done =
            block_on(self.kernel.execute(Caller { run: &self.run, principal: &who }, asked.call()));
        assert!(succeeded(&done), "{done:?}");
        done.result.unwrap().data.unwrap()
    }

    fn ask(&self, id: &HandleId, query: Value) -> Invocation {
        let who = ana();
        let query = HandleQuery::parse(&query).unwrap();
        block_on(self.kernel.expand(Caller { run: &self.run, principal: &who }, id, &query))
    }

    fn records(&self) -> usize {
        self.ledger.list(&Tenant::default(), Namespace::Handle, None, 1_000).unwrap().len()
    }
}

fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::new(START))
}

fn desk(budget: HandleBudget) -> Desk {
    let clock = clock();
    let own = Arc::clone(&clock) as Arc<dyn Clock>;
    let settings = Settings { handles: budget, ..Settings::default() };
    Desk::new(parts(memory(), own, open_policy()).with_settings(settings), &clock)
}

fn on_disk(path: &Path, clock: &Arc<ManualClock>, key: Option<HandleEncryptionKey>) -> Desk {
    let ledger = sqlite(path);
    let blobs = Arc::new(ledger.blobs());
    let own = Arc::clone(clock) as Arc<dyn Clock>;
    let ports = Ports { handle_key: key, ..Ports::default() };
    let store: Arc<dyn Ledger> = ledger.clone();
    let parts = parts(ledger, own, open_policy()).with_store(store, blobs).with_ports(ports);
    Desk::new(parts, clock)
}

fn id_of(frame: &Frame) -> HandleId {
    frame.handle.as_ref().unwrap().handle_id.clone()
}

fn table(done: &Invocation) -> Value {
    assert!(succeeded(done), "{done:?}");
    json!(done.result.as_ref().unwrap().data.as_ref().unwrap().table)
}

#[test]
fn a_malformed_query_of_a_result_is_an_error_in_the_arguments_and_no_denial() {
    let desk = desk(HandleBudget::default());
    let id = id_of(&desk.call(60));
    for (query, hint) in [
        (json!({"view": "rows"}), "view"),
        (json!({"sort": ["nothing"]}), "nothing"),
        (json!({"view": "get", "args": {"path": "a..b"}}), "`path`"),
    ] {
        let done = desk.ask(&id, query.clone());
        let reason = done.decision.primary_reason();
        assert_eq!(
            (done.decision.verdict(), reason),
            (Verdict::Ask, ReasonCode::InvalidConstraint),
            "{query}"
        );
        assert!(done.decision.detail().contains(hint), "{}", done.decision.detail());
        let remedy = done.decision.obstacles().next().map(|one| one.discharge.clone());
        assert_eq!(remedy, Some(Remedy::Arguments), "{query}");
    }
}

#[test]
fn the_oldest_result_goes_with_the_batch_of_the_call_that_needs_its_place() {
    let desk = desk(HandleBudget::default().with_max_entries(2).unwrap());
    let frames: Vec<Frame> = (0..4).map(|_| desk.call(60)).collect();
    assert_eq!(desk.records(), 2);
    for (frame, reason) in frames.iter().zip([true, true, false, false]) {
        let done = desk.ask(&id_of(frame), json!({"limit": 1}));
        assert_eq!(
            done.decision.primary_reason() == ReasonCode::HandleNotFound,
            reason,
            "{done:?}"
        );
        assert_eq!(succeeded(&done), !reason);
    }
    // Nothing but the calls and the views is in the log: evictions ride in their batches.
    let kinds: Vec<String> =
        log(desk.ledger.as_ref()).into_iter().map(|event| event.kind).collect();
    assert!(kinds.iter().all(|kind| !kind.contains("evict")), "{kinds:?}");
}

#[test]
fn what_is_too_large_to_keep_is_shown_all_the_same() {
    let desk = desk(HandleBudget::default().with_max_entry_bytes(1_000).unwrap());
    let frame = desk.call(60);
    assert!(frame.handle.is_none() && !frame.table.is_empty());
    let warned = frame.warnings.iter().any(|warning| warning.kind == "not_stored_too_large");
    assert!(warned, "{:?}", frame.warnings);
    assert!(desk.call(1).handle.is_some());
    assert_eq!(desk.records(), 1);
}

#[test]
fn handles_name_their_views_and_live_as_long_as_they_are_told() {
    let desk = desk(HandleBudget::default().with_ttl(Duration::from_secs(60)).unwrap());
    let handle = desk.call(3).handle.unwrap();
    assert_eq!(*handle.views, ["chars", "get", "keys", "lines", "paths", "search"]);
    assert_eq!(handle.expires_at, handle.created_at.after(Duration::from_secs(60)));
    let paths = table(&desk.ask(&handle.handle_id, json!({"view": "keys"})));
    assert_eq!(paths[0]["key"], "id");
}

#[test]
fn a_result_is_there_after_a_restart_and_gone_after_its_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let clock = clock();
    let ids = {
        let desk = on_disk(&path, &clock, None);
        [id_of(&desk.call(2)), id_of(&desk.call(500))]
    };
    let desk = on_disk(&path, &clock, None);
    assert_eq!(desk.records(), 2);
    let query = json!({"filter": {"state": "odd"}, "sort": "-id", "limit": 1, "fields": ["id"]});
    assert_eq!(table(&desk.ask(&ids[0], query.clone())), json!([{"id": 1}]));
    assert_eq!(table(&desk.ask(&ids[1], query.clone())), json!([{"id": 499}]));
    let blob = blob_of(&desk, &ids[1]);
    drop(desk);
    // Its record names it, so it outlives the sweep of blobs that nobody names.
    let ledger = sqlite(&path);
    let unnamed = ledger.blobs().put(b"written, and its batch never came").unwrap();
    drop(ledger);
    let ledger = sqlite(&path);
    while ledger.is_sweeping() {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(ledger.blobs().get(&blob).unwrap().is_some());
    assert_eq!(ledger.blobs().get(&unnamed).unwrap(), None);
    drop(ledger);
    clock.advance(Duration::from_secs(3_600));
    let desk = on_disk(&path, &clock, None);
    assert_eq!(desk.records(), 0);
    let gone = desk.ask(&ids[1], query);
    assert_eq!(gone.decision.primary_reason(), ReasonCode::HandleNotFound);
    // The bytes went with the record.
    assert_eq!(sqlite_blobs(desk, &path).get(&blob).unwrap(), None);
}

/// The blobs of a ledger's file, once nobody else has it open.
fn sqlite_blobs(desk: Desk, path: &Path) -> impl BlobStore {
    drop(desk);
    sqlite(path).blobs()
}

fn blob_of(desk: &Desk, id: &HandleId) -> BlobId {
    let key = handle::record_key(&Tenant::default(), id);
    let record = desk.ledger.read(&key).unwrap().unwrap();
    let record = HandleRecord::from_bytes(id.as_str(), &record.value).unwrap();
    let BytesLocation::Blob(blob) = record.bytes else { panic!("it is large") };
    blob
}

#[test]
fn with_a_key_the_store_holds_nothing_in_the_clear() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let clock = clock();
    let key = || Some(HandleEncryptionKey::new([9; 32]));
    let id = {
        let desk = on_disk(&path, &clock, key());
        let small = id_of(&desk.call(1));
        assert_eq!(
            table(&desk.ask(&small, json!({"fields": ["note"]})))[0]["note"],
            "sesame street"
        );
        id_of(&desk.call(500))
    };
    for file in std::fs::read_dir(folder.path()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!bytes.windows(13).any(|part| part == b"sesame street"));
    }
    let desk = on_disk(&path, &clock, key());
    assert_eq!(
        table(&desk.ask(&id, json!({"offset": 499, "fields": ["id"]}))),
        json!([{"id": 499}])
    );
    drop(desk);
    let without = on_disk(&path, &clock, None);
    let refused = without.ask(&id, json!({}));
    assert_eq!(refused.decision.primary_reason(), ReasonCode::InternalError);
    assert!(refused.decision.detail().contains("encrypted"), "{refused:?}");
}

#[test]
fn a_record_under_the_key_of_another_stops_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (path, clock) = (folder.path().join("ledger.db"), clock());
    let desk = on_disk(&path, &clock, None);
    let (first, second) = (id_of(&desk.call(2)), id_of(&desk.call(2)));
    let key = |id: &HandleId| handle::record_key(&Tenant::default(), id);
    let value = desk.ledger.read(&key(&first)).unwrap().unwrap().value;
    let copy = RecordWrite { key: key(&second), value, expires_at: None };
    block_on(desk.ledger.commit(Batch { put: vec![copy], ..Batch::new(Durability::Os) })).unwrap();
    drop(desk);
    clock.advance(2 * handle::DEFAULT_TTL);
    let desk = on_disk(&path, &clock, None);
    assert!(desk.ledger.read(&key(&first)).unwrap().is_none(), "it has ended");
    assert_eq!(desk.records(), 1, "what is under the wrong key is left alone");
    assert_eq!(desk.ask(&second, json!({})).decision.primary_reason(), ReasonCode::HandleNotFound);
    desk.call(2);
}

#[test]
fn a_handle_that_is_only_its_id_loosens_nothing() {
    // The reference system rebuilds a handle from its id and loses principal, row cap and fields.
    let limits = Constraints {
        max_rows: Some(3),
        allowed_fields: Some(["id".to_owned(), "state".to_owned()].into()),
        ..Constraints::default()
    };
    let mut rule = Rule::new("all", Effect::Allow);
    rule.constraints = limits;
    let clock = clock();
    let own = Arc::clone(&clock) as Arc<dyn Clock>;
    let desk = Desk::new(parts(memory(), own, Policy::new("narrow").with_rule(rule)), &clock);
    let id = HandleId::parse(id_of(&desk.call(60)).as_str()).unwrap();
    assert_eq!(table(&desk.ask(&id, json!({}))).as_array().unwrap().len(), 3);
    for query in [
        json!({"limit": 4}),
        json!({"fields": ["note"]}),
        json!({"filter": {"note": "sesame street"}}),
        json!({"filter": {"mail": {"contains": "p7@"}}}),
        json!({"sort": "note"}),
        json!({"group_by": "note"}),
        json!({"view": "get", "args": {"path": "[0].note"}}),
    ] {
        let refused = desk.ask(&id, query.clone());
        assert_eq!(
            refused.decision.primary_reason(),
            ReasonCode::HandleConstraintViolation,
            "{query}"
        );
        assert!(!succeeded(&refused));
    }
    let rows = table(&desk.ask(&id, json!({"filter": {"state": "odd"}, "sort": "-id"})));
    assert_eq!(
        rows,
        json!([{"id": 59, "state": "odd"}, {"id": 57, "state": "odd"}, {"id": 55, "state": "odd"}])
    );
}
