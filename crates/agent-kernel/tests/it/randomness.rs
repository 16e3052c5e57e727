//! Randomness that runs out: what needs a fresh value is denied.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use weaver_agent_kernel::{Caller, FnDriver, Kernel, block_on};
use weaver_types::{
    CheckKind, CheckResult, Clock, Effects, HandleId, ManualClock, OsRandom, Random, RandomError,
    RawResult, ReasonCode, RunBudget, RunContext, RunSettings, Verdict,
};

use crate::support::{
    Asked, START, ana, answer, draft, kinds, memory, open_policy, parts, succeeded,
};

/// Gives so many values and then fails.
struct Scarce(AtomicUsize);

impl Random for Scarce {
    fn fill(&self, buffer: &mut [u8]) -> Result<(), RandomError> {
        self.0
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1))
            .map_err(|_| RandomError)?;
        OsRandom.fill(buffer)
    }
}

struct Poor {
    kernel: Kernel,
    run: RunContext,
    executed: Arc<AtomicUsize>,
}

/// A kernel that gets so many random values.
fn poor(values: usize) -> Poor {
    let clock = Arc::new(ManualClock::new(START));
    let settings = RunSettings { budget: RunBudget::unlimited(), ..RunSettings::default() };
    let run = RunContext::create(settings, clock.as_ref(), &OsRandom).unwrap();
    let random = Arc::new(Scarce(AtomicUsize::new(values)));
    let parts = parts(memory(), clock as Arc<dyn Clock>, open_policy());
    let kernel = parts.with_random(random).open().unwrap();
    let executed = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&executed);
    let driver = FnDriver::inline(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        Ok(RawResult::text("done"))
    });
    let capability = draft("fs.read", Effects::READ_LOCAL).build().unwrap();
    kernel.registry().register(capability, Arc::new(driver)).unwrap();
    Poor { kernel, run, executed }
}

#[test]
fn without_randomness_nothing_is_executed() {
    let (who, asked) = (ana(), Asked::new("fs.read").with(json!({ "path": "a" })));
    // The first value names the call, the second salts its arguments.
    for (values, recorded) in [(0, vec![]), (1, vec!["run.started", "call.refused"])] {
        let poor = poor(values);
        let caller = Caller { run: &poor.run, principal: &who };
        let done = block_on(poor.kernel.execute(caller, asked.call()));
        assert_eq!(answer(&done), (Verdict::Deny, ReasonCode::InternalError), "{values}");
        assert!(!succeeded(&done));
        assert_eq!(poor.executed.load(Ordering::SeqCst), 0);
        assert_eq!(kinds(poor.kernel.ledger().as_ref()), recorded);
    }
    // The third names the handle: the call has happened, and its result is not kept.
    for (values, kept) in [(2, false), (3, true)] {
        let poor = poor(values);
        let caller = Caller { run: &poor.run, principal: &who };
        let done = block_on(poor.kernel.execute(caller, asked.call()));
        assert!(succeeded(&done), "{:?}", answer(&done));
        assert_eq!(poor.executed.load(Ordering::SeqCst), 1);
        let frame = done.result.unwrap().data.unwrap();
        assert_eq!(frame.handle.is_some(), kept);
        assert_eq!(frame.warnings.iter().any(|warning| warning.kind == "not_stored"), !kept);
    }
}

#[test]
fn without_randomness_there_is_no_grant_and_no_view() {
    let (poor, who, asked) = (poor(0), ana(), Asked::new("fs.read"));
    let caller = Caller { run: &poor.run, principal: &who };
    let grant = block_on(poor.kernel.grant(caller, asked.call()));
    assert!(grant.token.is_none() && !grant.decision.is_allowed());
    let id = HandleId::parse("hdl_1").unwrap();
    let view = block_on(poor.kernel.expand(caller, &id, &Default::default()));
    assert_eq!(answer(&view), (Verdict::Deny, ReasonCode::InternalError));
    let said = CheckResult::new(CheckKind::System, Verdict::Allow, ReasonCode::RuleAllow, "no");
    let rejected = block_on(poor.kernel.reject(caller, &asked.request, said));
    assert_eq!(rejected.decision.verdict(), Verdict::Deny);
    assert_eq!(poor.executed.load(Ordering::SeqCst), 0);
}
