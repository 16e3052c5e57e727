//! Traces and metrics for a collector, by the OpenTelemetry protocol over HTTP with Protocol Buffers.
//!
//! Nothing waits for the collector: spans go through a queue with an end, and what finds no room in
//! it is dropped and counted.

mod exporter;
mod metrics;
mod resource;
mod spans;

pub(crate) use exporter::{Exporter, ExporterTask, SpanQueue};
pub(super) use spans::call_spans;
