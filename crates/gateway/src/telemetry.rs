//! What operators see of a gateway that runs: metrics for Prometheus and for a collector, and the
//! spans of its calls.
//!
//! Nothing here has the arguments or the result of a call, and no label of a metric has a value that
//! a client or a server could choose at will: servers are those of the configuration, and everything
//! else is a word of our own.

mod call_metrics;
mod call_trace;
mod exposition;
mod family;
mod gauges;
mod histogram;
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
pub(crate) use otlp::{Exporter, ExporterTask};
pub(crate) use timed_driver::timed;
pub(crate) use trace_parent::TraceParent;

use call_metrics::CallMetrics;
use otlp::{SpanQueue, call_spans};

/// What is counted while the gateway runs.
pub(crate) struct Telemetry {
    pub(crate) http: HttpMetrics,
    pub(crate) export: ExportMetrics,
    calls: CallMetrics,
    spans: Option<SpanQueue>,
    /// When the counters were zero.
    started_at: Timestamp,
}

/// What is counted over HTTP.
#[derive(Debug, Default)]
pub(crate) struct HttpMetrics {
    pub(crate) requests: EventCounter,
    pub(crate) refused: EventCounter,
    pub(crate) messages: EventCounter,
}

/// What became of what was meant for a collector.
#[derive(Debug, Default)]
pub(crate) struct ExportMetrics {
    pub(crate) spans_dropped: EventCounter,
    pub(crate) failures: EventCounter,
}

/// A number of events, which only grows.
#[derive(Debug, Default)]
pub(crate) struct EventCounter(AtomicU64);

impl EventCounter {
    pub(crate) fn add(&self, more: usize) {
        self.0.fetch_add(u64::try_from(more).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The place of the call that a task works on in its trace, for the request to its server.
pub(crate) fn request_meta() -> RequestMeta {
    Arc::new(|| {
        let context = CallTrace::current().and_then(|trace| trace.outgoing());
        let fields =
            context.map(|context| (trace_parent::KEY.to_owned(), json!(context.to_text())));
        fields.into_iter().collect()
    })
}

impl Telemetry {
    /// Counts from now on; the spans of calls go to `spans`, where there is a collector for them.
    pub(crate) fn new(started_at: Timestamp, spans: Option<SpanQueue>) -> Self {
        let (http, export) = (HttpMetrics::default(), ExportMetrics::default());
        Self { http, export, calls: CallMetrics::default(), spans, started_at }
    }

    /// True where a collector gets the spans of calls.
    pub(crate) fn exports_spans(&self) -> bool {
        self.spans.is_some()
    }

    /// Begins to trace a call, in the trace that its client is in.
    pub(crate) fn begin_call(
        &self,
        capability: &CapabilityId,
        parent: Option<TraceParent>,
    ) -> Arc<CallTrace> {
        Arc::new(CallTrace::begin(capability.as_str(), parent, self.spans.is_some()))
    }

    /// Takes in a call that is over.
    pub(crate) fn end_call(&self, trace: &CallTrace, report: &CallReport) {
        let stages = trace.stages();
        self.calls.record(report, &stages, trace.elapsed());
        let Some(queue) = self.spans.as_ref().filter(|_| trace.is_exported()) else { return };
        let spans = call_spans(trace, &stages, report);
        let count = spans.len();
        if !queue.offer(spans) {
            // A collector that is slow or away delays no call.
            self.export.spans_dropped.add(count);
        }
    }
}
