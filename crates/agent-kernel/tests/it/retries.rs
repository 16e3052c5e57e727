//! Attempts inside one invocation: how long they pause, what is looked at before each, and what
//! becomes of a result that comes too late.

use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use weaver_agent_kernel::{DriverError, FnDriver, Invocation, RevocationSubject, block_on};
use weaver_types::{
    BoxFuture, CapabilityDraft, Effects, PrincipalId, RawResult, Rung, SeededRandom, Timer,
    ToolErrorCode,
};

use crate::support::{
    Asked, World, ana, draft, fold, kinds, log, open_policy, parts, set, snapshot,
};

/// A timer whose pauses are over at once, and are noted.
#[derive(Default)]
struct Noting(Mutex<Vec<Duration>>);

impl Timer for Noting {
    fn sleep(&self, after: Duration) -> BoxFuture<'static, ()> {
        self.0.lock().unwrap().push(after);
        Box::pin(std::future::ready(()))
    }
}

fn flaky(id: &str) -> CapabilityDraft {
    CapabilityDraft { idempotent: true, max_retries: 4, ..draft(id, Effects::READ_LOCAL) }
}

/// A world whose pauses are noted.
fn noting(seed: u64) -> (World, Arc<Noting>) {
    let timer = Arc::new(Noting::default());
    let mut world = World::new(open_policy());
    let own = parts(world.ledger.clone(), world.clock.clone(), open_policy());
    let random = Arc::new(SeededRandom::new(seed));
    world.kernel = own.with_timer(timer.clone()).with_random(random).open().unwrap();
    (world, timer)
}

fn pauses(seed: u64) -> Vec<Duration> {
    let (world, timer) = noting(seed);
    world.answering(flaky("fs.flaky"), |_| Err(DriverError::Unavailable("not now".to_owned())));
    let mut run = world.run();
    run.settings.budget.max_retries_per_tool = 4;
    world.call(&run, &ana(), &Asked::new("fs.flaky"));
    assert_eq!(world.executed(), 5);
    timer.0.lock().unwrap().clone()
}

#[test]
fn pauses_grow_and_are_spread_by_chance() {
    let all: Vec<Vec<Duration>> = (1..=8).map(pauses).collect();
    for pauses in &all {
        assert_eq!(pauses.len(), 4);
        for (nth, pause) in (0_u32..).zip(pauses) {
            let whole = Duration::from_millis(50 * 2_u64.pow(nth));
            assert!(*pause >= whole / 2 && *pause <= whole, "{nth}: {pause:?}");
        }
    }
    assert!(all.iter().any(|pauses| *pauses != all[0]), "by chance");
    assert_eq!(pauses(3), pauses(3), "and by nothing else");
}

/// The other side says when to come again: not before, and after a long pause not at all.
#[test]
fn a_pause_that_is_asked_for_is_kept() {
    for (wait, attempts) in [(800, 5), (5_000, 5), (5_001, 1)] {
        let wait = Duration::from_millis(wait);
        let (world, timer) = noting(1);
        world.answering(flaky("fs.flaky"), move |_| {
            Err(DriverError::RateLimited { said: "slowly".to_owned(), wait: Some(wait) })
        });
        let mut run = world.run();
        run.settings.budget.max_retries_per_tool = 4;
        world.call(&run, &ana(), &Asked::new("fs.flaky"));
        assert_eq!(world.executed(), attempts, "{wait:?}");
        let pauses = timer.0.lock().unwrap().clone();
        assert_eq!(pauses.len() as u64, attempts - 1);
        assert!(pauses.iter().all(|pause| *pause >= wait), "{pauses:?}");
    }
}

/// What happens between two attempts, and what the log says of why there is no third.
fn stopped(between: impl Fn(&World, &weaver_types::RunContext) + Send + Sync + 'static) -> String {
    let (world, _) = noting(1);
    let world = Arc::new(world);
    let run = Arc::new(world.run());
    let (inner, own) = (Arc::downgrade(&world), Arc::clone(&run));
    world.answering(flaky("fs.flaky"), move |_| {
        if let Some(world) = inner.upgrade() {
            between(&world, &own);
        }
        Err(DriverError::Unavailable("not now".to_owned()))
    });
    let done = world.call(&run, &ana(), &Asked::new("fs.flaky"));
    assert_eq!(world.executed(), 1, "no second attempt");
    let result = done.result.unwrap();
    assert_eq!((result.retries, result.error_code), (0, Some(ToolErrorCode::NetworkError)));
    let last = log(world.ledger.as_ref()).pop().unwrap();
    last.payload["retry_stopped"].as_str().unwrap().to_owned()
}

