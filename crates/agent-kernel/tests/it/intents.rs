//! The one commit before the effect, and what happens when the ledger fails around it.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};

use serde_json::json;
use weaver_agent_kernel::{Caller, FnDriver};
use weaver_trace_store::MemoryLedger;
use weaver_types::ledger::{Batch, Durability, Ledger, LedgerError};
use weaver_types::{
    Effects, EventKind, Integrity, LogId, OsRandom, RawResult, ReasonCode, Verdict,
};

use crate::support::{
    Asked, Faulty, World, ana, answer, draft, fold, kinds, log, memory, open_policy, snapshot,
    succeeded,
};

fn faulty_world() -> (World, Arc<Faulty>) {
    let ledger = Faulty::new(memory());
    let world = World::on(Arc::clone(&ledger) as Arc<dyn Ledger>, open_policy());
    world.tool("fs.read", Effects::READ_LOCAL).tool("fs.write", Effects::WRITE_LOCAL);
    (world, ledger)
}

fn has(batch: &Batch, kind: EventKind) -> bool {
    batch.events.iter().any(|event| event.kind == kind)
}

fn full() -> LedgerError {
    LedgerError::Failed("disk full".to_owned())
}

#[test]
fn the_intent_stands_in_the_log_before_the_tool_acts() {
    let ledger: Arc<dyn Ledger> =
        Arc::new(MemoryLedger::new(LogId::random(&OsRandom).unwrap(), Arc::new(OsRandom)));
    let world = World::on(Arc::clone(&ledger), open_policy());
    for (id, effects) in [("fs.read", Effects::READ_LOCAL), ("fs.write", Effects::WRITE_LOCAL)] {
        let (seen, ledger) = (Arc::clone(&world.executed), Arc::clone(&ledger));
        world.driven(
            draft(id, effects),
            FnDriver::inline(move |call| {
                seen.fetch_add(1, Ordering::SeqCst);
                let last = log(ledger.as_ref()).pop().unwrap();
                assert_eq!(last.kind, "call.intent");
                assert_eq!(last.call.as_deref(), Some(call.call_id().as_str()));
                Ok(RawResult::text("done"))
            }),
        );
    }
    let run = world.run();
    for (id, durability) in [("fs.read", Durability::Os), ("fs.write", Durability::Disk)] {
        let done = world.call(&run, &ana(), &Asked::new(id));
        assert!(succeeded(&done), "{done:?}");
        let log = log(ledger.as_ref());
        let own: Vec<_> =
            log.iter().filter(|e| e.call.as_deref() == Some(done.call.as_str())).collect();
        let said: Vec<_> = own.iter().map(|e| e.kind.as_str()).collect();
        assert_eq!(said, ["call.intent", "call.outcome"]);
        assert_eq!(own[0].stored.durability, durability);
    }
    assert_eq!(world.executed(), 2);
}

#[test]
fn nothing_is_executed_when_the_intent_cannot_be_written() {
    for error in [full(), LedgerError::Malformed("the queue is full".to_owned())] {
        let (world, ledger) = faulty_world();
        let given = error.clone();
        ledger.fail(move |batch| has(batch, EventKind::Intent).then(|| given.clone()));
        let run = world.run();
        for id in ["fs.read", "fs.write"] {
            let done = world.call(&run, &ana(), &Asked::new(id));
            assert_eq!(answer(&done), (Verdict::Deny, ReasonCode::LedgerUnavailable));
            assert!(!succeeded(&done));
        }
        assert_eq!(world.executed(), 0);
        let kinds = kinds(world.ledger.as_ref());
        assert_eq!(kinds, ["run.started", "call.refused", "call.refused"]);
        let state = snapshot(world.ledger.as_ref(), &run.run_id).unwrap();
        assert_eq!((state.meters.tool_calls, state.meters.denials), (0, 2));
        assert_eq!(state, fold(world.ledger.as_ref(), &run.run_id));
    }
}

#[test]
fn a_ledger_that_takes_nothing_denies_everything() {
    let (world, ledger) = faulty_world();
    ledger.fail(|_| Some(full()));
    let done = world.call(&world.run(), &ana(), &Asked::new("fs.read"));
    assert_eq!(answer(&done), (Verdict::Deny, ReasonCode::LedgerUnavailable));
    assert_eq!(world.executed(), 0);
    let refused = world.call(&world.run(), &ana(), &Asked::new("no.such"));
    assert_eq!(refused.decision.verdict(), Verdict::Deny);
    assert!(
        refused.decision.check_results().iter().any(|c| c.reason == ReasonCode::LedgerUnavailable)
    );
}

#[test]
fn a_refused_step_leaves_state_and_events_equal() {
    let (world, ledger) = faulty_world();
    let run = world.run();
    let busy = || LedgerError::Malformed("the queue is full".to_owned());
    world.call(&run, &ana(), &Asked::new("fs.read"));
    ledger.fail(move |batch| (!has(batch, EventKind::RunStarted)).then(busy));
    world.call(&run, &ana(), &Asked::new("no.such"));
    world.call(&run, &ana(), &Asked::new("fs.write"));
    ledger.heal();
    world.call(&run, &ana(), &Asked::new("fs.write"));
    let state = snapshot(world.ledger.as_ref(), &run.run_id).unwrap();
    assert_eq!(state, fold(world.ledger.as_ref(), &run.run_id));
    assert_eq!((state.meters.tool_calls, state.meters.denials), (2, 0));
}

