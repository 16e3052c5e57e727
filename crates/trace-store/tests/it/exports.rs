//! Exports: each has a golden file, and each is read again by what it is for.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use serde_json::Value;
use weaver_trace_store::MemoryLedger;
use weaver_trace_store::export::{ExportFormat, write};
use weaver_trace_store::query::EventFilter;
use weaver_trace_store::verify::{JsonLinesLog, LogSource, verify};
use weaver_types::contracts::{
    Contract, Frame, Handle, PolicyDecision, RoutingDecision, TraceEvent,
};
use weaver_types::ledger::{Batch, Durability, Ledger, NewEvent};
use weaver_types::{CallId, EventKind, LogId, Random, RandomError, RunId, Timestamp};

/// Fills each buffer with the next number, so that the golden files stay as they are.
struct Counted(AtomicU8);

impl Random for Counted {
    fn fill(&self, buffer: &mut [u8]) -> Result<(), RandomError> {
        buffer.fill(self.0.fetch_add(1, Ordering::Relaxed));
        Ok(())
    }
}

/// A small log as the kernel writes it: a run with a shortlist, a held call that is released, a
/// failed call, a look, and texts that are hostile to tables and terminals.
pub(crate) fn log() -> MemoryLedger {
    let ledger =
        MemoryLedger::new(LogId::parse("log_golden").unwrap(), Arc::new(Counted(AtomicU8::new(0))));
    let lines = fs::read_to_string(data("events.jsonl")).unwrap();
    for line in lines.lines() {
        let told: Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| told[name].as_str().map(str::to_owned);
        let event = NewEvent {
            kind: EventKind::parse(told["type"].as_str().unwrap()).unwrap(),
            at: Timestamp::parse_rfc3339(told["at"].as_str().unwrap()).unwrap(),
            run: text("run").map(|run| RunId::parse(run).unwrap()),
            call: text("call").map(|call| CallId::parse(call).unwrap()),
            payload: told["payload"].to_string().into_bytes().into(),
        };
        ledger.commit(Batch::new(Durability::Disk).with_event(event)).wait().unwrap();
    }
    ledger
}

fn data(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/export").join(name)
}

fn filter(terms: &str) -> EventFilter {
    EventFilter::parse([terms], Timestamp::from_micros(0)).unwrap()
}

fn exported(form: ExportFormat, terms: &str) -> String {
    let mut out = Vec::new();
    write(&log(), None, &filter(terms), form, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn golden(name: &str, form: ExportFormat, terms: &str) -> String {
    let text = exported(form, terms);
    if std::env::var_os("WEAVER_BLESS").is_some() {
        fs::write(data(name), &text).unwrap();
    }
    let wanted = fs::read_to_string(data(name)).unwrap_or_default();
    assert!(text == wanted, "{name} has changed; a released form never does");
    text
}

#[test]
fn json_lines_are_the_log_itself() {
    let text = golden("log.jsonl", ExportFormat::Jsonl, "");
    let lines = JsonLinesLog::read(text.as_bytes()).unwrap();
    let log = log();
    verify(&lines, Some(&log.head().unwrap())).unwrap();
    assert_eq!(lines.extent().unwrap().head, log.head().unwrap());
    let changed = text.replacen("run the report", "run the rapport", 1);
    assert!(verify(&JsonLinesLog::read(changed.as_bytes()).unwrap(), None).is_err());
    // A part of the log has the same lines.
    let part = exported(ExportFormat::Jsonl, "event:call.refused");
    assert!(part.lines().count() == 1 && part.lines().all(|line| text.lines().any(|l| l == line)));
}

#[test]
fn a_bundle_holds_valid_contracts_and_every_decision_has_its_event() {
    let text = golden("bundle.json", ExportFormat::Bundle, "run:run_golden");
    let bundle: Value = serde_json::from_str(&text).unwrap();
    for (name, required) in [("bundle_id", 1), ("routing_decision", 2)] {
        assert!(!bundle[name].is_null(), "{name} {required}");
    }
    let bytes = |value: &Value| value.to_string().into_bytes();
    RoutingDecision::parse(&bytes(&bundle["routing_decision"])).unwrap();
    let all = |name: &str| bundle[name].as_array().unwrap().clone();
    all("policy_decisions").iter().for_each(|v| drop(PolicyDecision::parse(&bytes(v)).unwrap()));
    all("frames").iter().for_each(|v| drop(Frame::parse(&bytes(v)).unwrap()));
    all("handles").iter().for_each(|v| drop(Handle::parse(&bytes(v)).unwrap()));
    all("trace_events").iter().for_each(|v| drop(TraceEvent::parse(&bytes(v)).unwrap()));
    let traced: BTreeSet<String> =
        all("trace_events").iter().map(|event| event["decision_id"].to_string()).collect();
    assert_eq!(all("policy_decisions").len(), 4);
    for decision in all("policy_decisions") {
        assert!(traced.contains(&decision["decision_id"].to_string()), "{decision}");
    }
    let held: BTreeSet<String> =
        all("handles").iter().map(|h| h["handle_id"].to_string()).collect();
    for handle in all("frames").iter().flat_map(|f| f["handle_refs"].as_array().cloned()).flatten()
    {
        assert!(held.contains(&handle.to_string()), "{handle}");
    }
    assert_eq!(bundle["canonicalization"], "JCS");
    assert!(bundle["signature"].is_null(), "it does not call itself signed");
}

#[test]
fn a_bundle_is_of_one_known_run() {
    for (terms, code) in
        [("", "export.no_run"), ("run:run_*", "export.no_run"), ("run:run_none", "export.nothing")]
    {
        let mut out = Vec::new();
        let error =
            write(&log(), None, &filter(terms), ExportFormat::Bundle, &mut out).unwrap_err();
        assert_eq!((error.code(), out.len()), (code, 0), "{terms}");
    }
}

#[test]
fn a_table_has_no_formulas() {
    let text = golden("table.csv", ExportFormat::Csv, "");
    for line in text.split("\r\n").skip(1).filter(|line| !line.is_empty()) {
        for cell in line.split(',') {
            let inner = cell.trim_start_matches('"');
            assert!(!inner.starts_with(['=', '+', '-', '@', '\t']), "{line}");
        }
    }
    assert!(text.contains("'=cmd|calc"), "the hostile principal is there: {text}");
}

#[test]
fn actions_and_runs_are_as_their_peers_have_them() {
    let actions = golden("actions.jsonl", ExportFormat::Actions, "");
    let types: Vec<String> = actions
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["event_type"].to_string())
        .collect();
    assert_eq!(types, ["\"deny\"", "\"invoke\"", "\"expand\"", "\"invoke\"", "\"invoke\""]);
    let runs = golden("runs.jsonl", ExportFormat::Runs, "");
    let run: Value = serde_json::from_str(runs.lines().next().unwrap()).unwrap();
    assert_eq!((&run["tool_calls"], &run["denials"]), (&3.into(), &1.into()));
}

/// The fields of each message of `opentelemetry/proto/{trace,common,resource}/v1` that may stand in
/// an OTLP JSON file, by their JSON names.
fn fields(message: &str) -> (&'static [&'static str], &'static [(&'static str, &'static str)]) {
    match message {
        "TracesData" => (&[], &[("resourceSpans", "ResourceSpans")]),
        "ResourceSpans" => {
            (&["schemaUrl"], &[("resource", "Resource"), ("scopeSpans", "ScopeSpans")])
        }
        "Resource" => (&["droppedAttributesCount"], &[("attributes", "KeyValue")]),
        "ScopeSpans" => (&["schemaUrl"], &[("scope", "Scope"), ("spans", "Span")]),
        "Scope" => (&["name", "version", "droppedAttributesCount"], &[("attributes", "KeyValue")]),
        "Span" => (
            &[
                "traceId", "spanId", "traceState", "parentSpanId", "flags", "name", "kind",
                "startTimeUnixNano", "endTimeUnixNano", "droppedAttributesCount",
                "droppedEventsCount", "droppedLinksCount",
            ],
            &[("attributes", "KeyValue"), ("status", "Status")],
        ),
        "Status" => (&["message", "code"], &[]),
        "KeyValue" => (&["key"], &[("value", "AnyValue")]),
        "AnyValue" => (&["stringValue", "boolValue", "intValue", "doubleValue", "bytesValue"], &[]),
        _ => panic!("{message}"),
    }
}

