//! Spans by OpenTelemetry's semantic conventions for generative AI, as one OTLP JSON file.
//!
//! Names and formats follow `opentelemetry/proto/trace/v1/trace.proto` and `common/v1/common.proto`
//! in OTLP's JSON encoding: lower camel case, ids in hexadecimal, 64-bit numbers as strings, enums
//! as numbers. Attributes follow the span `execute_tool` of the semantic conventions; attributes
//! without a name there begin with `weaver.`. A trace is a run. Its id is the one that the run was
//! started with, or derived from log and run, so that exports of one log always agree.

use std::collections::BTreeMap;
use std::io::Write;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use weaver_types::{EventKind, Timestamp, hex};

use super::error::ExportError;
use super::for_each_call;
use crate::project::{CallEvents, MAX_RUNS};
use crate::query::{
    CandidateLookup, EventFacts, EventFilter, FilterField, LogQuery, QueryError, run_query,
};
use crate::verify::LogSource;

/// The version of the semantic conventions that the attributes follow.
pub const SCHEMA_URL: &str = "https://opentelemetry.io/schemas/1.41.0";
/// `SPAN_KIND_INTERNAL`.
const INTERNAL: u8 = 1;
/// `STATUS_CODE_ERROR`.
const ERROR: u8 = 2;

/// Writes one span per call, including refused calls and later views of results. Spans are written
/// one by one, so that a long log needs little memory.
pub(super) fn write(
    source: &dyn LogSource,
    lookup: Option<&dyn CandidateLookup>,
    filter: &EventFilter,
    out: &mut dyn Write,
) -> Result<u64, ExportError> {
    let log = source.extent()?.head.log;
    let resource = json!({ "attributes": [
        text("service.name", "weaver"),
        text("service.version", env!("CARGO_PKG_VERSION")),
        text("weaver.log", log.as_str()),
    ]});
    let scope = json!({ "name": "weaver", "version": env!("CARGO_PKG_VERSION") });
    write!(
        out,
        "{{\"resourceSpans\":[{{\"resource\":{resource},\"schemaUrl\":\"{SCHEMA_URL}\",\
         \"scopeSpans\":[{{\"scope\":{scope},\"schemaUrl\":\"{SCHEMA_URL}\",\"spans\":["
    )?;
    let mut first = true;
    let mut traces = TraceIds { log: log.as_str(), source, lookup, by_run: BTreeMap::new() };
    let count = for_each_call(source, lookup, filter, &mut |call_events| {
        let Some(span) = span(&mut traces, call_events)? else { return Ok(()) };
        let comma = if std::mem::take(&mut first) { "" } else { "," };
        write!(out, "{comma}\n{span}")?;
        Ok(())
    })?;
    writeln!(out, "\n]}}]}}]}}")?;
    Ok(count)
}

/// The trace ids of runs: the id that `run.started` names, wherever in the log that is.
struct TraceIds<'a> {
    log: &'a str,
    source: &'a dyn LogSource,
    lookup: Option<&'a dyn CandidateLookup>,
    by_run: BTreeMap<String, String>,
}

impl TraceIds<'_> {
    fn trace_id(&mut self, facts: &EventFacts) -> Result<String, QueryError> {
        let Some(run) = facts.run() else {
            return Ok(digest(&[self.log, facts.call().unwrap_or_default()], 16));
        };
        if let Some(trace) = self.by_run.get(run) {
            return Ok(trace.clone());
        }
        let filter = EventFilter::default()
            .with(FilterField::Event, EventKind::RunStarted.as_str())
            .with(FilterField::Run, run);
        let page = run_query(
            self.source,
            self.lookup,
            &LogQuery { limit: 1, ..LogQuery::oldest(filter) },
        )?;
        let named = page.events.first().and_then(|started| started.text(&["trace_id"]));
        let named = named.filter(|id| {
            id.len() == 32
                && id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
                && id.bytes().any(|b| b != b'0')
        });
        let trace = named.map_or_else(|| digest(&[self.log, run], 16), str::to_owned);
        if self.by_run.len() >= MAX_RUNS {
            self.by_run.pop_first();
        }
        self.by_run.insert(run.to_owned(), trace.clone());
        Ok(trace)
    }
}

/// The span of a call.
fn span(traces: &mut TraceIds<'_>, call_events: &CallEvents) -> Result<Option<Value>, QueryError> {
    let first = match call_events {
        CallEvents::Executed { intent, outcome } => intent.as_deref().or(outcome.as_deref()),
        CallEvents::Refused(facts) | CallEvents::Viewed(facts) => Some(&**facts),
        CallEvents::Other(_) => None,
    };
    let Some(first) = first else { return Ok(None) };
    let trace = traces.trace_id(first)?;
    Ok(span_json(&trace, call_events))
}

