//! Calls: intents joined with outcomes, and the forms in which others read them.

use serde_json::{Value, json};
use weaver_trace_store::project::{
    ActionTrace, CallEvents, CallPairing, MAX_OPEN_CALLS, RunRecord, TraceBundle, runs,
};
use weaver_trace_store::query::{EventFacts, EventFilter};
use weaver_trace_store::verify::LogSource;
use weaver_types::EventKind;
use weaver_types::ledger::NewEvent;

use crate::support::{ledger_of, told};

fn facts(events: &[NewEvent]) -> Vec<EventFacts> {
    let rows = ledger_of(events).rows(0, 1_000).unwrap();
    rows.iter().map(|row| EventFacts::from_event(&row.event)).collect()
}

fn event(kind: EventKind, call: &str, payload: &Value) -> NewEvent {
    told(kind, 1_000_000, ("run_1", call), payload)
}

/// What each step gives: the places of its events.
fn shape(paired: &CallEvents) -> (&'static str, Vec<u64>) {
    match paired {
        CallEvents::Executed { intent, outcome } => {
            let both = [intent, outcome].into_iter().flatten();
            ("executed", both.map(|facts| facts.seq).collect())
        }
        CallEvents::Refused(facts) => ("refused", vec![facts.seq]),
        CallEvents::Viewed(facts) => ("viewed", vec![facts.seq]),
        CallEvents::Other(facts) => ("other", vec![facts.seq]),
    }
}

fn paired(events: &[NewEvent]) -> Vec<(&'static str, Vec<u64>)> {
    let mut pairing = CallPairing::default();
    let all: Vec<CallEvents> =
        facts(events).into_iter().filter_map(|facts| pairing.push(facts)).collect();
    all.into_iter().chain(pairing.into_open_calls()).map(|paired| shape(&paired)).collect()
}

#[test]
fn an_outcome_is_joined_with_its_intent_and_what_has_none_stands_alone() {
    let none = json!({});
    let found = paired(&[
        event(EventKind::Intent, "call_1", &none),
        event(EventKind::Intent, "call_2", &none),
        event(EventKind::Outcome, "call_2", &none),
        event(EventKind::Outcome, "call_3", &none),
        event(EventKind::Refused, "call_4", &none),
        event(EventKind::HandleResolved, "call_5", &none),
        event(EventKind::Routed, "", &none),
        event(EventKind::Intent, "call_6", &none),
        event(EventKind::OutcomeUnknown, "call_1", &none),
        event(EventKind::Intent, "call_7", &none),
        event(EventKind::Intent, "call_7", &none),
    ]);
    let wanted = [
        ("executed", vec![1, 2]),
        ("executed", vec![3]),
        ("refused", vec![4]),
        ("viewed", vec![5]),
        ("other", vec![6]),
        ("executed", vec![0, 8]),
        // What is left, in the order in which it began.
        ("executed", vec![7]),
        ("executed", vec![10]),
    ];
    assert_eq!(found, wanted);
}

#[test]
fn so_many_calls_are_kept_open_and_the_oldest_is_given_up_first() {
    let mut pairing = CallPairing::default();
    let [first] = facts(&[event(EventKind::Intent, "call_0", &json!({}))]).try_into().unwrap();
    let mut take = |n: u64| {
        let mut facts = EventFacts { seq: n, ..first.clone() };
        let call = weaver_types::CallId::parse(format!("call_{n}")).unwrap();
        facts.header.as_mut().unwrap().call = Some(call);
        pairing.push(facts).map(|paired| shape(&paired))
    };
    let most = MAX_OPEN_CALLS as u64;
    assert!((0..most).all(|n| take(n).is_none()));
    assert_eq!(take(most), Some(("executed", vec![0])));
    assert_eq!(take(most + 1), Some(("executed", vec![1])));
    let left: Vec<_> = pairing.into_open_calls().map(|paired| shape(&paired).1[0]).collect();
    assert_eq!(left, (2..most + 2).collect::<Vec<_>>());
}

