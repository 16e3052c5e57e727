//! Every meter of a run's budget: looked at before a call, charged after it, and never overspent by
//! calls at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::json;
use weaver_agent_kernel::{AuthorizedCall, Driver, DriverError, FnDriver, Invocation};
use weaver_types::ledger::Ledger;
use weaver_types::{
    BoxFuture, CapabilityDraft, CapabilityId, Effects, Millicents, RawResult, ReasonCode,
    ResponseMode, RunBudget, RunContext, RunMeters, SafetyMode, Verdict,
};

use crate::races::together;
use crate::support::{
    Asked, World, ana, answer, draft, fold, log, memory, open_policy, snapshot, sqlite, succeeded,
};

/// A tool that has its price, and says what each call cost.
struct Priced {
    price: u64,
    answer: Result<u64, DriverError>,
    executed: Arc<AtomicU64>,
}

impl Driver for Priced {
    fn execute(&self, _: AuthorizedCall) -> BoxFuture<'_, Result<RawResult, DriverError>> {
        self.executed.fetch_add(1, Ordering::SeqCst);
        let answer = self.answer.clone();
        let result = answer.map(|cost| RawResult::text("done").with_cost(Millicents(cost)));
        Box::pin(std::future::ready(result))
    }

    fn max_cost(&self, _: &CapabilityId) -> Millicents {
        Millicents(self.price)
    }

    fn name(&self) -> &str {
        "priced"
    }
}

fn priced(world: &World, id: &str, price: u64, answer: Result<u64, DriverError>) {
    let executed = Arc::clone(&world.executed);
    world.driven(draft(id, Effects::READ_LOCAL), Priced { price, answer, executed });
}

fn meters(world: &World, run: &RunContext) -> RunMeters {
    let state = snapshot(world.ledger.as_ref(), &run.run_id).unwrap();
    assert_eq!(state, fold(world.ledger.as_ref(), &run.run_id));
    state.meters
}

fn capped(world: &World, budget: RunBudget) -> RunContext {
    world.run_with(budget, SafetyMode::Normal)
}

fn money(cap: u64) -> RunBudget {
    RunBudget { max_cost: Some(Millicents(cap)), ..RunBudget::unlimited() }
}

fn refused(done: &Invocation) -> bool {
    answer(done) == (Verdict::Deny, ReasonCode::BudgetExceeded)
}

#[test]
fn what_a_call_costs_is_charged_and_the_cap_holds() {
    let world = World::new(open_policy());
    priced(&world, "api.ask", 3, Ok(2));
    let run = capped(&world, money(7));
    for spent in [2, 4, 6] {
        assert!(succeeded(&world.call(&run, &ana(), &Asked::new("api.ask"))));
        assert_eq!(meters(&world, &run).cost, Millicents(spent));
    }
    let last = world.call(&run, &ana(), &Asked::new("api.ask"));
    assert!(refused(&last), "one left, and it may cost three: {:?}", answer(&last));
    assert_eq!(world.executed(), 3);
    let used = meters(&world, &run);
    assert_eq!((used.cost, used.tool_calls, used.denials), (Millicents(6), 3, 1));
    let told = log(world.ledger.as_ref());
    let outcome = told.iter().find(|event| event.kind == "call.outcome").unwrap();
    assert_eq!(outcome.payload["run"]["cost"], 2);
}

#[test]
fn who_says_no_price_is_charged_afterwards() {
    let world = World::new(open_policy());
    priced(&world, "api.ask", 0, Ok(5));
    let run = capped(&world, money(7));
    let done: Vec<bool> =
        (0..4).map(|_| succeeded(&world.call(&run, &ana(), &Asked::new("api.ask")))).collect();
    assert_eq!(done, [true, true, false, false]);
    assert_eq!(meters(&world, &run).cost, Millicents(10));
}

