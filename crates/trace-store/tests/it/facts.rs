//! What one event says: where each fact is looked for, and what comes first.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use weaver_trace_store::query::EventFacts;
use weaver_trace_store::verify::LogSource;
use weaver_types::ledger::StoredEvent;
use weaver_types::{EventKind, Timestamp};

use crate::support::{ledger_of, told};

fn stored(kind: EventKind, payload: &Value) -> StoredEvent {
    let log = ledger_of(&[told(kind, 42, ("run_1", "call_1"), payload)]);
    log.rows(0, 1).unwrap().remove(0).event
}

fn facts(payload: &Value) -> EventFacts {
    EventFacts::from_event(&stored(EventKind::Intent, payload))
}

#[test]
fn header_and_payload_are_read_as_they_are_stored() {
    let mut event = stored(EventKind::Intent, &json!({"n": 1}));
    let whole = EventFacts::from_event(&event);
    assert_eq!(
        (whole.kind(), whole.at()),
        (Some(EventKind::Intent), Some(Timestamp::from_micros(42)))
    );
    assert_eq!((whole.run(), whole.call()), (Some("run_1"), Some("call_1")));
    assert_eq!((whole.payload.clone(), whole.seq), (Some(json!({"n": 1})), 0));
    event.payload = Some(b"no \xff json".to_vec());
    event.header = b"{}".to_vec();
    let broken = EventFacts::from_event(&event);
    assert_eq!(broken.payload, Some(json!("no \u{fffd} json")));
    assert_eq!((broken.kind(), broken.at(), broken.run(), broken.call()), (None, None, None, None));
    event.payload = None;
    let pruned = EventFacts::from_event(&event);
    assert_eq!(
        (pruned.payload.as_ref(), pruned.principal(), pruned.reasons().len()),
        (None, None, 0)
    );
}

#[test]
fn each_fact_stands_in_its_place_or_in_the_second_one() {
    type Fact = fn(&EventFacts) -> Option<&str>;
    let rows: [(Fact, Value, Option<&str>); 20] = [
        (
            EventFacts::principal,
            json!({"principal": "ann", "fields": {"principal": "bob"}}),
            Some("ann"),
        ),
        (
            EventFacts::principal,
            json!({"principal": "", "fields": {"principal": "bob"}}),
            Some("bob"),
        ),
        (EventFacts::principal, json!({"principal": 7}), None),
        (EventFacts::capability, json!({"capability": "files.read"}), Some("files.read")),
        (EventFacts::capability, json!({"capability": ""}), None),
        (
            EventFacts::request,
            json!({"request": "apr_1", "released_by": {"request": "apr_2"}}),
            Some("apr_1"),
        ),
        (EventFacts::request, json!({"released_by": {"request": "apr_2"}}), Some("apr_2")),
        (EventFacts::request, json!({}), None),
        (
            EventFacts::handle,
            json!({"handle": "hdl_1", "frame": {"handle": "hdl_2"}}),
            Some("hdl_1"),
        ),
        (EventFacts::handle, json!({"frame": {"handle": "hdl_2"}}), Some("hdl_2")),
        (EventFacts::handle, json!({"frame": "hdl_2"}), None),
        (EventFacts::token, json!({"token": "tok_1"}), Some("tok_1")),
        (EventFacts::token, json!({}), None),
        (EventFacts::verdict, json!({"verdict": "deny"}), Some("deny")),
        (EventFacts::verdict, json!({}), None),
        (EventFacts::reason, json!({"reason": "rule_allow"}), Some("rule_allow")),
        (EventFacts::reason, json!({"checks": [{"reason": "x"}]}), None),
        (|f| f.text(&["a", "b"]), json!({"a": {"b": "c"}}), Some("c")),
        (|f| f.text(&["a", "b"]), json!({"a": {"b": ""}}), None),
        (|f| f.text(&[]), json!("whole"), Some("whole")),
    ];
    for (fact, payload, wanted) in rows {
        assert_eq!(fact(&facts(&payload)), wanted, "{payload}");
    }
}