fn action(events: &[NewEvent]) -> Option<Value> {
    let mut pairing = CallPairing::default();
    let mut all: Vec<CallEvents> =
        facts(events).into_iter().filter_map(|facts| pairing.push(facts)).collect();
    all.extend(pairing.into_open_calls());
    let [paired] = all.try_into().unwrap();
    ActionTrace::from_call(&paired).map(|action| json!(action))
}

#[test]
fn an_action_tells_how_the_call_was_made_and_ended() {
    let intent = json!({
        "capability": "files.read", "principal": "ann", "token": "tok_1", "mode": "table",
        "driver": "mcp:files", "arguments": {"text": "{\"n\":1}"}, "reason": "rule_allow",
    });
    let intent = event(EventKind::Intent, "call_1", &intent);
    let frame = json!({"facts": 2, "rows": 3, "warnings": [{}, {}], "handle": "hdl_1"});
    let outcome = |payload: &Value| event(EventKind::Outcome, "call_1", payload);
    let whole =
        action(&[intent.clone(), outcome(&json!({"success": true, "frame": frame}))]).unwrap();
    let mut wanted = json!({
        "action_id": "call_1", "capability_id": "files.read", "principal_id": "ann", "token_id": "tok_1",
        "invoked_at": "1970-01-01T00:00:01.000000Z", "args": {"n": 1}, "response_mode": "table",
        "driver_id": "mcp:files", "handle_id": "hdl_1", "error": null, "event_type": "invoke",
        "reason_code": null, "result_summary":
            {"fact_count": 2, "row_count": 3, "warning_count": 2, "has_handle": true},
    });
    assert_eq!(whole, wanted);
    // No end, an end that nobody saw, and a failure.
    let unknown = event(EventKind::OutcomeUnknown, "call_1", &json!({"reason": "lost"}));
    let failure = json!({"success": false, "reason": "timeout", "error_message": "no answer"});
    for (end, error, reason) in [
        (None, json!("the end was not recorded"), Value::Null),
        (Some(unknown), json!("outcome unknown"), json!("lost")),
        (Some(outcome(&failure)), json!("no answer"), json!("timeout")),
        (Some(outcome(&json!({"success": true, "frame": {"facts": 1}}))), Value::Null, Value::Null),
    ] {
        let events: Vec<NewEvent> = [intent.clone()].into_iter().chain(end).collect();
        wanted["handle_id"] = Value::Null;
        wanted["result_summary"] = Value::Null;
        (wanted["error"], wanted["reason_code"]) = (error, reason);
        assert_eq!(action(&events).unwrap(), wanted);
    }
}

#[test]
fn a_refusal_and_a_look_are_actions_and_other_events_are_none() {
    let refused = json!({"capability": "files.read", "principal": "ann", "reason": "floor_hold", "handle": "hdl_1"});
    let found = action(&[event(EventKind::Refused, "call_1", &refused)]).unwrap();
    assert_eq!(
        (&found["event_type"], &found["reason_code"]),
        (&json!("deny"), &json!("floor_hold"))
    );
    assert_eq!((&found["handle_id"], &found["error"]), (&Value::Null, &Value::Null));
    assert_eq!(found["result_summary"], Value::Null);
    let look =
        json!({"handle": "hdl_1", "rows": 3, "facts": 0, "reason": "rule_allow", "mode": "table"});
    let found = action(&[event(EventKind::HandleResolved, "call_1", &look)]).unwrap();
    let summary = json!({"fact_count": 0, "row_count": 3, "warning_count": 0, "has_handle": true});
    assert_eq!((&found["event_type"], &found["handle_id"]), (&json!("expand"), &json!("hdl_1")));
    assert_eq!((&found["result_summary"], &found["reason_code"]), (&summary, &Value::Null));
    assert_eq!((&found["args"], &found["response_mode"]), (&Value::Null, &json!("table")));
    let bare = action(&[event(EventKind::HandleResolved, "call_1", &json!({"rows": 3}))]).unwrap();
    assert_eq!(bare["result_summary"], Value::Null, "how many facts is not known");
    let no_handle = json!({"rows": 3, "facts": 1});
    let found = action(&[event(EventKind::HandleResolved, "call_1", &no_handle)]).unwrap();
    assert_eq!(found["result_summary"]["has_handle"], false);
    assert_eq!(action(&[event(EventKind::Routed, "", &json!({}))]), None);
}