fn conforms(value: &Value, message: &str) {
    if let Some(items) = value.as_array() {
        return items.iter().for_each(|item| conforms(item, message));
    }
    let (plain, nested) = fields(message);
    for (name, value) in value.as_object().unwrap() {
        match nested.iter().find(|(known, _)| known == name) {
            Some((_, message)) => conforms(value, message),
            None => assert!(plain.contains(&name.as_str()), "{message} has no `{name}`"),
        }
    }
}

#[test]
fn spans_are_otlp_json() {
    let text = golden("spans.otlp.json", ExportFormat::Otlp, "");
    let traces: Value = serde_json::from_str(&text).unwrap();
    conforms(&traces, "TracesData");
    let spans = traces["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap();
    assert_eq!(spans.len(), 5);
    let is_id = |value: &Value, length: usize| {
        let text = value.as_str().unwrap();
        text.len() == length
            && text.chars().all(|c| c.is_ascii_hexdigit() && !c.is_ascii_uppercase())
            && text.chars().any(|c| c != '0')
    };
    let mut seen = BTreeSet::new();
    for span in spans {
        assert!(is_id(&span["traceId"], 32) && is_id(&span["spanId"], 16), "{span}");
        assert!(seen.insert(span["spanId"].to_string()), "a span twice");
        let nanos = |name: &str| span[name].as_str().unwrap().parse::<u64>().unwrap();
        assert!(nanos("startTimeUnixNano") <= nanos("endTimeUnixNano"));
        assert!(matches!(span["kind"].as_u64(), Some(1..=5)), "an enum is a number");
        let keys: Vec<&str> = span["attributes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|a| a["key"].as_str().unwrap())
            .collect();
        let unique: BTreeSet<&&str> = keys.iter().collect();
        assert_eq!(unique.len(), keys.len(), "keys are unique");
        for name in ["gen_ai.operation.name", "gen_ai.tool.name", "gen_ai.tool.call.id"] {
            assert!(keys.contains(&name), "{name}: {span}");
        }
    }
    // The trace is the one that the run was begun with, whatever part of the run is asked for.
    let part: Value =
        serde_json::from_str(&exported(ExportFormat::Otlp, "event:call.refused")).unwrap();
    let trace = &part["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["traceId"];
    assert_eq!(trace, "0123456789abcdef0123456789abcdef");
}
