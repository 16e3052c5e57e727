//! Many callers at once.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};

use serde_json::json;
use weaver_agent_kernel::{Caller, Invocation, Kernel, Ports, block_on};
use weaver_policy::PolicySet;
use weaver_policy::approval::Phase;
use weaver_trace_store::verify::verify;
use weaver_types::ledger::{
    Batch, Durability, Ledger, MAX_PAGE, Namespace, RecordKey, RecordWrite,
};
use weaver_types::{
    Effects, EventKind, OsRandom, Random, RandomError, ReasonCode, ResponseMode, RunBudget,
    SafetyMode, SinkKind, Tenant,
};

use crate::approvals::{ALICE, Desk, push};
use crate::support::{
    Asked, Faulty, World, ana, contracts, draft, fold, kinds, log, memory, open_policy, parts,
    parts_of, sink, snapshot, sqlite, succeeded, taking,
};

const THREADS: usize = 64;

pub(crate) fn together<T: Send>(f: impl Fn(usize) -> T + Sync) -> Vec<T> {
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
            assert_eq!(refused.decision.primary_reason(), ReasonCode::TokenUsed);
        }
        let told = world.kernel.explain(&who, &grant.call).unwrap();
        assert!(told.decision.is_allowed(), "the call belongs to whoever won");
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
            assert_eq!(refused.decision.primary_reason(), ReasonCode::BudgetExceeded);
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

/// Randomness at which two threads meet, once it is armed. The kernel asks for a salt between
/// deciding on a call and committing its intent, so both have decided before either commits.
struct Meeting {
    guests: AtomicUsize,
    barrier: Barrier,
}

impl Random for Meeting {
    fn fill(&self, buffer: &mut [u8]) -> Result<(), RandomError> {
        let expected = |guests: usize| guests.checked_sub(1);
        if self.guests.fetch_update(Ordering::SeqCst, Ordering::SeqCst, expected).is_ok() {
            self.barrier.wait();
        }
        OsRandom.fill(buffer)
    }
}

/// Two calls that have both been decided before either commits: how they came out, and how often
/// the tool was executed.
fn meet(one_token: bool, budget: RunBudget) -> (Vec<Invocation>, u64) {
    let meeting = Arc::new(Meeting { guests: AtomicUsize::new(0), barrier: Barrier::new(2) });
    let mut world = World::new(open_policy());
    let parts = parts(memory(), world.clock.clone(), open_policy());
    world.kernel = parts.with_random(meeting.clone()).open().unwrap();
    world.tool("fs.write", Effects::WRITE_LOCAL);
    let (run, who) = (world.run_with(budget, SafetyMode::Normal), ana());
    let (caller, asked) = (Caller { run: &run, principal: &who }, Asked::new("fs.write"));
    let grant = || block_on(world.kernel.grant(caller, asked.call())).token.unwrap();
    let first = grant();
    let tokens = [first.clone(), if one_token { first } else { grant() }];
    meeting.guests.store(2, Ordering::SeqCst);
    let done = std::thread::scope(|scope| {
        let threads = tokens.each_ref().map(|token| {
            let (kernel, asked) = (&world.kernel, &asked);
            scope.spawn(move || {
                block_on(kernel.invoke(caller, token, &asked.arguments, ResponseMode::Table))
            })
        });
        threads.map(|thread| thread.join().unwrap()).into()
    });
    (done, world.executed())
}

fn losers(done: &[Invocation]) -> Vec<ReasonCode> {
    let lost = done.iter().filter(|done| !succeeded(done));
    lost.map(|done| done.decision.primary_reason()).collect()
}

#[test]
fn two_calls_decided_at_once_do_not_share_a_token() {
    let (done, executed) = meet(true, RunBudget::unlimited());
    assert_eq!((losers(&done), executed), (vec![ReasonCode::TokenUsed], 1));
}

#[test]
fn two_calls_decided_at_once_do_not_share_the_last_of_a_budget() {
    let budget = RunBudget { max_tool_calls: Some(1), ..RunBudget::unlimited() };
    let (done, executed) = meet(false, budget);
    assert_eq!((losers(&done), executed), (vec![ReasonCode::BudgetExceeded], 1));
    assert_eq!(meet(false, RunBudget::unlimited()).1, 2, "it is the budget that stops it");
}