#[test]
fn a_run_is_told_with_what_it_used_up() {
    let began = json!({
        "principal": "ann", "run_agent": "planner", "session_id": "s_1", "user_sid": "u_1",
        "intent": "tidy up", "safety_mode": "NORMAL", "trace_id": "0123",
    });
    let used = json!({
        "run": {"tool_calls": 1, "denials": 2, "latency_us": 30, "prompt_tokens": 4}, "retries": 5,
    });
    let at = |micros, kind, run: &str, payload: &Value| told(kind, micros, (run, ""), payload);
    let log = ledger_of(&[
        at(1_000_000, EventKind::RunStarted, "run_2", &began),
        at(2_000_000, EventKind::Intent, "run_2", &used),
        at(3_000_000, EventKind::Refused, "run_1", &used),
        at(4_000_000, EventKind::Outcome, "run_2", &used),
        at(5_000_000, EventKind::UpstreamLost, "", &used),
        at(6_000_000, EventKind::RunFinished, "run_2", &used),
    ]);
    let text = |text: &str| Some(text.to_owned());
    let wanted = [
        RunRecord {
            run_id: "run_1".to_owned(),
            last_at: text("1970-01-01T00:00:03.000000Z"),
            events: 1,
            tool_calls: 1,
            denials: 2,
            retries: 5,
            latency_us: 30,
            prompt_tokens: 4,
            ..RunRecord::default()
        },
        RunRecord {
            run_id: "run_2".to_owned(),
            trace_id: text("0123"),
            principal: text("ann"),
            agent_id: text("planner"),
            session_id: text("s_1"),
            user_sid: text("u_1"),
            intent: text("tidy up"),
            safety_mode: text("NORMAL"),
            started_at: text("1970-01-01T00:00:01.000000Z"),
            ended_at: text("1970-01-01T00:00:06.000000Z"),
            last_at: text("1970-01-01T00:00:06.000000Z"),
            events: 4,
            tool_calls: 2,
            denials: 4,
            retries: 10,
            latency_us: 60,
            prompt_tokens: 8,
        },
    ];
    assert_eq!(runs(&log, None, &EventFilter::default()).unwrap(), (wanted.to_vec(), false));
}

fn bundle(events: &[NewEvent]) -> Option<Value> {
    TraceBundle::from_events("log_1", "run_1", &facts(events)).map(|bundle| json!(bundle))
}

#[test]
fn a_bundle_without_a_shortlist_names_what_was_called() {
    let call = |id: &str, capability: &str| {
        event(EventKind::Refused, id, &json!({"capability": capability, "principal": "ann"}))
    };
    let found = bundle(&[call("call_1", "b"), call("call_2", "a"), call("call_3", "b")]).unwrap();
    let routing = &found["routing_decision"];
    let cards = routing["choice_cards"].as_array().unwrap();
    let items: Vec<_> =
        cards[0]["items"].as_array().unwrap().iter().map(|i| i["id"].clone()).collect();
    assert_eq!((cards.len(), items), (1, vec![json!("a"), json!("b")]));
    assert_eq!((&routing["id"], &cards[0]["id"]), (&json!("run_1:0"), &json!("0.0")));
    let said = "no shortlist was recorded; the card names what was called";
    assert_eq!(routing["context_summary"], said);
    assert_eq!(
        found["metadata"]["weaver"],
        json!({"first": 0, "last": 2, "log": "log_1", "run": "run_1"})
    );
    assert_eq!(bundle(&[event(EventKind::Late, "call_1", &json!({}))]), None);
    assert_eq!(bundle(&[]), None);
}