fn span_json(trace: &str, call_events: &CallEvents) -> Option<Value> {
    let (first, last, outcome) = match call_events {
        CallEvents::Executed { intent, outcome } => {
            let first = intent.as_deref().or(outcome.as_deref())?;
            (first, outcome.as_deref().unwrap_or(first), outcome.as_deref())
        }
        CallEvents::Refused(facts) | CallEvents::Viewed(facts) => {
            (&**facts, &**facts, Some(&**facts))
        }
        CallEvents::Other(_) => return None,
    };
    let call = first.call()?;
    let capability = first.capability().unwrap_or("unknown");
    let (operation, refused) = match call_events {
        CallEvents::Viewed(_) => ("view_result", false),
        CallEvents::Refused(_) => ("execute_tool", true),
        _ => ("execute_tool", false),
    };
    let mut attributes = vec![
        text("gen_ai.operation.name", operation),
        text("gen_ai.tool.name", capability),
        text("gen_ai.tool.call.id", call),
        text("gen_ai.tool.type", "function"),
    ];
    let mut add = |name: &str, value: Option<&str>| {
        attributes.extend(value.map(|value| text(name, value)));
    };
    add("gen_ai.conversation.id", first.run());
    add("gen_ai.tool.call.arguments", first.text(&["arguments", "text"]));
    let error = if refused {
        Some(outcome.map_or_else(|| OUTCOME_UNKNOWN.to_owned(), reason_or_other))
    } else {
        error_of(outcome)
    };
    add("error.type", error.as_deref());
    add("weaver.principal", first.principal());
    add("weaver.verdict", first.verdict());
    add("weaver.reason", first.reason());
    add("weaver.request", first.request());
    add("weaver.handle", last.handle());
    add("weaver.outcome", outcome.and_then(EventFacts::outcome));
    add("weaver.label.confidentiality", last.label().map(|(level, _)| level));
    add("weaver.label.integrity", last.label().map(|(_, trust)| trust));
    attributes.push(number("weaver.seq", first.seq));
    if let Some(rows) = last.number(&["frame", "rows"]).or_else(|| last.number(&["rows"])) {
        attributes.push(number("weaver.shown.rows", rows));
    }
    let status = match &error {
        Some(error) => json!({ "code": ERROR, "message": error }),
        None => json!({}),
    };
    Some(json!({
        "traceId": trace,
        "spanId": span_id(call),
        "name": format!("{operation} {capability}"),
        "kind": INTERNAL,
        "startTimeUnixNano": nanos(first.at()?),
        "endTimeUnixNano": nanos(last.at()?),
        "attributes": attributes,
        "status": status,
    }))
}

/// The `error.type` of a call whose outcome is unknown.
const OUTCOME_UNKNOWN: &str = "outcome_unknown";

fn error_of(outcome: Option<&EventFacts>) -> Option<String> {
    let Some(facts) = outcome else { return Some(OUTCOME_UNKNOWN.to_owned()) };
    match facts.outcome() {
        Some("failure") => Some(reason_or_other(facts)),
        Some("unknown") => Some(OUTCOME_UNKNOWN.to_owned()),
        _ => None,
    }
}

fn reason_or_other(facts: &EventFacts) -> String {
    facts.reason().unwrap_or("_OTHER").to_owned()
}

/// The span id of a call: the first 16 hexadecimal digits of its id, as in results. An id with
/// fewer digits is hashed.
fn span_id(call: &str) -> String {
    let id = call.strip_prefix("call_").unwrap_or(call);
    let digits: String = id.chars().filter(char::is_ascii_hexdigit).take(16).collect();
    let fits = digits.len() == 16 && digits.chars().any(|digit| digit != '0');
    if fits { digits.to_ascii_lowercase() } else { digest(&[call], 8) }
}

fn digest(parts: &[&str], bytes: usize) -> String {
    let mut hash = Sha256::new();
    hash.update(b"weaver/otel/v1");
    for part in parts {
        hash.update([0]);
        hash.update(part.as_bytes());
    }
    hex(hash.finalize().get(..bytes).unwrap_or_default())
}

fn nanos(at: Timestamp) -> String {
    (i128::from(at.micros()) * 1_000).max(0).to_string()
}

fn text(name: &str, value: &str) -> Value {
    json!({ "key": name, "value": { "stringValue": value } })
}

fn number(name: &str, value: u64) -> Value {
    json!({ "key": name, "value": { "intValue": value.to_string() } })
}