#[test]
fn an_attempt_that_may_have_acted_costs_its_price_and_one_that_did_not_nothing() {
    let world = World::new(open_policy());
    priced(&world, "api.lost", 3, Err(DriverError::Lost("gone".to_owned())));
    priced(&world, "api.down", 3, Err(DriverError::Unavailable("down".to_owned())));
    let run = capped(&world, money(100));
    world.call(&run, &ana(), &Asked::new("api.lost"));
    world.call(&run, &ana(), &Asked::new("api.down"));
    let used = meters(&world, &run);
    assert_eq!((used.cost, used.tool_calls), (Millicents(3), 2));
}

#[test]
fn what_is_cut_off_took_its_time_and_a_call_gets_no_more_than_is_left() {
    let world = World::new(open_policy());
    let pending = || FnDriver::asynchronous(|_| std::future::pending());
    world.driven(
        CapabilityDraft { timeout_ms: 100, ..draft("fs.wait", Effects::READ_LOCAL) },
        pending(),
    );
    let budget = RunBudget { max_latency_ms: Some(130), ..RunBudget::unlimited() };
    let run = capped(&world, budget);
    let first = world.call(&run, &ana(), &Asked::new("fs.wait")).result.unwrap();
    let second = world.call(&run, &ana(), &Asked::new("fs.wait")).result.unwrap();
    assert_eq!((first.latency_us, second.latency_us), (100_000, 30_000));
    assert!(refused(&world.call(&run, &ana(), &Asked::new("fs.wait"))));
    assert_eq!(meters(&world, &run).latency_us, 130_000);
}

#[test]
fn the_time_that_a_call_is_held_is_no_execution_time() {
    let world = World::new(open_policy());
    world.tool("disk.wipe", Effects::DESTROY_LOCAL).tool("fs.read", Effects::READ_LOCAL);
    let run = capped(&world, RunBudget { max_latency_ms: Some(10), ..RunBudget::unlimited() });
    let held = world.call(&run, &ana(), &Asked::new("disk.wipe"));
    assert_eq!(answer(&held).0, Verdict::Hold);
    world.clock.advance(Duration::from_secs(60));
    assert!(succeeded(&world.call(&run, &ana(), &Asked::new("fs.read"))));
    assert_eq!(meters(&world, &run).latency_us, 0);
}

#[test]
fn tokens_are_counted_where_only_the_run_has_a_cap() {
    let world = World::new(open_policy());
    world.answering(draft("crm.list", Effects::READ_LOCAL), |_| {
        Ok(RawResult::json(json!(
            (0..40).map(|n| json!({"id": n, "name": "somebody"})).collect::<Vec<_>>()
        )))
    });
    let budget = RunBudget { max_prompt_tokens: Some(1_500), ..RunBudget::unlimited() };
    let run = capped(&world, budget);
    let mut sum = 0;
    loop {
        let done = world.call(&run, &ana(), &Asked::new("crm.list"));
        if refused(&done) {
            break;
        }
        let frame = done.result.unwrap().data.unwrap();
        let json = serde_json::to_string(&frame).unwrap();
        sum += weaver_text::token::counter("chars4").unwrap().count(&json).tokens().unwrap() as u64;
        assert_eq!(meters(&world, &run).prompt_tokens, sum);
    }
    assert!(sum > 500 && sum <= 1_500, "{sum}");
    assert!(
        world.kernel.token_session(&run).is_none(),
        "it is no session, and no mode grows stricter"
    );
}

/// A result as it is has a bound of its own, in tokens, and so much is set aside for it.
#[test]
fn a_result_as_it_is_is_whole_also_where_the_run_has_a_cap() {
    let world = World::new(open_policy());
    let text = "one more line\n".repeat(900);
    let said = text.clone();
    world.answering(draft("crm.tell", Effects::READ_LOCAL), move |_| {
        Ok(RawResult::text(said.clone()))
    });
    let budget = RunBudget { max_prompt_tokens: Some(100_000), ..RunBudget::unlimited() };
    let asked = Asked::new("crm.tell").mode(ResponseMode::Auto);
    let done = world.call(&capped(&world, budget), &ana(), &asked);
    let frame = done.result.unwrap().data.unwrap();
    assert_eq!(frame.content, [json!({ "text": text, "type": "text" })]);
}

