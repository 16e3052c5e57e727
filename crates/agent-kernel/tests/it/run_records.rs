//! The record of a run against the events of the log. Every change is written through the ledger
//! itself, so that the sums over the records are right, as somebody with the file would make them.

use std::sync::Arc;

use std::time::Duration;

use serde_json::{Value, json};
use weaver_agent_kernel::{RunComparison, RunState, block_on, compare_runs};
use weaver_trace_store::prune::{PruneReason, PruningNote, RunRestatement};
use weaver_trace_store::retention::{MIN_AGE, Retention, RetentionRule, RetentionSweep};
use weaver_types::canonical::{self, Profile};
use weaver_types::ledger::{
    Batch, Durability, Ledger, MAX_PAGE, Namespace, NewEvent, RecordKey, RecordWrite,
};
use weaver_types::{
    Effects, EventKind, Integrity, Label, ReasonCode, RunContext, RunId, RunMeters, Tenant, Verdict,
};

use crate::support::{
    Asked, START, World, ana, answer, log, memory, open_policy, snapshot, sqlite, succeeded,
};

fn key(run: &RunId) -> RecordKey {
    RecordKey::new(Tenant::default(), Namespace::Run, run)
}

fn write(ledger: &dyn Ledger, run: &RunId, state: &RunState) {
    let value = canonical::serialize(state, Profile::Record).unwrap();
    let mut batch = Batch::new(Durability::Os);
    batch.put.push(RecordWrite { key: key(run), value, expires_at: None });
    block_on(ledger.commit(batch)).unwrap();
}

fn remove(ledger: &dyn Ledger, run: &RunId) {
    let delete = vec![key(run)];
    block_on(ledger.commit(Batch { delete, ..Batch::new(Durability::Os) })).unwrap();
}

fn world(ledger: &Arc<dyn Ledger>) -> World {
    let world = World::on(Arc::clone(ledger), open_policy());
    world.tool("fs.read", Effects::READ_LOCAL).tool("mail.send", Effects::WRITE_OPEN);
    world
}

/// A run that was shown what is not trusted, on a ledger that is opened again.
fn tainted(ledger: &Arc<dyn Ledger>) -> RunContext {
    let world = world(ledger);
    let run = world.run();
    for _ in 0..3 {
        assert!(succeeded(&world.call(&run, &ana(), &Asked::new("fs.read"))));
    }
    let state = snapshot(ledger.as_ref(), &run.run_id).unwrap();
    assert_eq!(state.label.integrity, Integrity::Untrusted);
    run
}

/// What the comparison of all runs says; `None` where nothing is wrong.
pub(crate) fn found(ledger: &dyn Ledger) -> Option<String> {
    compared(ledger).first_bad.map(|bad| bad.to_string())
}

fn compared(ledger: &dyn Ledger) -> RunComparison {
    let mut events = |from, limit| ledger.events(from, limit);
    let mut after: Option<String> = None;
    let mut records = || {
        let page = ledger.list(&Tenant::default(), Namespace::Run, after.as_deref(), MAX_PAGE)?;
        after = page.last().map(|(id, _)| id.clone()).or(after.take());
        Ok(page)
    };
    compare_runs(&mut events, &mut records).unwrap()
}

/// Every call of the run is denied, and nothing of it is done; another run is not touched.
fn denied(ledger: &Arc<dyn Ledger>, run: &RunContext, what: &str) {
    let found = found(ledger.as_ref()).unwrap_or_else(|| panic!("verified: {what}"));
    assert!(found.contains(run.run_id.as_str()), "{what}: {found}");
    let world = world(ledger);
    let size = ledger.head().unwrap().size;
    for id in ["fs.read", "mail.send"] {
        let done = world.call(run, &ana(), &Asked::new(id));
        assert_eq!(answer(&done), (Verdict::Deny, ReasonCode::LedgerUnavailable), "{what}");
    }
    assert_eq!((world.executed(), ledger.head().unwrap().size), (0, size), "{what}");
    assert!(succeeded(&world.call(&world.run(), &ana(), &Asked::new("fs.read"))), "{what}");
}

