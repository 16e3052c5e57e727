//! Ends of calls that the ledger did not take: nothing is executed before they are recorded.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use weaver_agent_kernel::{Caller, RunState, block_on};
use weaver_trace_store::prune::{PruneReason, PruningNote};
use weaver_types::canonical::{self, Profile};
use weaver_types::ledger::{
    Batch, Durability, Ledger, LedgerError, MAX_PAGE, Namespace, NewEvent, RecordKey, RecordWrite,
};
use weaver_types::{Effects, EventKind, Label, ReasonCode, RunContext, Tenant, Verdict};

use crate::deferred_ends::Deferring;
use crate::run_records::found;
use crate::support::{
    Asked, Faulty, START, World, ana, answer, fold, kinds, log, memory, open_policy, snapshot,
    succeeded,
};

#[test]
fn only_a_conflict_over_the_call_itself_says_that_its_end_was_taken() {
    let ledger = Faulty::new(memory());
    let world = World::on(Arc::clone(&ledger) as Arc<dyn Ledger>, open_policy());
    world.tool("fs.write", Effects::WRITE_LOCAL);
    let run = world.run();
    let write = || world.call(&run, &ana(), &Asked::new("fs.write"));
    let ends = |kind: EventKind| matches!(kind, EventKind::Outcome | EventKind::OutcomeUnknown);
    ledger.fail(move |batch| {
        let end = batch.events.iter().any(|event| ends(event.kind));
        end.then(|| LedgerError::Failed("away".to_owned()))
    });
    assert!(!succeeded(&write()), "its end is unknown");
    assert_eq!(world.executed(), 1);
    let other = RecordKey::new(Tenant::default(), Namespace::Masks, run.run_id.as_str());
    ledger.fail(move |batch| {
        let end = batch.events.iter().any(|event| ends(event.kind));
        end.then(|| LedgerError::Conflict { key: other.clone() })
    });
    assert_eq!(answer(&write()), (Verdict::Deny, ReasonCode::LedgerUnavailable));
    assert_eq!(world.executed(), 1, "nothing is executed before the end is recorded");
    ledger.heal();
    assert!(succeeded(&write()));
    let told = kinds(world.ledger.as_ref());
    let unknown = told.iter().filter(|kind| *kind == "call.outcome_unknown").count();
    assert_eq!((unknown, world.executed()), (1, 2));
}