#[test]
fn a_bundle_shows_each_shortlist_on_cards_of_twenty_items() {
    let names = |count: usize| (0..count).map(|n| format!("c{n:02}")).collect::<Vec<_>>();
    let routed = |count: usize| {
        event(EventKind::Routed, "", &json!({"goal": "x", "shortlist": names(count)}))
    };
    let found =
        bundle(&[routed(20), routed(21), event(EventKind::Late, "call_1", &json!({}))]).unwrap();
    let routing = &found["routing_decision"];
    let cards = routing["choice_cards"].as_array().unwrap();
    let shape: Vec<_> = cards
        .iter()
        .map(|card| (card["id"].as_str().unwrap(), card["items"].as_array().unwrap().len()))
        .collect();
    assert_eq!(shape, [("0.0", 20), ("1.0", 20), ("1.1", 1)]);
    assert_eq!((&routing["id"], &cards[0]["context_hint"]), (&json!("run_1:1"), &json!("x")));
    assert_eq!(routing.get("context_summary").filter(|said| !said.is_null()), None);
}

#[test]
fn decisions_frames_and_handles_of_a_bundle_are_those_of_its_calls() {
    let decided = |kind, id: &str, verdict: &str| {
        let payload = json!({"capability": "files.read", "principal": "ann", "verdict": verdict, "reason": "r", "policy": "p", "token": "tok_1"});
        event(kind, id, &payload)
    };
    let frame = json!({
        "rows": 3, "facts": 1, "handle": "hdl_1", "mode": "table", "status": "success",
        "warnings": [{"kind": "redacted", "count": 2}, {}],
    });
    let ended = |frame: &Value, success: bool| {
        let payload = json!({"capability": "files.read", "principal": "ann", "success": success, "frame": frame});
        event(EventKind::Outcome, "call_1", &payload)
    };
    let found = bundle(&[
        decided(EventKind::Intent, "call_1", "allow"),
        ended(&frame, true),
        decided(EventKind::Refused, "call_2", "hold"),
        ended(&Value::Null, false),
        ended(&json!({"status": "partial"}), true),
        decided(EventKind::Routed, "call_9", "allow"),
    ])
    .unwrap();
    let list = |name: &str| found[name].as_array().unwrap().clone();
    let decisions: Vec<_> = list("policy_decisions")
        .iter()
        .map(|d| (d["decision_id"].clone(), d["decision"].clone(), d["token_id"].clone()))
        .collect();
    assert_eq!(
        decisions,
        [
            (json!("call_1"), json!("allow"), json!("tok_1")),
            (json!("call_2"), json!("deny"), json!("tok_1")),
        ]
    );
    let weaver = &list("policy_decisions")[1]["metadata"]["weaver"];
    assert_eq!(*weaver, json!({"policy": "p", "reasons": ["r"], "verdict": "hold"}));
    let frames = list("frames");
    assert_eq!(frames.len(), 2);
    assert_eq!(frames[0]["summary"], "3 row(s) and 1 fact(s) were shown");
    assert_eq!(frames[0]["redaction_notes"], "redacted (2); ? (1)");
    assert_eq!(
        (&frames[0]["handle_refs"], &frames[0]["frame_id"]),
        (&json!(["hdl_1"]), &json!("call_1"))
    );
    assert_eq!(frames[1]["summary"], "0 row(s) and 0 fact(s) were shown");
    assert_eq!(frames[1].get("redaction_notes").filter(|notes| !notes.is_null()), None);
    let handles = list("handles");
    assert_eq!((handles.len(), &handles[0]["handle_id"]), (1, &json!("hdl_1")));
    assert_eq!(handles[0]["created_at"], "1970-01-01T00:00:01.000000Z");
    let events: Vec<_> = list("trace_events")
        .iter()
        .map(|e| (e["event_id"].clone(), e["outcome"].clone(), e["frame_id"].clone()))
        .collect();
    let row = |id: &str, outcome: Value, frame: Value| (json!(id), outcome, frame);
    assert_eq!(
        events,
        [
            row("log_1:0", Value::Null, Value::Null),
            row("log_1:1", json!("success"), json!("call_1")),
            row("log_1:2", Value::Null, Value::Null),
            row("log_1:3", json!("failure"), Value::Null),
            row("log_1:4", json!("partial"), json!("call_1")),
        ]
    );
}
