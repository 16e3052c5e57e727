//! Spans of calls as other tools read them, and how many events each export read.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use weaver_trace_store::MemoryLedger;
use weaver_trace_store::export::{ExportFormat, SCHEMA_URL, write};
use weaver_trace_store::query::EventFilter;
use weaver_types::ledger::NewEvent;
use weaver_types::{EventKind, Timestamp};

use crate::exports;
use crate::support::{ledger_of, told};

/// The trace that is derived from the log `log_test` and the run `run_1`.
const DERIVED: &str = "29ab1629ae0b22238b007a7e21574fec";

fn traces(log: &MemoryLedger) -> Value {
    let mut out = Vec::new();
    write(log, None, &EventFilter::default(), ExportFormat::Otlp, &mut out).unwrap();
    serde_json::from_slice(&out).unwrap()
}

fn spans(events: &[NewEvent]) -> Vec<Value> {
    let traces = traces(&ledger_of(events));
    traces["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone()
}

fn one(events: &[NewEvent]) -> Value {
    let [span] = spans(events).try_into().unwrap();
    span
}

/// The attributes of a span, each as its text.
fn attributes(span: &Value) -> BTreeMap<String, String> {
    let text = |value: &Value| {
        let value = value.as_object().unwrap().values().next().unwrap();
        value.as_str().unwrap().to_owned()
    };
    let list = span["attributes"].as_array().unwrap();
    list.iter().map(|a| (a["key"].as_str().unwrap().to_owned(), text(&a["value"]))).collect()
}

fn event(kind: EventKind, at: i64, call: &str, payload: &Value) -> NewEvent {
    told(kind, at, ("run_1", call), payload)
}

#[test]
fn a_trace_is_the_one_the_run_names_or_derived_from_its_log() {
    let begun = |trace: &str| {
        let began = told(EventKind::RunStarted, 1, ("run_1", ""), &json!({"trace_id": trace}));
        one(&[began, event(EventKind::Refused, 1, "call_1", &json!({}))])["traceId"].clone()
    };
    let (short, long) = ("0123456789abcdef0123456789abcde", "0123456789abcdef0123456789abcdef0");
    let (upper, other) = ("0123456789ABCDEF0123456789abcdef", "0123456789abcdeg0123456789abcdef");
    let zeros = "0".repeat(32);
    for bad in ["", short, long, upper, other, zeros.as_str()] {
        assert_eq!(begun(bad), DERIVED, "{bad}");
    }
    for good in ["0123456789abcdef0123456789abcdef", "00000000000000000000000000000001"] {
        assert_eq!(begun(good), good);
    }
    let alone = one(&[told(EventKind::Refused, 1, ("", "call_1"), &json!({}))]);
    assert_eq!(alone["traceId"], "e7dcea4b517ee1460fd5e0822624b74b");
}

#[test]
fn two_calls_of_a_run_share_its_trace_and_have_spans_of_their_own() {
    let call = |id: &str| event(EventKind::Refused, 1, id, &json!({}));
    let found = spans(&[
        call("call_1"),
        call("call_0123456789ABCDEF0123"),
        call("call_0000000000000000"),
        call("call_123456789abcdef"),
        call("x-0-1-2-3-4-5-6-7-8-9-a-b-c-d-e-f"),
    ]);
    let ids: Vec<&str> = found.iter().map(|span| span["spanId"].as_str().unwrap()).collect();
    let wanted = [
        "eb72a268ef4f25e2", "0123456789abcdef", "b091b84e6bf28b65", "685ebb15bbf25d58",
        "0123456789abcdef",
    ];
    assert_eq!(ids, wanted);
    assert!(found.iter().all(|span| span["traceId"] == DERIVED));
}

#[test]
fn a_call_is_a_span_from_its_intent_to_its_outcome() {
    let intent = json!({
        "capability": "files.read", "principal": "ann", "verdict": "allow", "reason": "rule_allow",
        "arguments": {"text": "{}"}, "released_by": {"request": "apr_1"},
    });
    let outcome = json!({
        "success": true, "frame": {"handle": "hdl_1", "rows": 3, "label": {"confidentiality": "internal", "integrity": "trusted"}},
    });
    let span = one(&[
        event(EventKind::Intent, 5, "call_1", &intent),
        event(EventKind::Outcome, 7, "call_1", &outcome),
    ]);
    assert_eq!(
        (&span["startTimeUnixNano"], &span["endTimeUnixNano"]),
        (&json!("5000"), &json!("7000"))
    );
    assert_eq!((&span["name"], &span["kind"]), (&json!("execute_tool files.read"), &json!(1)));
    assert_eq!(span["status"], json!({}));
    let wanted = [
        ("gen_ai.conversation.id", "run_1"),
        ("gen_ai.operation.name", "execute_tool"),
        ("gen_ai.tool.call.arguments", "{}"),
        ("gen_ai.tool.call.id", "call_1"),
        ("gen_ai.tool.name", "files.read"),
        ("gen_ai.tool.type", "function"),
        ("weaver.handle", "hdl_1"),
        ("weaver.label.confidentiality", "internal"),
        ("weaver.label.integrity", "trusted"),
        ("weaver.outcome", "success"),
        ("weaver.principal", "ann"),
        ("weaver.reason", "rule_allow"),
        ("weaver.request", "apr_1"),
        ("weaver.seq", "0"),
        ("weaver.shown.rows", "3"),
        ("weaver.verdict", "allow"),
    ];
    let found = attributes(&span);
    let found: Vec<_> = found.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    assert_eq!(found, wanted);
}

#[test]
fn a_span_says_what_went_wrong() {
    let intent = event(EventKind::Intent, 5, "call_1", &json!({}));
    let end = |payload: &Value| event(EventKind::Outcome, 7, "call_1", payload);
    for (events, error) in [
        (vec![intent.clone()], Some("outcome_unknown")),
        (
            vec![
                intent.clone(),
                event(EventKind::OutcomeUnknown, 7, "call_1", &json!({"reason": "x"})),
            ],
            Some("outcome_unknown"),
        ),
        (
            vec![intent.clone(), end(&json!({"success": false, "reason": "timeout"}))],
            Some("timeout"),
        ),
        (vec![end(&json!({"success": false}))], Some("_OTHER")),
        (vec![end(&json!({"success": true, "reason": "x"}))], None),
        (vec![end(&json!({"frame": {"status": "partial"}}))], None),
        (
            vec![event(EventKind::Refused, 7, "call_1", &json!({"reason": "floor_hold"}))],
            Some("floor_hold"),
        ),
        (vec![event(EventKind::Refused, 7, "call_1", &json!({}))], Some("_OTHER")),
        (
            vec![event(EventKind::HandleResolved, 7, "call_1", &json!({"reason": "rule_allow"}))],
            None,
        ),
    ] {
        let span = one(&events);
        let told = attributes(&span);
        assert_eq!(told.get("error.type").map(String::as_str), error, "{events:?}");
        let status = error.map_or(json!({}), |error| json!({"code": 2, "message": error}));
        assert_eq!(span["status"], status);
        assert_eq!(told["gen_ai.tool.name"], "unknown");
    }
    let look = one(&[event(EventKind::HandleResolved, -7, "call_1", &json!({"rows": 4}))]);
    assert_eq!(look["name"], "view_result unknown");
    assert_eq!(attributes(&look)["weaver.shown.rows"], "4");
    assert_eq!(look["startTimeUnixNano"], "0");
}

#[test]
fn what_is_no_call_has_no_span_and_the_file_is_whole_without_any() {
    let bare = json!({});
    let found = spans(&[
        event(EventKind::Routed, 1, "call_1", &bare),
        event(EventKind::Refused, 1, "", &bare),
    ]);
    assert!(found.is_empty(), "{found:?}");
    let traces = traces(&ledger_of(&[]));
    assert_eq!(traces["resourceSpans"][0]["schemaUrl"], SCHEMA_URL);
    let resource = attributes(&traces["resourceSpans"][0]["resource"]);
    assert_eq!(
        (resource["service.name"].as_str(), resource["weaver.log"].as_str()),
        ("weaver", "log_test")
    );
}

#[test]
fn an_export_says_how_many_events_it_read() {
    for (form, terms, count) in [
        (ExportFormat::Jsonl, "", 12),
        (ExportFormat::Jsonl, "event:call.*", 6),
        (ExportFormat::Csv, "", 12),
        (ExportFormat::Csv, "event:call.*", 6),
        (ExportFormat::Otlp, "", 12),
        (ExportFormat::Actions, "", 12),
        (ExportFormat::Runs, "", 11),
        (ExportFormat::Bundle, "run:run_golden", 11),
    ] {
        let filter = EventFilter::parse([terms], Timestamp::default()).unwrap();
        let mut out = Vec::new();
        let read = write(&exports::log(), None, &filter, form, &mut out).unwrap();
        assert_eq!(read, count, "{form:?} {terms}");
    }
}

#[test]
fn a_long_log_is_exported_whole_and_in_its_order() {
    let events: Vec<NewEvent> =
        (0..1_203).map(|n| told(EventKind::Late, n, ("", ""), &json!({"n": n}))).collect();
    let log = ledger_of(&events);
    let mut out = Vec::new();
    assert_eq!(
        write(&log, None, &EventFilter::default(), ExportFormat::Jsonl, &mut out).unwrap(),
        1_203
    );
    let payloads: Vec<String> = String::from_utf8(out)
        .unwrap()
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).unwrap()["payload"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(payloads, (0..1_203).map(|n| format!("{{\"n\":{n}}}")).collect::<Vec<_>>());
    let mut out = Vec::new();
    assert_eq!(
        write(&log, None, &EventFilter::default(), ExportFormat::Csv, &mut out).unwrap(),
        1_203
    );
    assert_eq!(String::from_utf8(out).unwrap().lines().count(), 1_204);
}

#[test]
fn an_output_that_takes_nothing_ends_the_export() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("no room"))
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    for form in ExportFormat::ALL {
        let filter = EventFilter::parse(["run:run_golden"], Timestamp::default()).unwrap();
        let error = write(&exports::log(), None, &filter, form, &mut Full).unwrap_err();
        assert_eq!(error.to_string(), "the export cannot be written: no room", "{form:?}");
    }
}