fn ledgers(folder: &std::path::Path) -> [Arc<dyn Ledger>; 2] {
    [memory(), sqlite(&folder.join("ledger.db"))]
}

#[test]
fn an_edited_record_of_a_run_denies_its_calls() {
    type Edit = fn(&mut RunState);
    let edits: [(&str, Edit); 4] = [
        ("a clean label", |state| state.label = Label::clean()),
        ("trusted again", |state| state.label.integrity = Integrity::Trusted),
        ("no calls so far", |state| state.meters = RunMeters::default()),
        ("one call fewer", |state| state.meters.tool_calls -= 1),
    ];
    for (what, edit) in edits {
        let folder = tempfile::tempdir().unwrap();
        for ledger in ledgers(folder.path()) {
            let run = tainted(&ledger);
            assert_eq!(found(ledger.as_ref()), None, "{what}");
            let mut state = snapshot(ledger.as_ref(), &run.run_id).unwrap();
            edit(&mut state);
            write(ledger.as_ref(), &run.run_id, &state);
            denied(&ledger, &run, what);
        }
    }
}

#[test]
fn a_record_that_was_removed_denies_the_calls_of_its_run() {
    let folder = tempfile::tempdir().unwrap();
    for ledger in ledgers(folder.path()) {
        let run = tainted(&ledger);
        remove(ledger.as_ref(), &run.run_id);
        denied(&ledger, &run, "removed");
    }
}

#[test]
fn a_record_that_was_put_back_or_planted_denies_the_calls_of_its_run() {
    let folder = tempfile::tempdir().unwrap();
    for ledger in ledgers(folder.path()) {
        let kernel = world(&ledger);
        let fresh = kernel.run();
        let done = kernel.call(&fresh, &ana(), &Asked::new("no.such"));
        assert!(!done.decision.is_allowed());
        let clean = snapshot(ledger.as_ref(), &fresh.run_id).unwrap();
        assert_eq!(clean.label, Label::clean());
        assert!(succeeded(&kernel.call(&fresh, &ana(), &Asked::new("fs.read"))));
        drop(kernel);
        write(ledger.as_ref(), &fresh.run_id, &clean);
        denied(&ledger, &fresh, "put back");
    }
    let ledger = memory();
    let run = world(&ledger).run();
    write(ledger.as_ref(), &run.run_id, &RunState::default());
    denied(&ledger, &run, "planted");
}

#[test]
fn a_run_goes_on_after_a_restart_and_after_other_runs() {
    let folder = tempfile::tempdir().unwrap();
    for ledger in ledgers(folder.path()) {
        let first = tainted(&ledger);
        let second = tainted(&ledger);
        for _ in 0..2 {
            let world = world(&ledger);
            for run in [&first, &second, &world.run()] {
                assert!(succeeded(&world.call(run, &ana(), &Asked::new("fs.read"))));
            }
            assert!(!world.call(&first, &ana(), &Asked::new("mail.send")).decision.is_allowed());
        }
        assert_eq!(found(ledger.as_ref()), None);
        let state = snapshot(ledger.as_ref(), &first.run_id).unwrap();
        assert_eq!(state.meters.tool_calls, 5);
    }
}

/// An event of the day after.
fn later(kind: EventKind, run: Option<&RunId>, payload: Vec<u8>) -> NewEvent {
    let (at, run) = (START.after(Duration::from_secs(86_400)), run.cloned());
    NewEvent { kind, at, run, call: None, payload: payload.into() }
}

/// Prunes all payloads of these kinds that are a day old; returns how many.
fn prune(ledger: &dyn Ledger, kinds: &[EventKind]) -> usize {
    let rule = RetentionRule { kinds: kinds.to_vec(), ..RetentionRule::older_than(MIN_AGE) };
    let retention = Retention::new(vec![rule], MIN_AGE).unwrap();
    let now = START.after(3 * MIN_AGE);
    let mut sweep = RetentionSweep::resume(ledger, retention, "operator", now).unwrap();
    let mut pruned = 0;
    while let Some(step) = sweep.step(ledger, &[Tenant::default()]).unwrap() {
        pruned += sweep.commit(ledger, step).unwrap().pruned().len();
    }
    pruned
}

