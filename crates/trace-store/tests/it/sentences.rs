//! What an event says, in a sentence: every kind, with all that may stand in it and with nothing.

use serde_json::{Value, json};
use weaver_trace_store::project::{CallStory, StoryAspect, StorySubject};
use weaver_types::EventKind;

use crate::support::{ledger_of, told};
use crate::verification::Copied;

/// What one event tells, its call being `call_1` where it has one.
fn said(kind: EventKind, payload: &Value) -> Vec<(StoryAspect, String)> {
    let log = ledger_of(&[told(kind, 100_000_000, ("", "call_1"), payload)]);
    let story = CallStory::from_log(&log, None, &StorySubject::Event(0)).unwrap().unwrap();
    story.steps.into_iter().map(|step| (step.part, step.text)).collect()
}

fn one(kind: EventKind, payload: &Value) -> String {
    let [(_, said)] = said(kind, payload).try_into().unwrap();
    said
}

#[test]
fn a_run_and_a_shortlist_are_told_with_what_is_known_of_them() {
    let whole = json!({"principal": "ann", "run_agent": "planner", "safety_mode": "NORMAL", "intent": "tidy up"});
    for (kind, payload, part, wanted) in [
        (
            EventKind::RunStarted,
            whole,
            StoryAspect::Run,
            "the run of ann through agent planner in mode NORMAL, for: tidy up",
        ),
        (
            EventKind::RunStarted,
            json!({"principal": "ann", "metadata": {"text": "{\"client\":\"ts\",\"http_client\":\"ci\"}"}}),
            StoryAspect::Run,
            "the run of ann (client token ci) through agent ? of ts in mode ?",
        ),
        (
            EventKind::ClientRemoved,
            json!({"fields": {"name": "ci", "principal": "ann", "by": "bob, uid 7"}}),
            StoryAspect::Other,
            "the token of client ci, as ann, was taken back by bob, uid 7",
        ),
        (
            EventKind::RunStarted,
            json!({}),
            StoryAspect::Run,
            "the run of ? through agent ? in mode ?",
        ),
        (
            EventKind::Routed,
            json!({"goal": "tidy up", "shortlist": ["files.read", 7, "files.delete"]}),
            StoryAspect::Shortlist,
            "for \"tidy up\" the model was shown: files.read, files.delete",
        ),
        (
            EventKind::Routed,
            json!({"shortlist": []}),
            StoryAspect::Shortlist,
            "for \"?\" the model was shown: nothing",
        ),
    ] {
        assert_eq!(said(kind, &payload), [(part, wanted.to_owned())]);
    }
}

#[test]
fn a_refusal_tells_what_it_was_for_and_each_check() {
    let checks = json!([
        {"check": "rule", "verdict": "allow", "reason": "rule_allow", "detail": "rule `a`"},
        {"check": "floor"},
    ]);
    let payload = |total: u64| {
        json!({
            "principal": "ann", "capability": "files.delete", "verdict": "hold", "reason": "floor_hold",
            "goal": "tidy up", "justification": {"source": "model", "text": "it is old"},
            "checks": checks, "checks_total": total, "policy": "sha256:2", "origin": "signed",
        })
    };
    let decision = |more: &str| {
        format!(
            "hold: files.delete for ann (floor_hold)\nrule: allow, rule_allow: rule `a`\nfloor: ?, ?: \
             ?{more}\npolicy sha256:2 (signed)"
        )
    };
    let goal = (StoryAspect::Goal, "goal: tidy up; justified by the model: it is old".to_owned());
    for (total, more) in [
        (1, ""),
        (2, ""),
        (3, "\nand 1 more checks that are not recorded one by one"),
        (9, "\nand 7 more checks that are not recorded one by one"),
    ] {
        let wanted = [goal.clone(), (StoryAspect::Decision, decision(more))];
        assert_eq!(said(EventKind::Refused, &payload(total)), wanted, "{total} in all");
    }
    let bare = "?: ? for ? (?)\npolicy ? (?)".to_owned();
    assert_eq!(said(EventKind::Refused, &json!({})), [(StoryAspect::Decision, bare)]);
    let only = |payload: Value| said(EventKind::Refused, &payload).remove(0);
    assert_eq!(only(json!({"goal": "x"})), (StoryAspect::Goal, "goal: x".to_owned()));
    let justified = (StoryAspect::Goal, "justified by the ?: y".to_owned());
    assert_eq!(only(json!({"justification": {"text": "y"}})), justified);
}

