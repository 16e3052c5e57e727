//! The token budget of a run: set aside before a call, charged with what was shown, never exceeded.

use std::sync::Arc;

use serde_json::{Value, json};
use weaver_agent_kernel::{Caller, DriverError, Invocation, block_on};
use weaver_firewall::{HandleQuery, SessionBudget};
use weaver_types::ledger::Ledger;
use weaver_types::{
    Effects, Frame, RawResult, ReasonCode, ResponseMode, RunBudget, RunContext, SafetyMode, Verdict,
};

use crate::support::{
    Asked, World, ana, answer, draft, fold, log, memory, open_policy, principal, snapshot, sqlite,
    succeeded,
};

fn budget(total: u32) -> SessionBudget {
    SessionBudget::from_counter_name("o200k_base").unwrap().with_total(total)
}

fn world(total: u32) -> World {
    on(memory(), total)
}

fn on(ledger: Arc<dyn Ledger>, total: u32) -> World {
    let world = World::bounded(ledger, open_policy(), budget(total));
    world.answering(draft("crm.list", Effects::READ_LOCAL), |_| {
        let row = |n: u32| json!({ "id": n, "name": "somebody" });
        Ok(RawResult::json(Value::Array((0..40).map(row).collect())))
    });
    world.answering(draft("crm.down", Effects::READ_LOCAL), |_| {
        Err(DriverError::Failed("the database is gone".to_owned()))
    });
    world.tool("crm.echo", Effects::READ_LOCAL);
    world
}

fn frame(done: &Invocation) -> &Frame {
    done.result.as_ref().unwrap().data.as_ref().unwrap()
}

fn tokens(frame: &Frame) -> u64 {
    let json = serde_json::to_string(frame).unwrap();
    weaver_text::token::counter("o200k_base").unwrap().count(&json).tokens().unwrap() as u64
}

fn used(world: &World, run: &RunContext) -> u64 {
    world.kernel.token_session(run).unwrap().used().into()
}

#[test]
fn without_a_budget_nothing_is_counted() {
    let world = World::new(open_policy());
    world.tool("crm.echo", Effects::READ_LOCAL);
    let run = world.run();
    assert!(succeeded(&world.call(&run, &ana(), &Asked::new("crm.echo"))));
    assert!(world.kernel.token_session(&run).is_none());
    assert_eq!(snapshot(world.ledger.as_ref(), &run.run_id).unwrap().meters.prompt_tokens, 0);
}

#[test]
fn a_call_is_charged_with_the_tokens_of_its_frame_and_a_restart_remembers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let world = on(sqlite(&path), 50_000);
    let run = world.run();
    let mut sum = 0;
    for mode in [ResponseMode::Table, ResponseMode::Summary, ResponseMode::HandleOnly] {
        let done = world.call(&run, &ana(), &Asked::new("crm.list").mode(mode));
        sum += tokens(frame(&done));
        assert_eq!(used(&world, &run), sum, "{mode:?}");
    }
    let folded = fold(world.ledger.as_ref(), &run.run_id);
    assert_eq!(folded.meters.prompt_tokens, sum);
    assert_eq!(snapshot(world.ledger.as_ref(), &run.run_id).unwrap(), folded);
    drop(world);
    let again = on(sqlite(&path), 50_000);
    assert_eq!(used(&again, &run), sum);
    assert_eq!(used(&again, &again.run()), 0, "another run is another session");
}

/// Cases: K02.
#[test]
fn an_empty_budget_refuses_before_execution() {
    let world = world(200);
    let run = world.run();
    while answer(&world.call(&run, &ana(), &Asked::new("crm.echo"))).0 == Verdict::Allow {}
    let before = world.executed();
    let done = world.call(&run, &ana(), &Asked::new("crm.echo"));
    assert_eq!(answer(&done), (Verdict::Deny, ReasonCode::SessionBudgetExhausted));
    assert_eq!(world.executed(), before);
    let last = log(world.ledger.as_ref()).pop().unwrap();
    assert_eq!(
        (last.kind.as_str(), &last.payload["reason"]),
        ("call.refused", &json!("session_budget_exhausted"))
    );
    assert_eq!(last.payload["decision_key"], "kernel.budget.exceeded");
    assert_eq!(world.kernel.token_session(&run).unwrap().remaining(), 0);
}

#[test]
fn a_failed_call_gives_back_what_it_held() {
    let world = world(10_000);
    let run = world.run();
    assert!(!succeeded(&world.call(&run, &ana(), &Asked::new("crm.down"))));
    assert_eq!(world.kernel.token_session(&run).unwrap().remaining(), 10_000);
}