#[test]
fn an_outcome_that_cannot_be_written_is_told_as_unknown() {
    let (world, ledger) = faulty_world();
    ledger.fail(|batch| {
        let end = has(batch, EventKind::Outcome) || has(batch, EventKind::OutcomeUnknown);
        end.then(full)
    });
    let run = world.run();
    let done = world.call(&run, &ana(), &Asked::new("fs.write").with(json!({"kept": "secretly"})));
    assert!(done.decision.is_allowed());
    let result = done.result.clone().unwrap();
    assert!(!result.success && result.data.is_none());
    assert!(result.error_message.starts_with("outcome_unknown"), "{result:?}");
    assert_eq!(world.executed(), 1);
    let told = world.kernel.explain(&ana(), &done.call).unwrap();
    assert_eq!(told.failure, Some(ReasonCode::OutcomeUnknown));

    ledger.heal();
    let again = World::on(Arc::clone(&world.ledger), open_policy());
    let last = log(again.ledger.as_ref()).pop().unwrap();
    assert_eq!(last.kind, "call.outcome_unknown");
    assert_eq!(last.call.as_deref(), Some(done.call.as_str()));
    assert_eq!(again.executed(), 0, "never tried again");
    let state = snapshot(again.ledger.as_ref(), &run.run_id).unwrap();
    assert_eq!(state.label.integrity, Integrity::Untrusted, "the run takes the worst label");
}

#[test]
fn an_end_that_only_missed_its_turn_is_recorded_as_unknown_at_once() {
    let (world, ledger) = faulty_world();
    ledger.fail(|batch| {
        has(batch, EventKind::Outcome).then(|| LedgerError::Malformed("busy".to_owned()))
    });
    let run = world.run();
    let done = world.call(&run, &ana(), &Asked::new("fs.write"));
    assert!(!succeeded(&done));
    let said = kinds(world.ledger.as_ref());
    assert_eq!(said, ["run.started", "call.intent", "call.outcome_unknown"]);
}

#[test]
fn a_call_that_is_abandoned_is_recorded_as_unknown() {
    let (world, _) = faulty_world();
    world.driven(
        draft("fs.stuck", Effects::WRITE_LOCAL),
        FnDriver::asynchronous(|_| std::future::pending()),
    );
    let (run, who, asked) = (world.run(), ana(), Asked::new("fs.stuck"));
    {
        let call = world.kernel.execute(Caller { run: &run, principal: &who }, asked.call());
        let mut call = pin!(call);
        let mut context = Context::from_waker(Waker::noop());
        assert!(matches!(call.as_mut().poll(&mut context), Poll::Pending));
    }
    let said = kinds(world.ledger.as_ref());
    assert_eq!(said, ["run.started", "call.intent", "call.outcome_unknown"]);
    world.call(&run, &who, &Asked::new("fs.write"));
    let state = snapshot(world.ledger.as_ref(), &run.run_id).unwrap();
    assert_eq!(state, fold(world.ledger.as_ref(), &run.run_id));
    assert_eq!(state.meters.tool_calls, 2);
}

/// A ledger that is out of reach when a call ends, and goes on by itself afterwards.
#[test]
fn an_end_that_was_refused_is_recorded_before_anything_else_is_executed() {
    let (world, ledger) = faulty_world();
    let run = world.run();
    let busy = || LedgerError::Busy { path: "ledger.db".to_owned(), waited_ms: 5_000 };
    ledger.fail(move |batch| (!has(batch, EventKind::Intent)).then(busy));
    let lost = world.call(&run, &ana(), &Asked::new("fs.write"));
    assert_eq!(world.executed(), 1);
    assert!(!succeeded(&lost));
    // It is still out of reach for the end: nothing more is executed meanwhile.
    let denied = world.call(&run, &ana(), &Asked::new("fs.write"));
    assert_eq!(answer(&denied), (Verdict::Deny, ReasonCode::LedgerUnavailable));
    assert_eq!(world.executed(), 1);
    ledger.heal();
    let done = world.call(&run, &ana(), &Asked::new("fs.read"));
    assert!(succeeded(&done), "{done:?}");
    let log = log(world.ledger.as_ref());
    let own: Vec<_> =
        log.iter().filter(|e| e.call.as_deref() == Some(lost.call.as_str())).collect();
    let said: Vec<_> = own.iter().map(|e| e.kind.as_str()).collect();
    assert_eq!(said, ["call.intent", "call.outcome_unknown"]);
    let intent = log.iter().position(|e| e.call.as_deref() == Some(done.call.as_str())).unwrap();
    let end = log.iter().position(|e| e.kind == "call.outcome_unknown").unwrap();
    assert!(end < intent, "first the end that is owed, then the next intent");
    let state = snapshot(world.ledger.as_ref(), &run.run_id).unwrap();
    assert!(state.label.taints.contains(&lost.call), "the run takes the worst label");
    assert_eq!(state, fold(world.ledger.as_ref(), &run.run_id));
}
