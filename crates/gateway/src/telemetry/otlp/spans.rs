//! The spans of a call, by the semantic conventions for MCP and for generative AI.

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::{
    ResourceSpans, ScopeSpans, Span, SpanFlags, Status, span::SpanKind, status::StatusCode,
};
use prost::Message as _;

use super::resource::{SCHEMA, attribute, resource, scope};
use crate::telemetry::call_metrics::{CallReport, CallStage};
use crate::telemetry::call_trace::{CallTrace, SpanId, Stage};

/// `sampled` among the trace flags of W3C, which are the low bits of `SpanFlags`.
const SAMPLED: u32 = 1;

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

/// The body of an export of spans.
pub(super) fn encode(spans: Vec<SpanRecord>) -> Vec<u8> {
    let scope_spans = ScopeSpans {
        scope: Some(scope()),
        spans: spans.into_iter().map(message).collect(),
        schema_url: SCHEMA.to_owned(),
    };
    let resource_spans = ResourceSpans {
        resource: Some(resource()),
        scope_spans: vec![scope_spans],
        schema_url: SCHEMA.to_owned(),
    };
    ExportTraceServiceRequest { resource_spans: vec![resource_spans] }.encode_to_vec()
}

fn message(span: SpanRecord) -> Span {
    let known = SpanFlags::ContextHasIsRemoteMask as u32;
    let remote = if span.is_parent_remote { SpanFlags::ContextIsRemoteMask as u32 } else { 0 };
    Span {
        trace_id: span.trace.to_vec(),
        span_id: span.span.to_vec(),
        parent_span_id: span.parent.map(|parent| parent.to_vec()).unwrap_or_default(),
        flags: SAMPLED | known | remote,
        name: span.name,
        kind: span.kind.into(),
        start_time_unix_nano: span.from,
        end_time_unix_nano: span.to,
        attributes: span.attributes.iter().map(|(name, value)| attribute(name, value)).collect(),
        status: span.error.map(|message| Status { message, code: StatusCode::Error.into() }),
        ..Span::default()
    }
}