#[test]
fn an_end_is_recorded_also_where_the_call_that_would_record_it_is_given_up() {
    let slow = Deferring::keeping(1, EventKind::OutcomeUnknown, true);
    let ledger = Faulty::new(slow as Arc<dyn Ledger>);
    let world = World::on(Arc::clone(&ledger) as Arc<dyn Ledger>, open_policy());
    world.tool("fs.write", Effects::WRITE_LOCAL);
    let run = world.run();
    ledger.fail(|batch| {
        let ends = [EventKind::Outcome, EventKind::OutcomeUnknown];
        let end = batch.events.iter().any(|event| ends.contains(&event.kind));
        end.then(|| LedgerError::Failed("away".to_owned()))
    });
    world.call(&run, &ana(), &Asked::new("fs.write"));
    ledger.heal();
    {
        let (who, asked) = (ana(), Asked::new("fs.write"));
        let mut call =
            pin!(world.kernel.execute(Caller { run: &run, principal: &who }, asked.call()));
        assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    assert!(succeeded(&world.call(&run, &ana(), &Asked::new("fs.write"))));
    let told = kinds(world.ledger.as_ref());
    assert_eq!(told.iter().filter(|kind| *kind == "call.outcome_unknown").count(), 1, "{told:?}");
    assert_eq!(world.executed(), 2);
}

/// A ledger whose kernel died in the middle of a call, after two others of the same run.
fn died_in_a_call() -> (Arc<dyn Ledger>, RunContext) {
    let ledger = Faulty::new(memory());
    let world = World::on(Arc::clone(&ledger) as Arc<dyn Ledger>, open_policy());
    world.tool("fs.write", Effects::WRITE_LOCAL);
    let run = world.run();
    let write = || world.call(&run, &ana(), &Asked::new("fs.write"));
    assert!(succeeded(&write()) && succeeded(&write()));
    ledger.fail(|batch| {
        let ends = [EventKind::Outcome, EventKind::OutcomeUnknown];
        let end = batch.events.iter().any(|event| ends.contains(&event.kind));
        end.then(|| LedgerError::Failed("away".to_owned()))
    });
    write();
    drop(world);
    ledger.heal();
    (ledger, run)
}

/// Opens the kernel: the call is closed, its run is denied, and another run can begin.
fn opens_without_the_run(ledger: &Arc<dyn Ledger>, run: &RunContext) {
    let world = World::on(Arc::clone(ledger), open_policy());
    world.tool("fs.write", Effects::WRITE_LOCAL);
    let open = ledger.list(&Tenant::default(), Namespace::OpenCall, None, MAX_PAGE).unwrap();
    assert_eq!(open, []);
    let denied = world.call(run, &ana(), &Asked::new("fs.write"));
    assert_eq!(answer(&denied), (Verdict::Deny, ReasonCode::LedgerUnavailable));
    assert!(succeeded(&world.call(&world.run(), &ana(), &Asked::new("fs.write"))));
}

#[test]
fn a_kernel_opens_where_the_run_of_an_open_call_was_pruned() {
    let (ledger, run) = died_in_a_call();
    let outcome = log(ledger.as_ref())
        .iter()
        .find(|event| event.kind == "call.outcome")
        .map(|event| event.stored.seq)
        .unwrap();
    let note = PruningNote::new(vec![outcome], PruneReason::Age, "operator").unwrap();
    let event = NewEvent {
        kind: EventKind::Pruned,
        at: START.after(std::time::Duration::from_secs(86_400)),
        run: None,
        call: None,
        payload: note.to_bytes().unwrap().into(),
    };
    let batch = Batch { prune: vec![outcome], ..Batch::new(Durability::Os) };
    block_on(ledger.commit(batch.with_event(event))).unwrap();
    opens_without_the_run(&ledger, &run);
    assert_eq!(found(ledger.as_ref()), None, "closing the call is no change of another hand");
}

#[test]
fn a_kernel_opens_where_the_run_of_an_open_call_was_edited_and_finds_it_still() {
    let (ledger, run) = died_in_a_call();
    let whole = snapshot(ledger.as_ref(), &run.run_id).unwrap();
    let mut edited = whole.clone();
    edited.meters.tool_calls -= 1;
    edited.label = Label::clean();
    let write = |state: &RunState| {
        let value = canonical::serialize(state, Profile::Record).unwrap();
        let key = RecordKey::new(Tenant::default(), Namespace::Run, run.run_id.as_str());
        let mut batch = Batch::new(Durability::Os);
        batch.put.push(RecordWrite { key, value, expires_at: None });
        block_on(ledger.commit(batch)).unwrap();
    };
    write(&edited);
    opens_without_the_run(&ledger, &run);
    assert!(found(ledger.as_ref()).is_some());
    write(&whole);
    assert_ne!(fold(ledger.as_ref(), &run.run_id), whole);
    opens_without_the_run(&ledger, &run);
}

#[test]
fn a_kernel_opens_where_the_record_of_the_run_of_an_open_call_cannot_be_read() {
    for value in [&b"{}"[..], b"not a record", b"{\"v\":2}"] {
        let (ledger, run) = died_in_a_call();
        let key = RecordKey::new(Tenant::default(), Namespace::Run, run.run_id.as_str());
        let mut batch = Batch::new(Durability::Os);
        batch.put.push(RecordWrite { key: key.clone(), value: value.to_vec(), expires_at: None });
        block_on(ledger.commit(batch)).unwrap();
        opens_without_the_run(&ledger, &run);
        assert_eq!(ledger.read(&key).unwrap().unwrap().value, value, "it is kept as it is");
        let found = found(ledger.as_ref()).unwrap();
        assert!(found.contains(run.run_id.as_str()) && found.contains("cannot be read"), "{found}");
        let world = World::on(Arc::clone(&ledger), open_policy());
        world.tool("fs.write", Effects::WRITE_LOCAL);
        let denied = world.call(&run, &ana(), &Asked::new("fs.write"));
        let said = denied.decision.detail().to_owned();
        for part in [
            run.run_id.as_str(),
            "cannot be read",
            "begin another run",
            "`weaver approve end-run",
            "`weaver trace verify`",
        ] {
            assert!(said.contains(part), "{said}");
        }
        assert_eq!(world.executed(), 0);
    }
}