#[test]
fn what_was_not_enforced_is_told_where_it_would_have_been_another_verdict() {
    for (payload, wanted) in [
        (
            json!({"verdict": "allow", "would_have": {"verdict": "deny", "reason": "no_matching_rule"}}),
            "allow: ? for ? (?)\nnot enforced; enforced, it would be deny (no_matching_rule)\npolicy ? (?)",
        ),
        (
            json!({"verdict": "allow", "would_have": {"verdict": "hold"}}),
            "allow: ? for ? (?)\nnot enforced; enforced, it would be hold ()\npolicy ? (?)",
        ),
        (
            json!({"verdict": "deny", "would_have": {"verdict": "deny", "reason": "x"}}),
            "deny: ? for ? (?)\npolicy ? (?)",
        ),
    ] {
        assert_eq!(one(EventKind::Refused, &payload), wanted);
    }
}

#[test]
fn an_intent_tells_who_released_it_its_token_and_where_it_went() {
    let parts = |payload: Value| said(EventKind::Intent, &payload).split_off(1);
    let owned = |parts: &[(StoryAspect, &str)]| -> Vec<(StoryAspect, String)> {
        parts.iter().map(|(part, said)| (*part, (*said).to_owned())).collect()
    };
    assert_eq!(
        parts(json!({
            "released_by": {"people": ["eve", "bob"], "request": "apr_1"}, "token": "tok_1",
            "arguments": {"text": "{\"n\":1}", "bytes": 7}, "driver": "mcp:files",
        })),
        owned(&[
            (StoryAspect::Approval, "released by eve, bob in apr_1"),
            (StoryAspect::Token, "its one-time permit tok_1 was used"),
            (StoryAspect::Execution, "handed to mcp:files with {\"n\":1}"),
        ])
    );
    assert_eq!(
        parts(json!({"released_by": {"standing": "sta_1"}, "arguments": {"bytes": 9}})),
        owned(&[
            (StoryAspect::Approval, "released by nothing in sta_1"),
            (StoryAspect::Token, "its one-time permit ? was used"),
            (StoryAspect::Execution, "handed to ? with 9 bytes of arguments, not recorded"),
        ])
    );
    assert_eq!(
        parts(json!({"released_by": {}})),
        owned(&[
            (StoryAspect::Approval, "released by nothing in ?"),
            (StoryAspect::Token, "its one-time permit ? was used"),
            (StoryAspect::Execution, "handed to ? without arguments"),
        ])
    );
    assert_eq!(said(EventKind::Intent, &json!({})).len(), 3, "nobody had to release it");
    assert_eq!(said(EventKind::Intent, &json!({"goal": "x"}))[0].0, StoryAspect::Goal);
}

#[test]
fn a_span_is_told_in_the_unit_that_suits_it() {
    for (micros, wanted) in [
        (0_u64, "success after 0 us"),
        (9_999, "success after 9999 us"),
        (10_000, "success after 10 ms"),
        (9_999_999, "success after 9999 ms"),
        (10_000_000, "success after 10 s"),
        (7_199_999_999, "success after 7199 s"),
        (7_200_000_000, "success after 120 min"),
    ] {
        let payload = json!({"success": true, "latency_us": micros});
        assert_eq!(one(EventKind::Outcome, &payload), wanted);
    }
}

#[test]
fn an_outcome_tells_how_it_ended_and_what_the_model_saw() {
    for (kind, payload, wanted) in [
        (EventKind::Outcome, json!({}), "?"),
        (EventKind::Outcome, json!({"success": true, "retries": 0}), "success"),
        (
            EventKind::Outcome,
            json!({"success": true, "retries": 1}),
            "success, 1 attempts repeated",
        ),
        (
            EventKind::Outcome,
            json!({"success": false, "retries": 2, "reason": "timeout", "error_message": "no answer"}),
            "failure, 2 attempts repeated (timeout): no answer",
        ),
        (EventKind::Outcome, json!({"success": true, "frame": null}), "success"),
        (EventKind::OutcomeUnknown, json!({"reason": "lost"}), "unknown (lost)"),
    ] {
        assert_eq!(said(kind, &payload), [(StoryAspect::Result, wanted.to_owned())]);
    }
    let frame = json!({
        "mode": "table", "rows": 3, "facts": 1, "bytes": 320, "commit": "sha256:1", "handle": "hdl_1",
        "label": {"confidentiality": "internal", "integrity": "untrusted"},
        "warnings": [{"kind": "redacted_email", "count": 2}, {}],
    });
    let payload = json!({"success": true, "frame": frame, "run": {"prompt_tokens": 12}});
    let shown = "the model saw, in mode table: 3 rows, 1 facts, 320 bytes, 12 tokens; internal, \
                 untrusted\nredacted_email: 2\n?: 1\ncommitment sha256:1\nthe whole lies behind hdl_1";
    let wanted =
        [(StoryAspect::Result, "success".to_owned()), (StoryAspect::Shown, shown.to_owned())];
    assert_eq!(said(EventKind::Outcome, &payload), wanted);
    let bare = said(EventKind::Outcome, &json!({"success": true, "frame": {}}));
    assert_eq!(bare[1], (StoryAspect::Shown, "the model saw: 0 rows, 0 facts".to_owned()));
}

