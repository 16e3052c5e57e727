//! The spans of a call, named by the OpenTelemetry conventions for MCP and generative AI.

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{
    ResourceSpans, ScopeSpans, Span, SpanFlags, Status, span::SpanKind, status::StatusCode,
};
use prost::Message as _;

use super::resource::{SCHEMA, attribute, scope};
use crate::telemetry::call_metrics::{CallReport, CallStage, RequestOrigin};
use crate::telemetry::call_trace::{CallTrace, SpanId, StageRecord};

/// The `sampled` flag of W3C trace flags, which are the low bits of `SpanFlags`.
const SAMPLED: u32 = 1;

/// A finished span.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SpanRecord {
    trace: [u8; 16],
    span: SpanId,
    parent: Option<SpanId>,
    is_parent_remote: bool,
    name: String,
    kind: SpanKind,
    /// The start and end in nanoseconds since 1970.
    from: u64,
    to: u64,
    attributes: Vec<(&'static str, String)>,
    error: Option<String>,
}

/// The spans of a call: one for the call and one for each of its stages.
pub(crate) fn call_spans(
    trace: &CallTrace,
    stages: &[StageRecord],
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
        name: span_name(
            report.method,
            SpanTarget::from_method(report.method, &trace.capability).name(),
        ),
        kind: SpanKind::Server,
        from: at(std::time::Duration::ZERO),
        to: at(trace.elapsed()),
        attributes: root_attributes(trace, report),
        error,
    };
    let stage_span = |stage: &StageRecord| SpanRecord {
        trace: trace.trace,
        span: stage.span,
        parent: Some(stage.parent),
        is_parent_remote: false,
        name: match stage.kind {
            CallStage::Server => span_name(
                report.method,
                SpanTarget::from_method(report.method, unprefixed_name(&trace.capability)).name(),
            ),
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
    std::iter::once(root).chain(stages.iter().map(stage_span)).collect()
}

/// What a span is about. Tools and prompts are named in the span's name, whose cardinality the
/// servers' lists bound. A URI could be anything, so it is never part of a name.
enum SpanTarget {
    Tool(String),
    Prompt(String),
    Other,
}

impl SpanTarget {
    /// The target of a method. `id` is the capability id, or its part after the server's name.
    fn from_method(method: &str, id: &str) -> Self {
        match method {
            "tools/call" => Self::Tool(id.to_owned()),
            "prompts/get" => Self::Prompt(id.replacen("prompts/get/", "", 1)),
            _ => Self::Other,
        }
    }

    fn name(&self) -> Option<&str> {
        match self {
            Self::Tool(name) | Self::Prompt(name) => Some(name),
            Self::Other => None,
        }
    }

    fn attributes(self) -> Vec<(&'static str, String)> {
        match self {
            Self::Tool(name) => vec![
                ("gen_ai.operation.name", "execute_tool".to_owned()),
                ("gen_ai.tool.name", name),
            ],
            Self::Prompt(name) => vec![("gen_ai.prompt.name", name)],
            Self::Other => Vec::new(),
        }
    }
}

fn span_name(method: &str, target: Option<&str>) -> String {
    target.map_or_else(|| method.to_owned(), |target| format!("{method} {target}"))
}

/// The name of a capability at its own server, without the server prefix.
fn unprefixed_name(capability: &str) -> &str {
    capability.split_once('.').map_or(capability, |(_, own)| own)
}

fn root_attributes(trace: &CallTrace, report: &CallReport) -> Vec<(&'static str, String)> {
    let target = SpanTarget::from_method(report.method, &trace.capability);
    let call_id = match &target {
        SpanTarget::Tool(_) => "gen_ai.tool.call.id",
        SpanTarget::Prompt(_) | SpanTarget::Other => "weaver.call.id",
    };
    let RequestOrigin { id, protocol_version, session } = &report.request;
    let mut attributes = target.attributes();
    attributes.extend([
        ("mcp.method.name", report.method.to_owned()),
        ("jsonrpc.request.id", id.clone()),
        (call_id, report.call.clone()),
        ("weaver.run.id", report.run.clone()),
        ("weaver.principal.id", report.principal.clone()),
        ("weaver.outcome", report.outcome.to_owned()),
    ]);
    let version = protocol_version.map(str::to_owned);
    attributes.extend(version.map(|version| ("mcp.protocol.version", version)));
    attributes.extend(session.clone().map(|session| ("mcp.session.id", session)));
    attributes.extend(report.resource_uri.clone().map(|uri| ("mcp.resource.uri", uri)));
    if let Some(reason) = report.reason {
        attributes.push(("error.type", reason.to_owned()));
    }
    attributes
}

fn stage_attributes(
    stage: &StageRecord,
    trace: &CallTrace,
    report: &CallReport,
) -> Vec<(&'static str, String)> {
    let mut attributes = Vec::new();
    if stage.kind == CallStage::Server {
        attributes.extend(
            SpanTarget::from_method(report.method, unprefixed_name(&trace.capability)).attributes(),
        );
        attributes.extend([
            ("mcp.method.name", report.method.to_owned()),
            ("weaver.server", report.server.clone()),
        ]);
        attributes.extend(report.resource_uri.clone().map(|uri| ("mcp.resource.uri", uri)));
    }
    if let Some(error) = stage.error {
        attributes.push(("error.type", error.to_owned()));
    }
    attributes
}

/// The body of a trace export request.
pub(super) fn encode(spans: Vec<SpanRecord>, resource: &Resource) -> Vec<u8> {
    let scope_spans = ScopeSpans {
        scope: Some(scope()),
        spans: spans.into_iter().map(to_otlp).collect(),
        schema_url: SCHEMA.to_owned(),
    };
    let resource_spans = ResourceSpans {
        resource: Some(resource.clone()),
        scope_spans: vec![scope_spans],
        schema_url: SCHEMA.to_owned(),
    };
    ExportTraceServiceRequest { resource_spans: vec![resource_spans] }.encode_to_vec()
}

fn to_otlp(span: SpanRecord) -> Span {
    let has_remote_flag = SpanFlags::ContextHasIsRemoteMask as u32;
    let remote = if span.is_parent_remote { SpanFlags::ContextIsRemoteMask as u32 } else { 0 };
    Span {
        trace_id: span.trace.to_vec(),
        span_id: span.span.to_vec(),
        parent_span_id: span.parent.map(|parent| parent.to_vec()).unwrap_or_default(),
        flags: SAMPLED | has_remote_flag | remote,
        name: span.name,
        kind: span.kind.into(),
        start_time_unix_nano: span.from,
        end_time_unix_nano: span.to,
        attributes: span.attributes.iter().map(|(name, value)| attribute(name, value)).collect(),
        status: span.error.map(|message| Status { message, code: StatusCode::Error.into() }),
        ..Span::default()
    }
}
