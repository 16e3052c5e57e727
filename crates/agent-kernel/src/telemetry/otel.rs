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

use super::{Operation, OperationReport};

/// The instrumentation scope of all spans and metrics.
const SCOPE: &str = "weaver_kernel";

/// Reports to OpenTelemetry once it is enabled.
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
    pub(crate) fn enable(&self) -> bool {
        let mut newly_enabled = false;
        self.0.get_or_init(|| {
            newly_enabled = true;
            Instruments::new()
        });
        newly_enabled
    }

    pub(crate) fn is_on(&self) -> bool {
        self.0.get().is_some()
    }

    pub(crate) fn report(&self, report: &OperationReport<'_>) {
        let Some(instruments) = self.0.get() else { return };
        if report.emit.trace {
            record_span(&instruments.tracer, report);
        }
        if !report.emit.metric {
            return;
        }
        let attribute = |key: &'static str, value: &str| KeyValue::new(key, value.to_owned());
        let capability = attribute("capability_id", report.capability.as_str());
        if report.operation == Operation::Invoke {
            let attributes = [capability.clone(), attribute("status", report.status)];
            instruments.invocations.add(1, &attributes);
            instruments.duration.record(report.duration.as_secs_f64() * 1_000.0, &attributes);
        }
        if report.denied {
            let reason = attribute("reason_code", report.reason.unwrap_or_default());
            instruments.denials.add(1, &[capability, reason]);
        }
    }
}

fn record_span(tracer: &BoxedTracer, report: &OperationReport<'_>) {
    let name = match report.operation {
        Operation::Grant => "weaver_kernel.grant",
        Operation::Invoke => "weaver_kernel.invoke",
    };
    let mut attributes = vec![
        KeyValue::new("weaver_kernel.capability_id", report.capability.to_string()),
        KeyValue::new("weaver_kernel.principal_id", report.caller.principal.id.to_string()),
        KeyValue::new("weaver_kernel.run_id", report.caller.run.run_id.to_string()),
        KeyValue::new("weaver_kernel.response_mode", mode_text(report.mode)),
        KeyValue::new("weaver_kernel.status", report.status),
    ];
    attributes.extend(report.call.map(|id| KeyValue::new("weaver_kernel.call_id", id.to_owned())));
    attributes.extend(report.reason.map(|code| KeyValue::new("weaver_kernel.reason_code", code)));
    let start = system_time(report.started_at);
    let builder = tracer.span_builder(name).with_start_time(start).with_attributes(attributes);
    let parent = parent_context(report.caller.run);
    let mut span = builder.start_with_context(tracer, &parent);
    if report.status != "ok" {
        span.set_status(Status::error(report.reason.unwrap_or(report.status)));
    }
    span.end_with_timestamp(start.checked_add(report.duration).unwrap_or(start));
}

/// The active span's context; without an active span, the trace of the run.
fn parent_context(run: &RunContext) -> Context {
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

fn mode_text(mode: ResponseMode) -> &'static str {
    match mode {
        ResponseMode::Raw => "raw",
        ResponseMode::Auto => "auto",
        ResponseMode::Table => "table",
        ResponseMode::Summary => "summary",
        ResponseMode::HandleOnly => "handle_only",
    }
}

fn system_time(at: Timestamp) -> SystemTime {
    let micros = u64::try_from(at.micros()).unwrap_or_default();
    UNIX_EPOCH.checked_add(Duration::from_micros(micros)).unwrap_or(UNIX_EPOCH)
}
