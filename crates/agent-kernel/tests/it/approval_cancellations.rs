//! Calls that are given up while their request is being recorded.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use weaver_agent_kernel::{Caller, Ports, SignedFileOutcome};
use weaver_types::ledger::Ledger;
use weaver_types::{EventKind, Verdict};

use crate::approvals::{ALICE, Desk, MINUTE, push};
use crate::deferred_ends::Deferring;
use crate::support::succeeded;

/// A desk of which a call was given up before the ledger had answered, and its ledger takes or
/// refuses the request of it later.
fn given_up(refuses: bool) -> Desk {
    let ledger = Deferring::keeping(1, EventKind::ApprovalRequested, refuses);
    let desk = Desk::on(ledger as Arc<dyn Ledger>, Ports::default());
    {
        let (caller, asked) = (Caller { run: &desk.run, principal: &desk.who }, push());
        let mut call = pin!(desk.world.kernel.execute(caller, asked.call()));
        assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    desk
}

#[test]
fn the_same_call_has_a_request_that_can_be_granted_whether_the_first_was_recorded_or_not() {
    for refuses in [true, false] {
        let desk = given_up(refuses);
        let request = desk.held(&push()).request;
        assert!(desk.record(&request.id).is_some(), "refused: {refuses}");
        assert_eq!(desk.world.kernel.pending_approvals().len(), 1);
        let received = desk.grant(&request.id, "alice", ALICE);
        assert!(matches!(received, SignedFileOutcome::Granted { .. }), "{refuses}: {received:?}");
        assert!(succeeded(&desk.push()));
    }
}

#[test]
fn a_request_that_nobody_waits_for_takes_no_place_for_ever() {
    for (refuses, ended) in [(true, 0), (false, 1)] {
        let desk = given_up(refuses);
        desk.world.clock.advance(16 * MINUTE);
        assert_eq!(weaver_agent_kernel::block_on(desk.world.kernel.sweep()), ended);
        assert_eq!(desk.world.kernel.pending_approvals().len(), 0, "refused: {refuses}");
        assert_eq!(desk.push().decision.verdict(), Verdict::Hold);
    }
}