#[test]
fn looks_late_answers_and_signals_are_told() {
    for (kind, payload, part, wanted) in [
        (
            EventKind::HandleResolved,
            json!({"principal": "ann", "verdict": "allow", "rows": 3, "facts": 2, "mode": "table", "handle": "hdl_1"}),
            StoryAspect::View,
            "ann looked further (allow): the model saw, in mode table: 3 rows, 2 facts\nthe whole lies \
             behind hdl_1",
        ),
        (
            EventKind::Late,
            json!({"capability": "files.read", "success": true}),
            StoryAspect::Other,
            "after its time was over, files.read brought a result; it was thrown away",
        ),
        (
            EventKind::Late,
            json!({"capability": "files.read", "success": false}),
            StoryAspect::Other,
            "after its time was over, files.read brought an error; it was thrown away",
        ),
        (
            EventKind::Late,
            json!({}),
            StoryAspect::Other,
            "after its time was over, ? brought an error; it was thrown away",
        ),
        (
            EventKind::SignalRaised,
            json!({
                "signals": [{"source": "dlp", "kind": "secret", "severity": "high"}],
                "aside": [{"source": "dlp"}], "failed": [{"source": "av", "kind": "down", "severity": "low"}],
            }),
            StoryAspect::Signal,
            "signals: dlp secret high; dlp  ; av down low",
        ),
        (EventKind::UpstreamLost, json!({}), StoryAspect::Other, "upstream.lost"),
        (EventKind::ApprovalDenied, json!({"by": "eve"}), StoryAspect::Other, "approval.denied"),
    ] {
        assert_eq!(said(kind, &payload), [(part, wanted.to_owned())]);
    }
}

#[test]
fn what_came_of_a_request_is_told_with_who_how_long_and_why() {
    let holds = json!({"request": "apr_1", "holds": [{"reason": "floor_hold"}, {"reason": "approval_required"}], "opened_at": 0});
    for (kind, payload, wanted) in [
        (
            EventKind::ApprovalRequested,
            holds,
            "requested in apr_1, for approval_required, floor_hold",
        ),
        (
            EventKind::ApprovalGranted,
            json!({"request": "apr_1", "by": "eve", "agreed": ["eve", "bob"], "needed": 2, "opened_at": 90_000_000, "words": "fine"}),
            "granted by eve, 2 of 2, after 10 s: fine",
        ),
        (
            EventKind::ApprovalEndorsed,
            json!({"request": "apr_1", "people": ["eve", "bob"], "agreed": ["eve"], "opened_at": 99_990_000}),
            "endorsed by eve, bob, after 10 ms",
        ),
        (EventKind::ApprovalGranted, json!({"request": "apr_1", "needed": 2}), "granted"),
        (
            EventKind::ApprovalRejected,
            json!({"request": "apr_1", "code": "approval.stale", "detail": "too old"}),
            "a signed file did not count (approval.stale)\ntoo old",
        ),
        (
            EventKind::ApprovalRejected,
            json!({"request": "apr_1", "code": "requester", "by": "bob"}),
            "a signed file by bob did not count (requester)",
        ),
        (
            EventKind::ApprovalDenied,
            json!({"request": "apr_1", "by": "eve", "opened_at": 100_000_000, "reason": "approval_denied", "words": "no", "detail": "see above"}),
            "denied by eve, after 0 us (approval_denied): no\nsee above",
        ),
        (
            EventKind::ApprovalExpired,
            json!({"request": "apr_1", "opened_at": 100_000_001}),
            "expired",
        ),
        (EventKind::ApprovalRevoked, json!({"request": "apr_1"}), "revoked"),
    ] {
        assert_eq!(said(kind, &payload), [(StoryAspect::Approval, wanted.to_owned())]);
    }
}

#[test]
fn what_is_pruned_or_cannot_be_read_is_said_to_be() {
    let log = ledger_of(&[told(EventKind::Intent, 1, ("", "call_1"), &json!({"goal": "x"}))]);
    let mut copy = Copied::from(&log);
    (copy.rows[0].event.payload, copy.rows[0].event.salt) = (None, None);
    let story =
        |copy: &Copied| CallStory::from_log(copy, None, &StorySubject::Event(0)).unwrap().unwrap();
    let told = story(&copy);
    assert_eq!(told.steps[0].text, "call.intent; what it said is pruned");
    assert_eq!((told.steps[0].part, told.steps[0].seq), (StoryAspect::Other, 0));
    assert_eq!(told.missing, ["pruned events are left out"]);
    copy.rows[0].event.header = b"{}".to_vec();
    let told = story(&copy);
    assert_eq!(told.steps[0].text, "an event that this build cannot read");
    assert_eq!((told.steps[0].part, told.steps[0].at), (StoryAspect::Other, None));
}