#[test]
fn a_revoked_grant_is_not_tried_again() {
    let said = stopped(|world, run| {
        let by = PrincipalId::parse("operator").unwrap();
        let subject = RevocationSubject::Run(run.run_id.clone());
        block_on(world.kernel.void_grants(subject, &by)).unwrap();
    });
    assert_eq!(said, "token_revoked");
}

#[test]
fn past_its_deadline_a_call_is_not_tried_again() {
    let said = stopped(|world, _| world.clock.advance(Duration::from_secs(3_601)));
    assert_eq!(said, "token_expired");
}

#[test]
fn under_another_policy_a_call_is_not_tried_again() {
    let said = stopped(|world, _| {
        let other = weaver_policy::Policy::new("other");
        block_on(world.kernel.replace_policy(set(other)));
    });
    assert_eq!(said, "policy_changed");
}

#[test]
fn a_capability_that_changed_is_not_tried_again() {
    let said = stopped(|world, _| {
        let changed = CapabilityDraft { description: "another".to_owned(), ..flaky("fs.flaky") };
        let driver = FnDriver::inline(|_| Ok(RawResult::text("")));
        let set = vec![(changed.build().unwrap(), Arc::new(driver) as Arc<_>)];
        world.kernel.registry().replace_prefix("fs.", set).unwrap();
    });
    assert_eq!(said, "contract_changed");
}

#[test]
fn without_time_left_in_its_run_a_call_is_not_tried_again() {
    let (world, _) = noting(1);
    let clock = Arc::clone(&world.clock);
    world.answering(flaky("fs.flaky"), move |_| {
        clock.advance(Duration::from_millis(40));
        Err(DriverError::Unavailable("not now".to_owned()))
    });
    let mut run = world.run();
    run.settings.budget.max_latency_ms = Some(100);
    world.call(&run, &ana(), &Asked::new("fs.flaky"));
    assert_eq!(world.executed(), 3, "40, 80, and 20 ms for the third");
    let last = log(world.ledger.as_ref()).pop().unwrap();
    assert_eq!(last.payload["retry_stopped"], "budget_exceeded");
    let state = snapshot(world.ledger.as_ref(), &run.run_id).unwrap();
    assert_eq!((state.meters.latency_us, state.meters.tool_calls), (120_000, 1));
    assert_eq!(state, fold(world.ledger.as_ref(), &run.run_id));
}

fn by_hand(world: &World, id: &str, spec: CapabilityDraft) -> (mpsc::Sender<()>, Invocation) {
    let (gate, waiting) = mpsc::channel::<()>();
    let waiting = Mutex::new(waiting);
    world.driven(
        spec,
        FnDriver::blocking(move |_| {
            let _ = waiting.lock().unwrap().recv();
            Ok(RawResult::text("hunter2, late"))
        }),
    );
    let done = world.call(&world.run(), &ana(), &Asked::new(id));
    (gate, done)
}

#[test]
fn a_late_result_is_recorded_and_never_delivered() {
    let world = World::new(open_policy());
    let spec = CapabilityDraft { timeout_ms: 100, ..draft("fs.append", Effects::WRITE_LOCAL) };
    let (gate, done) = by_hand(&world, "fs.append", spec);
    let result = done.result.as_ref().unwrap();
    assert_eq!(result.error_code, Some(ToolErrorCode::Timeout));
    assert!(result.error_message.starts_with("outcome_unknown"), "{result:?}");
    assert_eq!(kinds(world.ledger.as_ref()).last().unwrap(), "call.outcome_unknown");
    let before = log(world.ledger.as_ref()).len();
    gate.send(()).unwrap();
    while log(world.ledger.as_ref()).len() == before {
        std::thread::yield_now();
    }
    let log = log(world.ledger.as_ref());
    let late = log.last().unwrap();
    assert_eq!(late.kind, "call.late");
    assert_eq!(late.call.as_deref(), Some(done.call.as_str()));
    assert_eq!(late.payload["success"], true);
    assert!(!format!("{log:?}").contains("hunter2"));
    let run = weaver_types::RunId::parse(late.run.clone().unwrap()).unwrap();
    let state = snapshot(world.ledger.as_ref(), &run).unwrap();
    assert_eq!(state, fold(world.ledger.as_ref(), &run));
    assert_eq!(state.meters.tool_calls, 1, "it is one call");
}

