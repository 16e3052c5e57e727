//! Explanations of calls: of the latest from memory, of the others from the log.

use std::sync::{Arc, OnceLock, Weak};

use serde_json::json;
use weaver_agent_kernel::{DriverError, FnDriver, Invocation, Settings};
use weaver_trace_store::prune::{PruneReason, PruningNote};
use weaver_types::ledger::{Batch, Durability, Ledger, NewEvent};
use weaver_types::{
    CallId, CapabilityDraft, Effects, EventKind, ManualClock, Principal, RawResult, ReasonCode,
    Tenant, Verdict,
};

use crate::support::{
    Asked, START, World, ana, draft, log, memory, open_policy, parts, principal, succeeded,
};

/// More calls than memory holds, three kinds in turns: one that succeeds, one whose tool fails, one
/// that is refused.
const CALLS: usize = 2_000;

fn world(ledger: Arc<dyn Ledger>) -> World {
    let world = World::on(ledger, open_policy());
    world.tool("fs.read", Effects::READ_LOCAL);
    world.answering(draft("db.rows", Effects::READ_LOCAL), |_| {
        Err(DriverError::Failed("no such table".to_owned()))
    });
    world
}

fn made(world: &World, count: usize) -> Vec<Invocation> {
    let run = world.run();
    let ids = ["fs.read", "db.rows", "secret.tool"];
    (0..count).map(|n| world.call(&run, &ana(), &Asked::new(ids[n % 3]))).collect()
}

#[test]
fn any_call_is_explained_from_memory_or_from_the_log() {
    let world = world(memory());
    let done = made(&world, CALLS);
    let ends = [None, Some(ReasonCode::ExecutionFailed), None];
    let verdicts = [Verdict::Allow, Verdict::Allow, Verdict::Deny];
    let size = world.ledger.head().unwrap().size;
    for (n, done) in done.iter().enumerate() {
        // Not each of them: those at both ends, and some between.
        if n % 97 > 2 && n > 5 && n < CALLS - 5 {
            continue;
        }
        let told = world.kernel.explain(&ana(), &done.call).unwrap_or_else(|| panic!("call {n}"));
        assert_eq!((&told.call, told.failure), (&done.call, ends[n % 3]), "call {n}");
        assert_eq!(told.decision.verdict(), verdicts[n % 3], "call {n}");
        assert_eq!(told.decision, done.decision, "call {n}");
        assert_eq!(told.capability, done.result.as_ref().unwrap().tool_id);
    }
    assert_eq!(world.ledger.head().unwrap().size, size, "looking leaves nothing");
}

#[test]
fn a_call_of_an_earlier_process_is_explained_to_whom_it_concerns() {
    let ledger = memory();
    let done = made(&world(Arc::clone(&ledger)), 3);
    let later = world(Arc::clone(&ledger));
    let told = |who: &Principal, call: &CallId| later.kernel.explain(who, call);
    for done in &done {
        assert_eq!(told(&ana(), &done.call).unwrap().decision, done.decision);
        assert!(told(&principal("bob", &["reader"]), &done.call).is_none());
        assert!(told(&principal("root", &["admin"]), &done.call).is_some());
        let foreign = Principal { tenant: Tenant::parse("other").unwrap(), ..ana() };
        assert!(told(&foreign, &done.call).is_none());
    }
    assert!(
        told(&ana(), &CallId::parse("call_00000000000000000000000000000000").unwrap()).is_none()
    );
}

/// One ledger may have a kernel for each tenant; events do not say whose they are.
#[test]
fn a_call_of_another_tenant_is_not_found_in_a_ledger_that_both_write() {
    let ledger = memory();
    let done = made(&world(Arc::clone(&ledger)), 1).remove(0);
    let tenant = Tenant::parse("other").unwrap();
    let settings = Settings { tenant: tenant.clone(), ..Settings::default() };
    let parts = parts(ledger, Arc::new(ManualClock::new(START)), open_policy());
    let other = parts.with_settings(settings).open().unwrap();
    let admin = Principal { tenant, ..principal("ana", &["admin"]) };
    assert!(other.explain(&admin, &done.call).is_none());
}

