//! Telemetry of a running gateway for its operators: metrics for Prometheus and for an
//! OpenTelemetry collector, and the spans of calls.
//!
//! Nothing here carries the arguments or the result of a call. No metric label takes a value that a
//! client or a server chooses freely: server names come from the configuration, everything else is
//! a fixed word of ours. This bounds the number of series and keeps data out of the metrics.

mod call_metrics;
mod call_trace;
mod exposition;
mod family;
mod gauges;
mod histogram;
mod http_refusal;
mod measurements;
mod otlp;
mod timed_driver;
mod trace_parent;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::json;
use weaver_drivers::RequestMeta;
use weaver_types::{CapabilityId, Timestamp};

pub(crate) use call_metrics::{CallReport, RequestOrigin};
pub(crate) use call_trace::CallTrace;
pub(crate) use exposition::{CONTENT_TYPE as EXPOSITION, render};
pub(crate) use gauges::gather;
pub(crate) use http_refusal::{HttpRefusal, HttpRefusalCounters};
pub(crate) use measurements::{CheckpointHealth, Measurements, StoreSizes};
pub(crate) use otlp::{ExportedResource, Exporter, ExporterTask, SpanQueue};
pub(crate) use timed_driver::timed;
pub(crate) use trace_parent::{META_KEY as TRACE_PARENT_KEY, TraceParent};

use call_metrics::CallMetrics;
use otlp::call_spans;

/// The counters and traces of a running gateway.
pub(crate) struct Telemetry {
    pub(crate) http: HttpMetrics,
    pub(crate) export: ExportMetrics,
    calls: CallMetrics,
    spans: Option<SpanQueue>,
    /// When the counters started at zero.
    started_at: Timestamp,
}

/// Counters of the HTTP interface.
#[derive(Debug, Default)]
pub(crate) struct HttpMetrics {
    pub(crate) requests: EventCounter,
    pub(crate) refused: HttpRefusalCounters,
    pub(crate) messages: EventCounter,
}

/// Counters of what could not be exported to a collector.
#[derive(Debug, Default)]
pub(crate) struct ExportMetrics {
    pub(crate) spans_dropped: EventCounter,
    pub(crate) failures: EventCounter,
}

/// A counter of events; it only grows.
#[derive(Debug, Default)]
pub(crate) struct EventCounter(AtomicU64);

impl EventCounter {
    pub(crate) fn add(&self, count: usize) {
        self.0.fetch_add(u64::try_from(count).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The `_meta` fields of a request to a server: the trace context of the call that the current task
/// works on.
pub(crate) fn request_meta() -> RequestMeta {
    Arc::new(|| {
        let context = CallTrace::current().and_then(|trace| trace.server_context());
        let fields =
            context.map(|context| (trace_parent::META_KEY.to_owned(), json!(context.to_text())));
        fields.into_iter().collect()
    })
}

impl Telemetry {
    /// Starts counting now. The spans of calls go to `spans`, if there is a collector.
    pub(crate) fn new(started_at: Timestamp, spans: Option<SpanQueue>) -> Self {
        let (http, export) = (HttpMetrics::default(), ExportMetrics::default());
        Self { http, export, calls: CallMetrics::default(), spans, started_at }
    }

    /// Whether the spans of calls are exported to a collector.
    pub(crate) fn exports_spans(&self) -> bool {
        self.spans.is_some()
    }

    /// Starts the trace of a call, as part of its client's trace if there is one.
    pub(crate) fn begin_call(
        &self,
        capability: &CapabilityId,
        parent: Option<TraceParent>,
    ) -> Arc<CallTrace> {
        Arc::new(CallTrace::begin(capability.as_str(), parent, self.spans.is_some()))
    }

    /// Records a finished call: its metrics, and its spans if they are exported.
    pub(crate) fn end_call(&self, trace: &CallTrace, report: &CallReport) {
        let stages = trace.stages();
        self.calls.record(report, &stages, trace.elapsed());
        let Some(queue) = self.spans.as_ref().filter(|_| trace.is_exported()) else { return };
        let spans = call_spans(trace, &stages, report);
        let count = spans.len();
        if !queue.offer(spans) {
            // A slow or absent collector never delays a call; its spans are dropped and counted
            // instead.
            self.export.spans_dropped.add(count);
        }
    }
}