/// Each of two kernels on one ledger finds the run changed under its next step, also under the
/// step with which it would begin the run, and takes that step again.
#[test]
fn a_step_that_is_taken_again_does_no_more_than_once() {
    let folder = tempfile::tempdir().unwrap();
    for ledger in [memory(), sqlite(&folder.path().join("ledger.db"))] {
        let worlds = [(); 2].map(|()| World::on(Arc::clone(&ledger), open_policy()));
        let (run, who, asked) = (worlds[0].run(), ana(), Asked::new("fs.write"));
        let caller = Caller { run: &run, principal: &who };
        let granted = worlds.each_ref().map(|world| {
            world.tool("fs.write", Effects::WRITE_LOCAL);
            block_on(world.kernel.grant(caller, asked.call())).token.unwrap()
        });
        for (world, token) in worlds.iter().zip(&granted) {
            let mode = ResponseMode::Table;
            let done = block_on(world.kernel.invoke(caller, token, &asked.arguments, mode));
            assert!(succeeded(&done), "{:?}", done.decision);
        }
        for world in worlds.iter().cycle().take(4) {
            assert!(succeeded(&world.call(&run, &who, &asked)));
        }
        let state = snapshot(&*ledger, &run.run_id).unwrap();
        assert_eq!(state.meters.tool_calls, 6);
        assert_eq!(state, fold(&*ledger, &run.run_id));
        let kinds = kinds(&*ledger);
        let count = |of: EventKind| kinds.iter().filter(|kind| *kind == of.as_str()).count();
        let counts = [EventKind::RunStarted, EventKind::Intent, EventKind::Outcome].map(count);
        assert_eq!(counts, [1, 6, 6]);
        let left = ledger.list(&Tenant::default(), Namespace::OpenCall, None, 9).unwrap();
        assert!(left.is_empty(), "{left:?}");
    }
}

/// A ledger that, right before the first intent, takes the record of the held call once more, as
/// another answer to it would.
fn answered_before_the_intent(inner: &Arc<dyn Ledger>) -> Arc<Faulty> {
    let (ledger, inner) = (Faulty::new(Arc::clone(inner)), Arc::clone(inner));
    let answered = AtomicBool::new(false);
    ledger.fail(move |batch| {
        let is_intent = batch.events.iter().any(|event| event.kind == EventKind::Intent);
        if is_intent && !answered.swap(true, Ordering::SeqCst) {
            let holds = inner.list(&Tenant::default(), Namespace::Hold, None, MAX_PAGE).unwrap();
            let mut again = Batch::new(Durability::Os);
            again.put = holds
                .into_iter()
                .map(|(id, record)| {
                    let key = RecordKey::new(Tenant::default(), Namespace::Hold, id);
                    RecordWrite { key, value: record.value, expires_at: None }
                })
                .collect();
            inner.commit(again).wait().unwrap();
        }
        None
    });
    ledger
}

#[test]
fn another_answer_between_decision_and_intent_takes_nothing_from_a_grant() {
    let inner = memory();
    let ledger = answered_before_the_intent(&inner);
    let desk = Desk::on(ledger as Arc<dyn Ledger>, Ports::default());
    let id = desk.held(&push()).request.id;
    desk.grant(&id, "alice", ALICE);
    let done = desk.push();
    assert!(succeeded(&done), "{done:?}");
    assert_eq!(desk.world.executed(), 1);
    assert_eq!(desk.world.kernel.approval_phase(&id), Some(Phase::Consumed));
}

/// A payment on a rung that the floor does not hold.
fn payments() -> Arc<PolicySet> {
    contracts([("bank.pay", sink(SinkKind::Payment))])
}

/// Both calls are decided before either is committed; only one of them pays.
#[test]
fn two_payments_decided_at_once_are_one() {
    let meeting = Arc::new(Meeting { guests: AtomicUsize::new(0), barrier: Barrier::new(2) });
    let mut world = World::new(open_policy());
    let parts = parts_of(memory(), world.clock.clone(), payments());
    world.kernel = parts.with_random(meeting.clone()).open().unwrap();
    world.register(taking("bank.pay", Effects::WRITE_OPEN, json!({ "to": {}, "amount": {} })));
    world.tool("web.read", Effects::READ_OPEN);
    let (mut run, who) = (world.run(), ana());
    assert!(run.record_user_text("Pay Bob 120 EUR."));
    assert!(succeeded(&world.call(&run, &who, &Asked::new("web.read"))));
    let caller = Caller { run: &run, principal: &who };
    let asked = Asked::new("bank.pay").with(json!({ "to": "Bob", "amount": 120 }));
    let tokens =
        [(); 2].map(|()| block_on(world.kernel.grant(caller, asked.call())).token.unwrap());
    let before = world.executed();
    meeting.guests.store(2, Ordering::SeqCst);
    let done: Vec<Invocation> = std::thread::scope(|scope| {
        let threads = tokens.each_ref().map(|token| {
            let (kernel, asked) = (&world.kernel, &asked);
            scope.spawn(move || {
                block_on(kernel.invoke(caller, token, &asked.arguments, ResponseMode::Table))
            })
        });
        threads.map(|thread| thread.join().unwrap()).into()
    });
    assert_eq!(losers(&done), [ReasonCode::UntrustedInfluence]);
    assert_eq!(world.executed() - before, 1);
    let again = world.call(&run, &who, &asked);
    assert_eq!(again.decision.primary_reason(), ReasonCode::UntrustedInfluence);
}
