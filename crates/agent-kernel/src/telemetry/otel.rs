//! Spans and metrics through the OpenTelemetry API.

use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use opentelemetry::global::{self, BoxedTracer};
use opentelemetry::metrics::{Counter, Histogram};
use opentelemetry::trace::{
    Span, SpanContext, SpanId, Status, TraceContextExt, TraceFlags, TraceId, TraceState, Tracer,
};
use opentelemetry::{Context, KeyValue};
use weaver_types::{ResponseMode, RunContext, Timestamp};

use super::{Operation, Report};

/// Whose spans and metrics these are.
const SCOPE: &str = "weaver_kernel";

/// Reports once it has begun.
#[derive(Default)]
pub(crate) struct Telemetry(OnceLock<Instruments>);

struct Instruments {
    tracer: BoxedTracer,
    invocations: Counter<u64>,
    duration: Histogram<f64>,
    denials: Counter<u64>,
}

impl Instruments {
    fn new() -> Self {
        let meter = global::meter(SCOPE);
        Self {
            tracer: global::tracer(SCOPE),
            invocations: meter
                .u64_counter("weaver_kernel.invocations")
                .with_description("Invocations, by how they ended.")
                .build(),
            duration: meter
                .f64_histogram("weaver_kernel.invocation_duration")
                .with_description("How long an invocation took.")
                .with_unit("ms")
                .build(),
            denials: meter
                .u64_counter("weaver_kernel.policy_denials")
                .with_description("Grants and invocations that a decision stopped.")
                .build(),
        }
    }
}

impl Telemetry {
    pub(crate) fn begin(&self) -> bool {
        let mut anew = false;
        self.0.get_or_init(|| {
            anew = true;
            Instruments::new()
        });
        anew
    }

    pub(crate) fn is_on(&self) -> bool {
        self.0.get().is_some()
    }

    pub(crate) fn report(&self, report: &Report<'_>) {
        let Some(instruments) = self.0.get() else { return };
        if report.emit.trace {
            span(&instruments.tracer, report);
        }
        if !report.emit.metric {
            return;
        }
        let of = |key: &'static str, value: &str| KeyValue::new(key, value.to_owned());
        let capability = of("capability_id", report.capability.as_str());
        if report.operation == Operation::Invoke {
            let attributes = [capability.clone(), of("status", report.status)];
            instruments.invocations.add(1, &attributes);
            instruments.duration.record(report.took.as_secs_f64() * 1_000.0, &attributes);
        }
        if report.stopped {
            let reason = of("reason_code", report.reason.unwrap_or_default());
            instruments.denials.add(1, &[capability, reason]);
        }
    }
}

fn span(tracer: &BoxedTracer, report: &Report<'_>) {
    let name = match report.operation {
        Operation::Grant => "weaver_kernel.grant",
        Operation::Invoke => "weaver_kernel.invoke",
    };
    let mut attributes = vec![
        KeyValue::new("weaver_kernel.capability_id", report.capability.to_string()),
        KeyValue::new("weaver_kernel.principal_id", report.caller.principal.id.to_string()),
        KeyValue::new("weaver_kernel.run_id", report.caller.run.run_id.to_string()),
        KeyValue::new("weaver_kernel.response_mode", mode(report.mode)),
        KeyValue::new("weaver_kernel.status", report.status),
    ];
    attributes.extend(report.call.map(|id| KeyValue::new("weaver_kernel.call_id", id.to_owned())));
    attributes.extend(report.reason.map(|code| KeyValue::new("weaver_kernel.reason_code", code)));
    let start = time(report.started_at);
    let builder = tracer.span_builder(name).with_start_time(start).with_attributes(attributes);
    let parent = parent(report.caller.run);
    let mut span = builder.start_with_context(tracer, &parent);
    if report.status != "ok" {
        span.set_status(Status::error(report.reason.unwrap_or(report.status)));
    }
    span.end_with_timestamp(start.checked_add(report.took).unwrap_or(start));
}

/// What is active here; where nothing is, the trace of the run.
fn parent(run: &RunContext) -> Context {
    let current = Context::current();
    if current.has_active_span() {
        return current;
    }
    let head: String = run.trace_id.chars().take(16).collect();
    let ids = TraceId::from_hex(&run.trace_id).ok().zip(SpanId::from_hex(&head).ok());
    let Some((trace, span)) = ids else { return current };
    let flags = TraceFlags::SAMPLED;
    current.with_remote_span_context(SpanContext::new(trace, span, flags, true, TraceState::NONE))
}

fn mode(mode: ResponseMode) -> &'static str {
    match mode {
        ResponseMode::Raw => "raw",
        ResponseMode::Auto => "auto",
        ResponseMode::Table => "table",
        ResponseMode::Summary => "summary",
        ResponseMode::HandleOnly => "handle_only",
    }
}

fn time(at: Timestamp) -> SystemTime {
    let micros = u64::try_from(at.micros()).unwrap_or_default();
    UNIX_EPOCH.checked_add(Duration::from_micros(micros)).unwrap_or(UNIX_EPOCH)
}
