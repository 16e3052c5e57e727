//! Many callers at once.

use std::sync::Barrier;

use serde_json::json;
use weaver_agent_kernel::{Caller, Kernel, block_on};
use weaver_trace_store::verify::verify;
use weaver_types::{Effects, ReasonCode, ResponseMode, RunBudget, SafetyMode};

use crate::support::{
    Asked, World, ana, draft, fold, log, memory, open_policy, snapshot, sqlite, succeeded,
};

const THREADS: usize = 64;

fn together<T: Send>(f: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let barrier = Barrier::new(THREADS);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|n| {
                let (barrier, f) = (&barrier, &f);
                scope.spawn(move || {
                    barrier.wait();
                    f(n)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn the_futures_may_move_between_threads() {
    fn sendable<T: Send>(_: T) {}
    fn check(kernel: &Kernel, caller: Caller<'_>, asked: &Asked) {
        sendable(kernel.execute(caller, asked.call()));
        sendable(kernel.expand(
            caller,
            &weaver_types::HandleId::parse("hdl_1").unwrap(),
            &Default::default(),
        ));
    }
    let _ = check;
}

#[test]
fn of_64_invocations_with_one_token_one_executes() {
    let folder = tempfile::tempdir().unwrap();
    for ledger in [memory(), sqlite(&folder.path().join("ledger.db"))] {
        let world = World::on(ledger, open_policy());
        world.tool("fs.write", Effects::WRITE_LOCAL);
        let (run, who, asked) = (world.run(), ana(), Asked::new("fs.write"));
        let caller = Caller { run: &run, principal: &who };
        let grant = block_on(world.kernel.grant(caller, asked.call()));
        let token = grant.token.unwrap();
        let done = together(|_| {
            block_on(world.kernel.invoke(caller, &token, &asked.arguments, ResponseMode::Table))
        });
        assert_eq!(world.executed(), 1);
        assert_eq!(done.iter().filter(|done| succeeded(done)).count(), 1);
        for refused in done.iter().filter(|done| !succeeded(done)) {
            assert_eq!(refused.decision.primary(), ReasonCode::TokenUsed);
        }
        let told = world.kernel.explain(&who, &grant.call).unwrap();
        assert!(told.decision.allowed(), "the call belongs to whoever won");
        let state = snapshot(world.ledger.as_ref(), &run.run_id).unwrap();
        assert_eq!((state.meters.tool_calls, state.meters.denials), (1, 63));
        assert_eq!(state, fold(world.ledger.as_ref(), &run.run_id));
    }
}

#[test]
fn the_budget_is_never_overspent() {
    let folder = tempfile::tempdir().unwrap();
    for ledger in [memory(), sqlite(&folder.path().join("ledger.db"))] {
        let world = World::on(ledger, open_policy());
        world.tool("fs.read", Effects::READ_LOCAL);
        let budget = RunBudget { max_tool_calls: Some(20), ..RunBudget::unlimited() };
        let (run, who) = (world.run_with(budget, SafetyMode::Normal), ana());
        let done =
            together(|n| world.call(&run, &who, &Asked::new("fs.read").with(json!({"n": n}))));
        assert_eq!(world.executed(), 20);
        assert_eq!(done.iter().filter(|done| succeeded(done)).count(), 20);
        for refused in done.iter().filter(|done| !succeeded(done)) {
            assert_eq!(refused.decision.primary(), ReasonCode::BudgetExceeded);
        }
        let state = snapshot(world.ledger.as_ref(), &run.run_id).unwrap();
        assert_eq!((state.meters.tool_calls, state.meters.denials), (20, 44));
    }
}

#[test]
fn a_crowd_of_mixed_calls_leaves_a_sound_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let ledger = sqlite(&path);
    let world = World::on(ledger.clone(), open_policy());
    world.tool("fs.read", Effects::READ_LOCAL).tool("fs.write", Effects::WRITE_LOCAL);
    world.answering(draft("fs.fail", Effects::WRITE_LOCAL), |_| {
        Err(weaver_agent_kernel::DriverError::Lost("gone".to_owned()))
    });
    let (run, who) = (world.run(), ana());
    let ids = ["fs.read", "fs.write", "fs.fail", "no.such"];
    together(|n| {
        for step in 0..5 {
            world.call(&run, &who, &Asked::new(ids[(n + step) % ids.len()]));
        }
    });
    let state = snapshot(ledger.as_ref(), &run.run_id).unwrap();
    assert_eq!(state, fold(ledger.as_ref(), &run.run_id));
    assert_eq!((state.meters.tool_calls, state.meters.denials), (240, 80));
    let started = log(ledger.as_ref()).iter().filter(|e| e.kind == "run.started").count();
    assert_eq!(started, 1);
    assert!(verify(ledger.as_ref(), None).is_ok());
}