#[test]
fn a_call_ends_as_its_outcome_says() {
    for (kind, payload, wanted) in [
        (EventKind::Outcome, json!({"success": true}), Some("success")),
        (EventKind::Outcome, json!({"success": false}), Some("failure")),
        (EventKind::Outcome, json!({"success": "yes"}), Some("failure")),
        (EventKind::Outcome, json!({}), None),
        (EventKind::Outcome, json!({"frame": {"status": "partial"}}), Some("partial")),
        (
            EventKind::Outcome,
            json!({"success": true, "frame": {"status": "partial"}}),
            Some("partial"),
        ),
        (
            EventKind::Outcome,
            json!({"success": true, "frame": {"status": "success"}}),
            Some("success"),
        ),
        (EventKind::OutcomeUnknown, json!({"success": true}), Some("unknown")),
        (EventKind::Intent, json!({"success": true}), None),
    ] {
        assert_eq!(
            EventFacts::from_event(&stored(kind, &payload)).outcome(),
            wanted,
            "{kind} {payload}"
        );
    }
}

#[test]
fn what_was_not_enforced_is_another_verdict_than_the_one_that_was() {
    let would = |verdict: &str| json!({"verdict": verdict, "would_have": {"verdict": "deny", "reason": "x"}});
    assert_eq!(facts(&would("allow")).not_enforced(), Some(("deny", "x")));
    assert_eq!(facts(&would("deny")).not_enforced(), None);
    assert_eq!(facts(&json!({"verdict": "allow"})).not_enforced(), None);
    let bare = json!({"would_have": {"verdict": "hold"}});
    assert_eq!(facts(&bare).not_enforced(), Some(("hold", "")));
}

#[test]
fn reasons_are_those_of_the_decision_of_each_check_and_of_each_hold() {
    let payload = json!({
        "reason": "floor_hold", "checks": [{"reason": "rule_allow"}, {}, {"reason": 7}],
        "holds": [{"reason": "approval_required"}, {"reason": "floor_hold"}],
    });
    let wanted = BTreeSet::from(["approval_required", "floor_hold", "rule_allow"]);
    assert_eq!(facts(&payload).reasons(), wanted);
}

#[test]
fn a_label_is_taken_from_the_first_place_that_has_one() {
    let label = |level: &str| json!({"confidentiality": level, "integrity": "trusted"});
    for (payload, wanted) in [
        (json!({"frame": {"label": label("a")}, "run": {"label": label("b")}}), Some("a")),
        (json!({"run": {"label": label("b")}, "label": label("c")}), Some("b")),
        (json!({"label": label("c"), "worst_label": label("d")}), Some("c")),
        (json!({"worst_label": label("d")}), Some("d")),
        (json!({"label": {"confidentiality": "a"}, "worst_label": label("d")}), None),
        (json!({}), None),
    ] {
        let facts = facts(&payload);
        assert_eq!(facts.label(), wanted.map(|level| (level, "trusted")), "{payload}");
    }
}

#[test]
fn agents_numbers_and_lists_are_read_where_they_are() {
    let payload =
        json!({"run_agent": "a", "agent": "b", "n": 7, "neg": -7, "list": [1, 2], "text": "x"});
    let facts = facts(&payload);
    assert_eq!(facts.agents(), BTreeSet::from(["a", "b"]));
    assert_eq!(
        (facts.number(&["n"]), facts.number(&["neg"]), facts.number(&["text"])),
        (Some(7), None, None)
    );
    assert_eq!(facts.list(&["list"]).map(Vec::len), Some(2));
    assert_eq!(facts.list(&["text"]), None);
    assert_eq!(facts.at_path(&["none"]), None);
    assert_eq!(facts.at_path(&[]), Some(&payload));
}
