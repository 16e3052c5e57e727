//! Exports traces and metrics to a collector over OTLP (HTTP with Protocol Buffers).
//!
//! Nothing waits for the collector: spans go through a bounded queue, and those that find it full
//! are dropped and counted.

mod exporter;
mod metrics;
mod resource;
mod spans;

pub(crate) use exporter::{Exporter, ExporterTask, SpanQueue};
pub(crate) use resource::ExportedResource;
pub(super) use spans::call_spans;