/// A ledger in memory and one on disk.
fn both(f: impl Fn(Arc<dyn Ledger>)) {
    let folder = tempfile::tempdir().unwrap();
    f(memory());
    f(sqlite(&folder.path().join("ledger.db")));
}

#[test]
fn of_64_calls_at_once_none_overspends_money() {
    both(|ledger| {
        let world = World::on(ledger, open_policy());
        priced(&world, "api.ask", 3, Ok(3));
        let run = capped(&world, money(20));
        let done = together(|_| world.call(&run, &ana(), &Asked::new("api.ask")));
        let went = done.iter().filter(|done| succeeded(done)).count() as u64;
        assert!(done.iter().all(|done| succeeded(done) || refused(done)));
        let used = meters(&world, &run);
        assert_eq!((used.tool_calls, used.denials), (went, 64 - went));
        assert_eq!(used.cost, Millicents(3 * went));
        assert!(used.cost <= Millicents(20), "{used:?}");
        // Who was refused while others held it, comes through when they are over.
        while succeeded(&world.call(&run, &ana(), &Asked::new("api.ask"))) {}
        assert_eq!(meters(&world, &run).cost, Millicents(18));
    });
}

#[test]
fn of_64_calls_at_once_none_overspends_time() {
    both(|ledger| {
        let world = World::on(ledger, open_policy());
        let spec = CapabilityDraft { timeout_ms: 100, ..draft("fs.wait", Effects::READ_LOCAL) };
        world.driven(spec, FnDriver::asynchronous(|_| std::future::pending()));
        let budget = RunBudget { max_latency_ms: Some(350), ..RunBudget::unlimited() };
        let run = capped(&world, budget);
        together(|_| world.call(&run, &ana(), &Asked::new("fs.wait")));
        let used = meters(&world, &run);
        assert!(used.latency_us <= 350_000 && used.tool_calls >= 3, "{used:?}");
        assert_eq!(used.tool_calls + used.denials, 64);
    });
}

#[test]
fn of_64_calls_at_once_none_overspends_tokens() {
    both(|ledger| {
        let world = World::on(ledger, open_policy());
        world.answering(draft("crm.list", Effects::READ_LOCAL), |_| {
            Ok(RawResult::json(json!((0..40).map(|n| json!({"id": n})).collect::<Vec<_>>())))
        });
        let budget = RunBudget { max_prompt_tokens: Some(4_000), ..RunBudget::unlimited() };
        let run = capped(&world, budget);
        together(|_| world.call(&run, &ana(), &Asked::new("crm.list")));
        while succeeded(&world.call(&run, &ana(), &Asked::new("crm.list"))) {}
        let used = meters(&world, &run);
        assert!(used.prompt_tokens <= 4_000 && used.prompt_tokens > 3_000, "{used:?}");
    });
}

#[test]
fn a_call_that_is_given_up_is_charged_with_its_time_and_its_price() {
    use std::future::Future;
    use std::task::{Context, Waker};
    /// A tool with a price that never answers.
    struct Never;
    impl Driver for Never {
        fn execute(&self, _: AuthorizedCall) -> BoxFuture<'_, Result<RawResult, DriverError>> {
            Box::pin(std::future::pending())
        }

        fn max_cost(&self, _: &CapabilityId) -> Millicents {
            Millicents(5)
        }

        fn name(&self) -> &str {
            "never"
        }
    }
    let world = World::new(open_policy());
    world.driven(draft("api.never", Effects::WRITE_LOCAL), Never);
    let budget = RunBudget {
        max_cost: Some(Millicents(9)),
        max_latency_ms: Some(60_000),
        ..RunBudget::unlimited()
    };
    let (run, who, asked) = (capped(&world, budget), ana(), Asked::new("api.never"));
    let caller = weaver_agent_kernel::Caller { run: &run, principal: &who };
    let mut call = Box::pin(world.kernel.execute(caller, asked.call()));
    assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    world.clock.advance(Duration::from_millis(70));
    drop(call);
    weaver_agent_kernel::block_on(world.kernel.sweep());
    let used = meters(&world, &run);
    assert_eq!((used.cost, used.latency_us, used.tool_calls), (Millicents(5), 70_000, 1));
}