#[test]
fn what_the_log_says_is_redacted_and_what_was_pruned_is_not_told() {
    let ledger = memory();
    let first = world(Arc::clone(&ledger));
    let mut asked = Asked::new("fs.take");
    let schema = json!({ "type": "object", "additionalProperties": false });
    first.register(CapabilityDraft {
        input_schema: Some(schema.into()),
        ..draft("fs.take", Effects::READ_LOCAL)
    });
    asked.arguments = json!({ "jane.roe@corp.example.com": 1 });
    let done = first.call(&first.run(), &ana(), &asked);
    assert_eq!(done.decision.primary_reason(), ReasonCode::InvalidArguments);
    let later = world(Arc::clone(&ledger));
    let told = later.kernel.explain(&ana(), &done.call).unwrap();
    assert_eq!(told.decision.primary_reason(), ReasonCode::InvalidArguments);
    assert!(!format!("{told:?}").contains("jane.roe"), "{told:?}");

    let seq = ledger.head().unwrap().size - 1;
    let note = PruningNote::new(vec![seq], PruneReason::Age, "operator").unwrap();
    let (kind, payload) = (EventKind::Pruned, note.to_bytes().unwrap().into());
    let event = NewEvent { kind, at: START, run: None, call: None, payload };
    let batch = Batch { prune: vec![seq], ..Batch::new(Durability::Os).with_event(event) };
    ledger.commit(batch).wait().unwrap();
    assert!(later.kernel.explain(&ana(), &done.call).is_none());
}

/// A call that goes on is neither a success nor a failure.
#[test]
fn a_call_that_has_not_ended_is_not_explained() {
    let slot: Arc<OnceLock<Weak<World>>> = Arc::default();
    let own = Arc::clone(&slot);
    let world = Arc::new(World::new(open_policy()));
    slot.set(Arc::downgrade(&world)).unwrap();
    let asking = FnDriver::inline(move |_| {
        let world = own.get().and_then(Weak::upgrade).unwrap();
        let intent = log(world.ledger.as_ref()).into_iter().rfind(|one| one.kind == "call.intent");
        let call = CallId::parse(intent.unwrap().call.unwrap()).unwrap();
        assert!(world.kernel.explain(&ana(), &call).is_none());
        Ok(RawResult::text("nothing is known yet"))
    });
    world.driven(draft("fs.ask", Effects::READ_LOCAL), asking);
    let done = world.call(&world.run(), &ana(), &Asked::new("fs.ask"));
    assert!(succeeded(&done), "{done:?}");
    assert!(world.kernel.explain(&ana(), &done.call).is_some());
}

#[test]
fn a_call_whose_end_nobody_saw_is_explained_as_unknown() {
    use std::future::Future;
    use std::task::{Context, Waker};
    let ledger = memory();
    let world = World::on(Arc::clone(&ledger), open_policy());
    let driver = FnDriver::asynchronous(|_| std::future::pending());
    world.driven(draft("fs.write", Effects::WRITE_LOCAL), driver);
    let (run, who, asked) = (world.run(), ana(), Asked::new("fs.write"));
    let caller = weaver_agent_kernel::Caller { run: &run, principal: &who };
    let mut call = Box::pin(world.kernel.execute(caller, asked.call()));
    assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    drop(call);
    weaver_agent_kernel::block_on(world.kernel.sweep());
    let intent = log(ledger.as_ref()).into_iter().find(|one| one.kind == "call.intent").unwrap();
    let id = CallId::parse(intent.call.unwrap()).unwrap();
    let later = World::on(Arc::clone(&ledger), open_policy());
    let told = later.kernel.explain(&who, &id).unwrap();
    assert_eq!(
        (told.failure, told.decision.verdict()),
        (Some(ReasonCode::OutcomeUnknown), Verdict::Allow)
    );
}
