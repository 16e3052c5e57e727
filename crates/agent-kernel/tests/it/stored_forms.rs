//! What the kernel stores: to the byte, and that a newer form is refused and left alone.

use std::sync::{Arc, Mutex};

use serde_json::json;
use weaver_agent_kernel::{FnDriver, KernelError, RunState, block_on};
use weaver_types::canonical::{self, Profile};
use weaver_types::ledger::{Batch, Durability, Ledger, Namespace, NewEvent, RecordKey};
use weaver_types::{
    Clock, Effects, EventKind, ManualClock, RawResult, ReasonCode, RunId, Tenant, TokenClaims,
    Verdict,
};

use crate::support::{
    Asked, START, World, ana, answer, draft, kinds, log, memory, open_policy, parts, snapshot,
    succeeded,
};

const CLAIMS: &str = include_str!("../data/token_claims.json");
const RUN_STATE: &str = include_str!("../data/run_state.json");
const OPEN_CALL: &str = include_str!("../data/open_call.json");

fn key(namespace: Namespace, id: &str) -> RecordKey {
    RecordKey::new(Tenant::default(), namespace, id)
}

/// A ledger that holds one record.
fn holding(namespace: Namespace, id: &str, value: &str) -> Arc<dyn Ledger> {
    let ledger = memory();
    let value = value.trim_end().as_bytes().to_vec();
    let batch = Batch::new(Durability::Os).create(key(namespace, id), value, None);
    block_on(ledger.commit(batch)).unwrap();
    ledger
}

fn text(ledger: &dyn Ledger, namespace: Namespace, id: &str) -> String {
    String::from_utf8(ledger.read(&key(namespace, id)).unwrap().unwrap().value).unwrap()
}

fn newer(golden: &str) -> String {
    let newer = golden.replace("\"v\":1", "\"v\":2");
    assert_ne!(newer, golden);
    newer
}

/// How a kernel is refused on this ledger.
fn refused(ledger: Arc<dyn Ledger>) -> KernelError {
    let clock = Arc::new(ManualClock::new(START)) as Arc<dyn Clock>;
    parts(ledger, clock, open_policy()).open().err().unwrap()
}

#[test]
fn claims_have_their_golden_bytes() {
    let claims: TokenClaims = serde_json::from_str(CLAIMS).unwrap();
    assert_eq!(
        canonical::serialize(&claims, Profile::Record).unwrap(),
        CLAIMS.trim_end().as_bytes()
    );
    let more = CLAIMS.replace("\"v\":1", "\"v\":1,\"w\":1");
    assert!(serde_json::from_str::<TokenClaims>(&more).is_err());
}

#[test]
fn a_run_goes_on_from_its_golden_state() {
    let state: RunState = serde_json::from_str(RUN_STATE).unwrap();
    assert_eq!(
        canonical::serialize(&state, Profile::Record).unwrap(),
        RUN_STATE.trim_end().as_bytes()
    );
    let ledger = holding(Namespace::Run, "run_1", RUN_STATE);
    // The log tells of the same.
    let mut delta = json!(state.meters);
    delta["label"] = json!(state.label);
    let payload = canonical::to_bytes(&json!({ "run": delta, "v": 1 }), Profile::Record).unwrap();
    let event = NewEvent {
        kind: EventKind::Outcome,
        at: START,
        run: Some(RunId::parse("run_1").unwrap()),
        call: None,
        payload: payload.into(),
    };
    block_on(ledger.commit(Batch::new(Durability::Os).with_event(event))).unwrap();
    let world = World::on(ledger, open_policy());
    world.tool("fs.read", Effects::READ_LOCAL);
    let run = world.run().with_run_id(RunId::parse("run_1").unwrap());
    assert!(succeeded(&world.call(&run, &ana(), &Asked::new("fs.read"))));
    let after = snapshot(world.ledger.as_ref(), &run.run_id).unwrap();
    assert_eq!((after.meters.tool_calls, after.meters.denials), (4, 2));
    assert!(after.label.taints.is_superset(&state.label.taints));
    let stored = text(world.ledger.as_ref(), Namespace::Run, "run_1");
    assert_eq!(stored.as_bytes(), canonical::serialize(&after, Profile::Record).unwrap());
}