#[test]
fn an_attempt_is_late_once_and_what_the_tool_calls_a_failure_is_none_of_its_successes() {
    let world = World::new(open_policy());
    let (gate, waiting) = mpsc::channel::<()>();
    let (tell, told) = mpsc::channel::<()>();
    let ends = Mutex::new((waiting, tell));
    let spec = CapabilityDraft { timeout_ms: 100, ..draft("fs.append", Effects::WRITE_LOCAL) };
    world.driven(
        spec,
        FnDriver::blocking(move |call| {
            let (waiting, tell) = &*ends.lock().unwrap();
            let _ = waiting.recv();
            for _ in 0..3 {
                call.report_late(&Ok(RawResult { is_error: true, ..RawResult::text("no") }));
            }
            let _ = tell.send(());
            Ok(RawResult::text("yes"))
        }),
    );
    world.call(&world.run(), &ana(), &Asked::new("fs.append"));
    gate.send(()).unwrap();
    told.recv().unwrap();
    let log = log(world.ledger.as_ref());
    let late: Vec<_> = log.iter().filter(|event| event.kind == "call.late").collect();
    assert_eq!(late.len(), 1);
    assert_eq!(late[0].payload["success"], false);
}

/// The run takes on the worst that the call could have brought.
#[test]
fn a_timeout_of_what_is_not_idempotent_is_unknown_and_taints_the_run() {
    let world = World::new(open_policy());
    let spec = CapabilityDraft {
        timeout_ms: 100,
        sensitivity: [weaver_types::SensitivityTag::Pii].into(),
        ..draft("crm.append", Effects::WRITE_LOCAL)
    };
    assert_eq!(spec.clone().build().unwrap().rung(), Rung::L3);
    let (_gate, done) = by_hand(&world, "crm.append", spec);
    let told = world.kernel.explain(&ana(), &done.call).unwrap();
    assert_eq!(told.failure, Some(weaver_types::ReasonCode::OutcomeUnknown));
    let last = log(world.ledger.as_ref()).pop().unwrap();
    let run = weaver_types::RunId::parse(last.run.unwrap()).unwrap();
    let label = snapshot(world.ledger.as_ref(), &run).unwrap().label;
    assert_eq!(label.confidentiality, weaver_types::Confidentiality::Confidential);
    assert_eq!(label.integrity, weaver_types::Integrity::Untrusted);
}

#[test]
fn a_driver_is_told_which_attempt_it_is_and_how_long_it_may_take() {
    let (world, _) = noting(1);
    let told: Arc<Mutex<Vec<(u8, Duration)>>> = Arc::default();
    let seen = Arc::clone(&told);
    let driver = FnDriver::inline(move |call| {
        seen.lock().unwrap().push((call.attempt(), call.timeout()));
        Err(DriverError::Unavailable("not now".to_owned()))
    });
    world.driven(CapabilityDraft { timeout_ms: 1_234, ..flaky("fs.flaky") }, driver);
    let mut run = world.run();
    run.settings.budget.max_retries_per_tool = 2;
    world.call(&run, &ana(), &Asked::new("fs.flaky"));
    let limit = Duration::from_millis(1_234);
    assert_eq!(*told.lock().unwrap(), [(0, limit), (1, limit), (2, limit)]);
}

#[test]
fn a_server_that_is_not_there_is_told_so_and_nothing_else() {
    let (world, _) = noting(1);
    for (id, error, reason) in [
        ("fs.gone", DriverError::Unavailable("gone".to_owned()), "upstream_unavailable"),
        ("fs.bad", DriverError::Failed("bad".to_owned()), "execution_failed"),
        ("fs.slow", DriverError::Timeout(Duration::from_millis(5)), "timeout"),
    ] {
        world.answering(draft(id, Effects::READ_LOCAL), move |_| Err(error.clone()));
        let done = world.call(&world.run(), &ana(), &Asked::new(id));
        let message = &done.result.unwrap().error_message;
        assert!(message.starts_with(&format!("{reason}: ")), "{message}");
        let outcome =
            log(world.ledger.as_ref()).into_iter().rfind(|one| one.kind == "call.outcome");
        assert_eq!(outcome.unwrap().payload["reason"], reason);
    }
}
