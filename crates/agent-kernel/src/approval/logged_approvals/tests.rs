use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use weaver_trace_store::MemoryLedger;
use weaver_types::SeededRandom;
use weaver_types::ledger::{Batch, Durability};

use super::*;
use crate::event_payload::EventPayload;

const NOW: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

/// A log of these events, a second apart.
fn log(events: &[(EventKind, Value)]) -> MemoryLedger {
    let ledger = MemoryLedger::with_random_id(Arc::new(SeededRandom::new(1))).unwrap();
    for (n, (kind, fields)) in (0..).zip(events) {
        let at = NOW.after(Duration::from_secs(n));
        let fields = fields.as_object().unwrap().iter();
        let payload =
            fields.fold(EventPayload::new(), |payload, (key, value)| payload.with(key, value));
        let event = payload.into_global_event(*kind, at).unwrap();
        ledger.commit(Batch::new(Durability::Os).with_event(event)).wait().unwrap();
    }
    ledger
}

fn standing(id: &str, opened_at: Timestamp) -> StandingApproval {
    serde_json::from_value(json!({
        "v": 1, "id": id, "log": "log_1", "capability": ["git.*"], "principals": ["ana"],
        "expires": NOW.after(Duration::from_secs(9_999)), "uses": 5, "opened_at": opened_at,
        "nonce": "01010101010101010101010101010101",
    }))
    .unwrap()
}

#[test]
fn a_request_is_open_as_the_log_tells_of_it_and_until_it_ended_there() {
    let opened = |id: &str| {
        (EventKind::ApprovalRequested, json!({ "request": id, "digest": format!("sha_{id}") }))
    };
    let mut events: Vec<(EventKind, Value)> = (1..9).map(|n| opened(&format!("apr_{n}"))).collect();
    events.extend([
        (EventKind::ApprovalDenied, json!({ "request": "apr_2" })),
        (EventKind::ApprovalExpired, json!({ "request": "apr_3" })),
        (EventKind::ApprovalRevoked, json!({ "request": "apr_4" })),
        (EventKind::ApprovalSuperseded, json!({ "request": "apr_5" })),
        (EventKind::Intent, json!({ "released_by": { "request": "apr_6" } })),
        (EventKind::ApprovalGranted, json!({ "request": "apr_7" })),
        (EventKind::Intent, json!({ "request": "apr_8" })),
        (EventKind::ApprovalRequested, json!({ "request": "apr_9" })),
    ]);
    let proof = LoggedApprovals::read(&log(&events), NOW).unwrap();
    let open: Vec<u32> = (1..11)
        .filter(|n| {
            let id = format!("apr_{n}");
            proof.confirms_open(&id.parse().unwrap(), &format!("sha_{id}"))
        })
        .collect();
    assert_eq!(open, [1, 7, 8]);
    assert!(!proof.confirms_open(&"apr_1".parse().unwrap(), "sha_other"), "it is another request");
}

#[test]
fn the_log_tells_how_often_a_standing_approval_was_used_and_whether_it_was_taken_back() {
    let by = |used: u64| json!({ "released_by": { "standing": "std_a", "use": used } });
    let proof = LoggedApprovals::read(
        &log(&[
            (EventKind::StandingAccepted, json!({ "standing": "std_a" })),
            (EventKind::Intent, by(1)),
            (EventKind::Intent, by(3)),
            (EventKind::Intent, by(2)),
            (EventKind::StandingAccepted, json!({ "standing": "std_b" })),
            (EventKind::StandingRevoked, json!({ "standing": "std_c" })),
        ]),
        earliest_acceptance(NOW),
    )
    .unwrap();
    let exceeds = |id: &str, used| proof.contradicts(&standing(id, NOW), used);
    assert!(exceeds("std_a", 2) && !exceeds("std_a", 3) && !exceeds("std_a", 4));
    assert!(!exceeds("std_b", 0) && exceeds("std_c", 5) && !exceeds("std_d", 0));
    let knows = |id: &str| proof.has_seen(&standing(id, NOW));
    assert!(knows("std_a") && knows("std_b") && knows("std_c") && !knows("std_d"));
}

#[test]
fn a_log_that_does_not_reach_back_far_enough_tells_against_it() {
    let micro = Duration::from_micros(1);
    let first = standing("std_a", NOW.after(MAX_SKEW));
    for (since, exceeds) in [(NOW, false), (NOW.after(micro), true)] {
        let proof = LoggedApprovals::read(&log(&[]), since).unwrap();
        assert_eq!(proof.contradicts(&first, 0), exceeds);
        assert_eq!(proof.has_seen(&first), exceeds);
    }
}

#[test]
fn a_standing_approval_may_have_been_accepted_before_the_time_it_bears() {
    let accepted = log(&[(EventKind::StandingAccepted, json!({ "standing": "std_a" }))]);
    let micro = Duration::from_micros(1);
    for (opened_at, known) in
        [(NOW, true), (NOW.after(MAX_SKEW), true), (NOW.after(MAX_SKEW + micro), false)]
    {
        let proof = LoggedApprovals::read_for_standing(&accepted, opened_at).unwrap();
        assert_eq!(proof.has_seen(&standing("std_a", opened_at)), known, "{opened_at:?}");
    }
}