#[test]
fn a_newer_or_damaged_run_state_denies_every_call_of_its_run() {
    let unknown = RUN_STATE.replace("\"v\":1", "\"v\":1,\"w\":1");
    for wrong in [newer(RUN_STATE), unknown, "{}".to_owned(), "nonsense".to_owned()] {
        let world = World::on(holding(Namespace::Run, "run_1", &wrong), open_policy());
        world.tool("fs.read", Effects::READ_LOCAL);
        let run = world.run().with_run_id(RunId::parse("run_1").unwrap());
        let done = world.call(&run, &ana(), &Asked::new("fs.read"));
        assert_eq!(answer(&done), (Verdict::Deny, ReasonCode::LedgerUnavailable), "{wrong}");
        assert_eq!(world.executed(), 0);
        assert_eq!(text(world.ledger.as_ref(), Namespace::Run, "run_1"), wrong.trim_end());
        assert!(kinds(world.ledger.as_ref()).is_empty());
        assert!(succeeded(&world.call(&world.run(), &ana(), &Asked::new("fs.read"))));
    }
}

#[test]
fn an_open_call_is_stored_in_its_golden_form() {
    let world = World::new(open_policy());
    let (ledger, seen) = (Arc::clone(&world.ledger), Arc::new(Mutex::new(String::new())));
    let found = Arc::clone(&seen);
    world.driven(
        draft("fs.append", Effects::WRITE_LOCAL),
        FnDriver::inline(move |call| {
            let id = call.call_id().as_str();
            let stored = text(ledger.as_ref(), Namespace::OpenCall, id);
            *found.lock().unwrap() = stored.replace(id, "call_1");
            Ok(RawResult::text("done"))
        }),
    );
    let run = world.run().with_run_id(RunId::parse("run_1").unwrap());
    assert!(succeeded(&world.call(&run, &ana(), &Asked::new("fs.append"))));
    assert_eq!(*seen.lock().unwrap(), OPEN_CALL.trim_end());
}

#[test]
fn a_golden_open_call_is_closed_as_unknown() {
    let ledger = holding(Namespace::OpenCall, "call_1", OPEN_CALL);
    let world = World::on(Arc::clone(&ledger), open_policy());
    let last = log(ledger.as_ref()).pop().unwrap();
    assert_eq!(
        (last.kind.as_str(), last.call.as_deref()),
        ("call.outcome_unknown", Some("call_1"))
    );
    assert_eq!(last.payload["principal"], "ana");
    assert_eq!(last.payload["capability"], "fs.append");
    assert!(ledger.read(&key(Namespace::OpenCall, "call_1")).unwrap().is_none());
    let state = snapshot(ledger.as_ref(), &RunId::parse("run_1").unwrap()).unwrap();
    let wanted: RunState = serde_json::from_str(RUN_STATE).unwrap();
    assert_eq!(state.label, wanted.label, "the run takes the worst label");
    drop(world);
}

#[test]
fn on_a_newer_or_damaged_open_call_no_kernel_opens() {
    let unknown = OPEN_CALL.replace("\"v\":1", "\"v\":1,\"w\":1");
    for wrong in [newer(OPEN_CALL), unknown, "{}".to_owned()] {
        let ledger = holding(Namespace::OpenCall, "call_1", &wrong);
        let error = refused(Arc::clone(&ledger));
        assert_eq!(error.code(), "kernel.stored", "{error}");
        assert!(error.to_string().contains("an open call"), "{error}");
        assert_eq!(text(ledger.as_ref(), Namespace::OpenCall, "call_1"), wrong.trim_end());
        assert!(kinds(ledger.as_ref()).is_empty());
    }
    let error = refused(holding(Namespace::OpenCall, "call_1", &newer(OPEN_CALL)));
    assert!(error.to_string().contains("use a newer build"), "{error}");
}

#[test]
fn on_a_revocation_of_another_form_no_kernel_opens() {
    for wrong in ["{\"at\":1,\"v\":2}", "soon", ""] {
        let error = refused(holding(Namespace::Revocation, "run:run_1", wrong));
        assert_eq!(error.code(), "kernel.stored", "{error}");
        assert!(error.to_string().contains("a revocation"), "{error}");
    }
}
