//! Ends of runs and of budgets, in the log under their decision keys.

use std::time::Duration;

use weaver_agent_kernel::{Caller, RunEndReason, block_on};
use weaver_types::ledger::{Batch, Durability, Namespace, RecordKey};
use weaver_types::{
    Effects, Millicents, RawResult, ReasonCode, RunBudget, SafetyMode, Tenant, Verdict,
};

use crate::support::{
    Asked, World, ana, answer, draft, fold, kinds, log, open_policy, snapshot, succeeded,
};

fn marker() -> RecordKey {
    RecordKey::new(Tenant::default(), Namespace::CurrentRun, "a")
}

#[test]
fn the_end_of_a_run_stands_in_the_log_with_its_reason_and_what_is_written_beside_it() {
    for (end, word) in [
        (RunEndReason::Done, "done"),
        (RunEndReason::Idle, "idle"),
        (RunEndReason::ClientGone, "client_gone"),
    ] {
        let world = World::new(open_policy());
        world.tool("fs.read", Effects::READ_LOCAL);
        let (run, who) = (world.run(), ana());
        assert!(succeeded(&world.call(&run, &who, &Asked::new("fs.read"))));
        let beside = Batch::new(Durability::Os).create(marker(), b"1".to_vec(), None);
        let caller = Caller { run: &run, principal: &who };
        block_on(world.kernel.record_run_end(caller, end, beside)).unwrap();
        let ledger = world.ledger.as_ref();
        let log = log(ledger);
        let last = log.last().unwrap();
        assert_eq!(last.kind, "run.finished");
        assert_eq!(last.run.as_deref(), Some(run.run_id.as_str()));
        assert_eq!(last.payload["decision_key"], "kernel.run.finished");
        assert_eq!(
            (&last.payload["end"], &last.payload["principal"]),
            (&word.into(), &"ana".into())
        );
        assert!(ledger.read(&marker()).unwrap().is_some());
        assert_eq!(snapshot(ledger, &run.run_id).unwrap(), fold(ledger, &run.run_id));
    }
}

#[test]
fn a_run_that_never_began_has_no_end_and_what_stands_beside_it_is_written() {
    let world = World::new(open_policy());
    let (run, who) = (world.run(), ana());
    let caller = Caller { run: &run, principal: &who };
    let beside = Batch::new(Durability::Os).create(marker(), b"1".to_vec(), None);
    block_on(world.kernel.record_run_end(caller, RunEndReason::Idle, beside)).unwrap();
    assert!(world.ledger.read(&marker()).unwrap().is_some());
    assert!(!kinds(world.ledger.as_ref()).iter().any(|kind| kind.starts_with("run.")));
}

#[test]
fn the_log_tells_which_run_a_client_works_in_until_that_is_over() {
    let world = World::new(open_policy());
    world.tool("fs.read", Effects::READ_LOCAL);
    let (run, who, kernel) = (world.run(), ana(), &world.kernel);
    assert_eq!(kernel.entered_run("client one").unwrap(), None);
    let entry = kernel.run_entry_event("client one", &run.run_id).unwrap();
    block_on(world.ledger.commit(Batch::new(Durability::Os).with_event(entry))).unwrap();
    let entered = || kernel.entered_run("client one").unwrap();
    let first = entered().unwrap();
    assert_eq!(first.run, run.run_id);
    world.clock.advance(Duration::from_secs(5));
    assert!(succeeded(&world.call(&run, &who, &Asked::new("fs.read"))));
    assert!(entered().unwrap().last_event > first.last_event, "the time of the last call");
    assert_eq!(kernel.entered_run("client two").unwrap(), None);
    let caller = Caller { run: &run, principal: &who };
    block_on(kernel.record_run_end(caller, RunEndReason::Idle, Batch::new(Durability::Os)))
        .unwrap();
    assert_eq!(entered(), None);
}

#[test]
fn every_cap_that_is_used_up_refuses_under_its_name_and_the_decision_key() {
    let all = RunBudget::unlimited;
    let caps = [
        ("max_tool_calls", RunBudget { max_tool_calls: Some(1), ..all() }),
        ("max_prompt_tokens", RunBudget { max_prompt_tokens: Some(1), ..all() }),
        ("max_latency_ms", RunBudget { max_latency_ms: Some(20), ..all() }),
        ("max_cost_usd_cents", RunBudget { max_cost: Some(Millicents(5)), ..all() }),
    ];
    for (cap, budget) in caps {
        let world = World::new(open_policy());
        let clock = std::sync::Arc::clone(&world.clock);
        world.answering(draft("fs.read", Effects::READ_LOCAL), move |_| {
            clock.advance(Duration::from_millis(20));
            Ok(RawResult { cost: Some(Millicents(5)), ..RawResult::text("what was read ") })
        });
        let run = world.run_with(budget.clone(), SafetyMode::Normal);
        let first = world.call(&run, &ana(), &Asked::new("fs.read"));
        let ledger = world.ledger.as_ref();
        if cap == "max_prompt_tokens" {
            assert_eq!(first.decision.primary_reason(), ReasonCode::BudgetExceeded, "{first:?}");
        } else {
            assert!(succeeded(&first), "{cap}: {first:?}");
            let meters = snapshot(ledger, &run.run_id).unwrap().meters;
            assert_eq!(meters.exceeded(&budget), Some(cap));
            assert!(meters.budget_exceeded(&budget));
        }
        let done = world.call(&run, &ana(), &Asked::new("fs.read"));
        assert_eq!(answer(&done), (Verdict::Deny, ReasonCode::BudgetExceeded), "{cap}");
        assert!(done.decision.detail().contains(cap), "{cap}: {}", done.decision.detail());
        let log = log(ledger);
        let last = log.last().unwrap();
        assert_eq!(last.kind, "call.refused");
        assert_eq!(last.payload["decision_key"], "kernel.budget.exceeded", "{cap}");
    }
}
