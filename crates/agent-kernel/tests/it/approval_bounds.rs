//! How much may be held at once.

use std::time::Duration;

use serde_json::json;
use weaver_agent_kernel::block_on;
use weaver_types::{ReasonCode, Remedy, Verdict};

use crate::approvals::{ALICE, Desk, MINUTE};
use crate::support::{Asked, answer, succeeded};

fn numbered(n: usize) -> Asked {
    Asked::new("git.push").with(json!({ "n": n }))
}

#[test]
fn the_requests_of_a_run_are_bounded() {
    let desk = Desk::new();
    // What ends earlier, but of another run, makes no room for this one.
    desk.world.call(&desk.world.run(), &desk.who, &numbered(0));
    desk.world.clock.advance(5 * MINUTE);
    let first = desk.held(&numbered(0)).request.id;
    for n in 1..64 {
        desk.held(&numbered(n));
    }
    let refused = desk.call(&numbered(64));
    assert_eq!(answer(&refused), (Verdict::Deny, ReasonCode::RateLimited));
    let said = refused.decision.obstacles().next().unwrap().discharge.clone();
    assert_eq!(said, Remedy::Wait { retry_after_ms: 15 * 60 * 1_000 });
    assert_eq!(desk.call(&numbered(0)).request.as_ref(), Some(&first), "those that are open stay");
    let other = desk.world.call(&desk.world.run(), &desk.who, &numbered(64));
    assert_eq!(other.decision.verdict(), Verdict::Hold, "another run is another run");
    desk.grant(&first, "alice", ALICE);
    assert!(succeeded(&desk.call(&numbered(0))));
    assert_eq!(desk.call(&numbered(64)).decision.verdict(), Verdict::Hold, "one is gone");
    desk.world.clock.advance(15 * MINUTE);
    assert_eq!(block_on(desk.world.kernel.sweep()), 66);
    assert_eq!(desk.world.kernel.pending_approvals().len(), 0);
}

#[test]
fn the_requests_of_all_runs_are_bounded_and_tell_no_other_run_when_they_end() {
    let desk = Desk::new();
    for _ in 0..16 {
        let run = desk.world.run();
        for n in 0..64 {
            let done = desk.world.call(&run, &desk.who, &numbered(n));
            assert_eq!(done.decision.verdict(), Verdict::Hold);
        }
        desk.world.clock.advance(Duration::from_millis(1_234));
    }
    let refused = desk.call(&numbered(0));
    assert_eq!(answer(&refused), (Verdict::Deny, ReasonCode::RateLimited));
    let said = refused.decision.obstacles().next().unwrap().discharge.clone();
    assert_eq!(said, Remedy::Wait { retry_after_ms: 60_000 });
}

#[test]
fn what_is_too_large_to_be_read_by_a_person_is_refused() {
    let desk = Desk::new();
    let large = Asked::new("git.push").with(json!({ "text": "x".repeat(600 * 1_024) }));
    assert_eq!(answer(&desk.call(&large)), (Verdict::Deny, ReasonCode::InvalidArguments));
    let fits = Asked::new("git.push").with(json!({ "text": "x".repeat(500 * 1_024) }));
    assert_eq!(desk.call(&fits).decision.verdict(), Verdict::Hold);
}

#[test]
fn many_refusals_at_one_place_refuse_the_rest() {
    let desk = Desk::new();
    for n in 0..16 {
        let id = desk.held(&numbered(n)).request.id;
        desk.deny(&id, "alice", ALICE);
    }
    let other = desk.call(&numbered(99));
    assert_eq!(answer(&other), (Verdict::Deny, ReasonCode::ApprovalDenied));
    let said = other.decision.detail();
    assert!(said.contains("too many calls") && !said.contains("very call"), "{said}");
    let same = desk.call(&numbered(3));
    assert!(same.decision.detail().contains("for this very call was denied"), "{same:?}");
    desk.world.clock.advance(15 * MINUTE + Duration::from_secs(1));
    assert_eq!(desk.call(&numbered(99)).decision.verdict(), Verdict::Hold);
}
