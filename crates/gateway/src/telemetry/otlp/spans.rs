//! The spans of a call, by the semantic conventions for MCP and for generative AI.

use super::protobuf::Message;
use super::resource::{attribute, request};
use crate::telemetry::call_metrics::{CallReport, CallStage};
use crate::telemetry::call_trace::{CallTrace, SpanId, Stage};

/// The kinds of spans (`SpanKind`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SpanKind {
    Internal = 1,
    Server = 2,
    Client = 3,
}

/// The status of a span that failed (`Status.StatusCode`).
const FAILED: u64 = 2;
/// `SpanFlags`: sampled, and it is known that the parent is of another process, or that it is not.
const SAMPLED: u32 = 1;
const HAS_IS_REMOTE: u32 = 0x100;
const IS_REMOTE: u32 = 0x200;

/// A span that is over.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SpanRecord {
    trace: [u8; 16],
    span: SpanId,
    parent: Option<SpanId>,
    is_parent_remote: bool,
    name: String,
    kind: SpanKind,
    /// Both in nanoseconds since 1970.
    from: u64,
    to: u64,
    attributes: Vec<(&'static str, String)>,
    error: Option<String>,
}

/// The spans of a call: its own, and one for each of its stages.
pub(crate) fn call_spans(
    trace: &CallTrace,
    stages: &[Stage],
    report: &CallReport,
) -> Vec<SpanRecord> {
    let started = u64::try_from(trace.started_at.micros()).unwrap_or_default();
    let at = |since: std::time::Duration| {
        started.saturating_mul(1_000).saturating_add(u64::try_from(since.as_nanos()).unwrap_or(0))
    };
    let failed = report.outcome != "ok";
    let error = failed.then(|| report.reason.unwrap_or(report.outcome).to_owned());
    let root = SpanRecord {
        trace: trace.trace,
        span: trace.root,
        parent: trace.parent.map(|parent| parent.span),
        is_parent_remote: trace.parent.is_some(),
        name: format!("{} {}", report.method, trace.capability),
        kind: SpanKind::Server,
        from: at(std::time::Duration::ZERO),
        to: at(trace.elapsed()),
        attributes: root_attributes(trace, report),
        error,
    };
    let of_stage = |stage: &Stage| SpanRecord {
        trace: trace.trace,
        span: stage.span,
        parent: Some(stage.parent),
        is_parent_remote: false,
        name: match stage.kind {
            CallStage::Server => format!("{} {}", report.method, tool_of(&trace.capability)),
            kind => format!("weaver.{}", kind.as_str()),
        },
        kind: match stage.kind {
            CallStage::Server => SpanKind::Client,
            _ => SpanKind::Internal,
        },
        from: at(stage.from),
        to: at(stage.to),
        attributes: stage_attributes(stage, trace, report),
        error: stage.error.map(str::to_owned),
    };
    std::iter::once(root).chain(stages.iter().map(of_stage)).collect()
}

/// The name of a tool at its own server.
fn tool_of(capability: &str) -> &str {
    capability.split_once('.').map_or(capability, |(_, tool)| tool)
}

fn root_attributes(trace: &CallTrace, report: &CallReport) -> Vec<(&'static str, String)> {
    let mut attributes = vec![
        ("mcp.method.name", report.method.to_owned()),
        ("gen_ai.operation.name", "execute_tool".to_owned()),
        ("gen_ai.tool.name", trace.capability.clone()),
        ("gen_ai.tool.call.id", report.call.clone()),
        ("weaver.run.id", report.run.clone()),
        ("weaver.principal.id", report.principal.clone()),
        ("weaver.outcome", report.outcome.to_owned()),
    ];
    if let Some(reason) = report.reason {
        attributes.push(("error.type", reason.to_owned()));
    }
    attributes
}

fn stage_attributes(
    stage: &Stage,
    trace: &CallTrace,
    report: &CallReport,
) -> Vec<(&'static str, String)> {
    let mut attributes = Vec::new();
    if stage.kind == CallStage::Server {
        attributes.extend([
            ("mcp.method.name", report.method.to_owned()),
            ("gen_ai.operation.name", "execute_tool".to_owned()),
            ("gen_ai.tool.name", tool_of(&trace.capability).to_owned()),
            ("weaver.server", report.server.clone()),
        ]);
    }
    if let Some(error) = stage.error {
        attributes.push(("error.type", error.to_owned()));
    }
    attributes
}

/// The body of an export of spans (`ExportTraceServiceRequest`).
pub(super) fn encode(spans: &[SpanRecord]) -> Vec<u8> {
    request(|scope| {
        for span in spans {
            scope.message(2, |message| write(message, span));
        }
    })
}

fn write(message: &mut Message, span: &SpanRecord) {
    message.bytes(1, &span.trace);
    message.bytes(2, &span.span);
    if let Some(parent) = &span.parent {
        message.bytes(4, parent);
    }
    message.text(5, &span.name);
    message.varint(6, span.kind as u64);
    message.fixed64(7, span.from);
    message.fixed64(8, span.to);
    for (name, value) in &span.attributes {
        attribute(message, 9, name, value);
    }
    if let Some(error) = &span.error {
        message.message(15, |status| {
            status.text(2, error);
            status.varint(3, FAILED);
        });
    }
    let remote = if span.is_parent_remote { IS_REMOTE } else { 0 };
    message.fixed32(16, SAMPLED | HAS_IS_REMOTE | remote);
}
