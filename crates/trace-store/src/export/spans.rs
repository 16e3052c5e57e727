//! Spans of OpenTelemetry's conventions for generative AI, as one OTLP JSON file.
//!
//! Names and forms are those of `opentelemetry/proto/trace/v1/trace.proto` and
//! `common/v1/common.proto` in OTLP's JSON form: lower camel case, ids in hexadecimal, 64-bit numbers
//! as text, enums as numbers. Attributes are those of the span `execute_tool` of the semantic
//! conventions; what these have no name for begins with `weaver.`. A trace is a run: its id is the
//! one that the run was begun with, or derived from log and run, so that one log always gives the
//! same.

use std::collections::BTreeMap;
use std::io::Write;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use weaver_types::{EventKind, Timestamp, hex};

use super::error::ExportError;
use super::paired;
use crate::project::{CallEvents, MAX_RUNS};
use crate::query::{Facts, Field, Filter, Lookup, QueryError, Question, ask};
use crate::verify::Source;

/// The version of the conventions that the attributes follow.
pub const SCHEMA_URL: &str = "https://opentelemetry.io/schemas/1.41.0";
/// `SPAN_KIND_INTERNAL`.
const INTERNAL: u8 = 1;
/// `STATUS_CODE_ERROR`.
const ERROR: u8 = 2;

/// One span a call, refused ones and looks at results too. Written one by one, so that a long log
/// needs little memory.
pub(super) fn write(
    source: &dyn Source,
    lookup: Option<&dyn Lookup>,
    filter: &Filter,
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
    let mut traces = Traces { log: log.as_str(), source, lookup, known: BTreeMap::new() };
    let count = paired(source, lookup, filter, &mut |paired| {
        let Some(span) = span(&mut traces, paired)? else { return Ok(()) };
        let comma = if std::mem::take(&mut first) { "" } else { "," };
        write!(out, "{comma}\n{span}")?;
        Ok(())
    })?;
    writeln!(out, "\n]}}]}}]}}")?;
    Ok(count)
}

/// The traces of runs: that which the run names, wherever in the log it does.
struct Traces<'a> {
    log: &'a str,
    source: &'a dyn Source,
    lookup: Option<&'a dyn Lookup>,
    known: BTreeMap<String, String>,
}

impl Traces<'_> {
    fn of(&mut self, facts: &Facts) -> Result<String, QueryError> {
        let Some(run) = facts.run() else {
            return Ok(digest(&[self.log, facts.call().unwrap_or_default()], 16));
        };
        if let Some(known) = self.known.get(run) {
            return Ok(known.clone());
        }
        let filter = Filter::default()
            .with(Field::Event, EventKind::RunStarted.as_str())
            .with(Field::Run, run);
        let page =
            ask(self.source, self.lookup, &Question { limit: 1, ..Question::oldest(filter) })?;
        let named = page.events.first().and_then(|started| started.text(&["trace_id"]));
        let named = named.filter(|id| {
            id.len() == 32
                && id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
                && id.bytes().any(|b| b != b'0')
        });
        let trace = named.map_or_else(|| digest(&[self.log, run], 16), str::to_owned);
        if self.known.len() >= MAX_RUNS {
            self.known.pop_first();
        }
        self.known.insert(run.to_owned(), trace.clone());
        Ok(trace)
    }
}

/// The span of a call.
fn span(traces: &mut Traces<'_>, paired: &CallEvents) -> Result<Option<Value>, QueryError> {
    let first = match paired {
        CallEvents::Executed { intent, outcome } => intent.as_deref().or(outcome.as_deref()),
        CallEvents::Refused(facts) | CallEvents::Viewed(facts) => Some(&**facts),
        CallEvents::Other(_) => None,
    };
    let Some(first) = first else { return Ok(None) };
    let trace = traces.of(first)?;
    Ok(told(&trace, paired))
}

fn told(trace: &str, paired: &CallEvents) -> Option<Value> {
    let (first, last, outcome) = match paired {
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
    let (operation, refused) = match paired {
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
    add("weaver.outcome", outcome.and_then(Facts::outcome));
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

/// The `error.type` of a call whose outcome nobody saw.
const OUTCOME_UNKNOWN: &str = "outcome_unknown";

fn error_of(outcome: Option<&Facts>) -> Option<String> {
    let Some(facts) = outcome else { return Some(OUTCOME_UNKNOWN.to_owned()) };
    match facts.outcome() {
        Some("failure") => Some(reason_or_other(facts)),
        Some("unknown") => Some(OUTCOME_UNKNOWN.to_owned()),
        _ => None,
    }
}

fn reason_or_other(facts: &Facts) -> String {
    facts.reason().unwrap_or("_OTHER").to_owned()
}

/// The span of a call: the first 16 hexadecimal digits of its id, as results name it. An id with
/// fewer is hashed.
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
