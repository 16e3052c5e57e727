//! Ends of calls that the ledger did not take: nothing is executed before they are recorded.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use weaver_agent_kernel::Caller;
use weaver_types::ledger::{Ledger, LedgerError, Namespace, RecordKey};
use weaver_types::{Effects, EventKind, ReasonCode, Tenant, Verdict};

use crate::deferred_ends::Deferring;
use crate::support::{Asked, Faulty, World, ana, answer, kinds, memory, open_policy, succeeded};

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