/// The modes of the frames that a run of so many tokens is given, each call asking for all of it.
fn modes(total: u32) -> Vec<ResponseMode> {
    let world = world(total);
    let (run, admin) = (world.run(), principal("root", &["admin", "reader"]));
    let mut modes = Vec::new();
    loop {
        let session = world.kernel.token_session(&run).unwrap();
        let expected = session.mode(ResponseMode::Raw);
        let asked = Asked::new("crm.list").mode(ResponseMode::Raw);
        let done = world.call(&run, &admin, &asked);
        if !done.decision.is_allowed() {
            break;
        }
        let frame = frame(&done);
        assert!(frame.mode >= expected, "{:?} with {} left", frame.mode, session.remaining());
        let said = |kind: &str| frame.warnings.iter().any(|warning| warning.kind == kind);
        // Where even the warnings do not fit, one stands for all.
        let told = said("session_budget_low") || said("content_omitted");
        assert_eq!(told, expected != ResponseMode::Raw, "{frame:?}");
        modes.push(frame.mode);
    }
    assert!(modes.is_sorted(), "{modes:?}");
    assert_eq!(modes.first(), Some(&ResponseMode::Raw));
    modes
}

#[test]
fn modes_grow_stricter_as_tokens_run_out() {
    // The ids of a frame come to a few tokens more or less: what is left at the end is not always
    // enough for one more.
    let last = [4_000, 4_050, 4_100, 4_150].map(|total| modes(total).last().copied());
    assert!(last.contains(&Some(ResponseMode::HandleOnly)), "{last:?}");
}

/// Cases: X07.
#[test]
fn views_are_charged_and_refused_like_calls() {
    let world = world(1_500);
    let (run, who) = (world.run(), ana());
    let caller = Caller { run: &run, principal: &who };
    let first = world.call(&run, &who, &Asked::new("crm.list").mode(ResponseMode::HandleOnly));
    let handle = frame(&first).handle.as_ref().unwrap().handle_id.clone();
    let mut sum = used(&world, &run);
    let refused = loop {
        let view = block_on(world.kernel.expand(caller, &handle, &HandleQuery::default()));
        if !view.decision.is_allowed() {
            break view;
        }
        sum += tokens(frame(&view));
        assert_eq!(used(&world, &run), sum.min(1_500));
        assert_eq!(fold(world.ledger.as_ref(), &run.run_id).meters.prompt_tokens, sum);
    };
    assert_eq!(refused.decision.primary_reason(), ReasonCode::SessionBudgetExhausted);
    assert!(refused.result.unwrap().data.is_none());
}

#[test]
fn the_cap_of_a_run_counts_the_same_tokens() {
    let world = world(50_000);
    let caps = RunBudget { max_prompt_tokens: Some(300), ..RunBudget::unlimited() };
    let (run, who) = (world.run_with(caps, SafetyMode::Normal), ana());
    let first = world.call(&run, &who, &Asked::new("crm.list"));
    assert!(tokens(frame(&first)) <= 300);
    let second = world.call(&run, &who, &Asked::new("crm.list"));
    assert_eq!(answer(&second), (Verdict::Deny, ReasonCode::BudgetExceeded));
    let handle = frame(&first).handle.as_ref().unwrap().handle_id.clone();
    let caller = Caller { run: &run, principal: &who };
    let view = block_on(world.kernel.expand(caller, &handle, &HandleQuery::default()));
    assert_eq!(answer(&view), (Verdict::Deny, ReasonCode::BudgetExceeded));
}

#[test]
fn calls_at_once_never_give_out_more_than_there_is() {
    let world = Arc::new(world(3_000));
    let run = Arc::new(world.run());
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let (world, run) = (Arc::clone(&world), Arc::clone(&run));
            std::thread::spawn(move || {
                let mut sum = 0;
                for _ in 0..20 {
                    let done = world.call(&run, &ana(), &Asked::new("crm.list"));
                    if done.decision.is_allowed() {
                        sum += tokens(frame(&done));
                    }
                }
                sum
            })
        })
        .collect();
    let sum: u64 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    let least = 400;
    assert!(sum <= 3_000 + least, "{sum}");
    assert_eq!(fold(world.ledger.as_ref(), &run.run_id).meters.prompt_tokens, sum);
    let session = world.kernel.token_session(&run).unwrap();
    assert_eq!((u64::from(session.used()), session.remaining()), (sum.min(3_000), 0));
}