#[test]
fn a_run_that_goes_on_survives_the_pruning_of_its_events() {
    let kinds: [&[EventKind]; 3] =
        [&[], &[EventKind::Outcome], &[EventKind::RunStarted, EventKind::Intent]];
    for kinds in kinds {
        let folder = tempfile::tempdir().unwrap();
        for ledger in ledgers(folder.path()) {
            let run = tainted(&ledger);
            let before = snapshot(ledger.as_ref(), &run.run_id).unwrap();
            assert!(prune(ledger.as_ref(), kinds) >= 3, "{kinds:?}");
            let done = compared(ledger.as_ref());
            assert_eq!((done.proven, done.pruned, done.first_bad), (1, 0, None), "{kinds:?}");
            let world = world(&ledger);
            assert!(succeeded(&world.call(&run, &ana(), &Asked::new("fs.read"))), "{kinds:?}");
            assert!(!world.call(&run, &ana(), &Asked::new("mail.send")).decision.is_allowed());
            let after = snapshot(ledger.as_ref(), &run.run_id).unwrap();
            assert_eq!(after.meters.tool_calls, before.meters.tool_calls + 1);
            assert_eq!(after.label.integrity, Integrity::Untrusted);
            assert_eq!(found(ledger.as_ref()), None, "{kinds:?}");
        }
    }
}

#[test]
fn the_record_of_a_pruned_run_must_still_match_the_log() {
    let folder = tempfile::tempdir().unwrap();
    for ledger in ledgers(folder.path()) {
        let run = tainted(&ledger);
        assert!(prune(ledger.as_ref(), &[]) > 0);
        let mut state = snapshot(ledger.as_ref(), &run.run_id).unwrap();
        state.label = Label::clean();
        write(ledger.as_ref(), &run.run_id, &state);
        denied(&ledger, &run, "a clean label after pruning");
    }
}

/// Whoever takes a payload away cannot say with it what it had changed.
#[test]
fn a_restatement_counts_only_for_earlier_events_that_are_pruned() {
    let ledger = memory();
    let run = tainted(&ledger);
    let size = ledger.head().unwrap().size;
    let outcome = log(ledger.as_ref())
        .iter()
        .find(|event| event.kind == "call.outcome")
        .map(|event| event.stored.seq)
        .unwrap();
    let clean = json!({ "tool_calls": 1 });
    for seq in [outcome, size + 1] {
        let restated = RunRestatement::new([(seq, Some(clean.clone()))].into()).to_bytes().unwrap();
        let event = later(EventKind::RunRestated, Some(&run.run_id), restated);
        block_on(ledger.commit(Batch::new(Durability::Os).with_event(event))).unwrap();
    }
    assert_eq!(found(ledger.as_ref()), None, "the payload itself counts");
    assert!(succeeded(&world(&ledger).call(&run, &ana(), &Asked::new("fs.read"))));
}

#[test]
fn a_run_whose_events_were_pruned_cannot_be_proven_and_is_denied() {
    let ledger = memory();
    let run = tainted(&ledger);
    let outcome = log(ledger.as_ref())
        .iter()
        .find(|event| event.kind == "call.outcome")
        .map(|event| event.stored.seq)
        .unwrap();
    let note =
        PruningNote::new(vec![outcome], PruneReason::Age, "operator").unwrap().to_bytes().unwrap();
    let batch = Batch { prune: vec![outcome], ..Batch::new(Durability::Os) };
    block_on(ledger.commit(batch.with_event(later(EventKind::Pruned, None, note)))).unwrap();
    assert_eq!(found(ledger.as_ref()), None, "what was pruned is no fault");
    let world = world(&ledger);
    let done = world.call(&run, &ana(), &Asked::new("fs.read"));
    assert_eq!(answer(&done), (Verdict::Deny, ReasonCode::LedgerUnavailable));
    let said: Value = json!(done.decision);
    assert!(said.to_string().contains("begin another run"), "{said}");
}
