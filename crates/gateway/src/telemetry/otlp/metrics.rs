//! Metrics as a collector takes them.

use weaver_types::Timestamp;

use super::protobuf::Message;
use super::resource::{attribute, request};
use crate::telemetry::family::{MetricFamily, MetricKind, Sample, SampleValue};
use crate::telemetry::histogram::{BOUNDS, Histogram};

/// `AggregationTemporality`: since the gateway began.
const CUMULATIVE: u64 = 2;

/// From when to when.
#[derive(Debug, Clone, Copy)]
pub(super) struct Interval {
    pub(super) from: Timestamp,
    pub(super) to: Timestamp,
}

impl Interval {
    fn write(self, point: &mut Message) {
        let nanos = |at: Timestamp| u64::try_from(at.micros()).unwrap_or_default() * 1_000;
        point.fixed64(2, nanos(self.from));
        point.fixed64(3, nanos(self.to));
    }
}

/// The body of an export of metrics (`ExportMetricsServiceRequest`).
pub(super) fn encode(families: &[MetricFamily], interval: Interval) -> Vec<u8> {
    request(|scope| {
        for family in families.iter().filter(|family| !family.samples.is_empty()) {
            scope.message(2, |metric| {
                metric.text(1, family.otlp_name);
                metric.text(2, family.help);
                metric.text(3, family.unit);
                let field = match family.kind {
                    MetricKind::Gauge => 5,
                    MetricKind::Counter => 7,
                    MetricKind::Histogram => 9,
                };
                metric.message(field, |data| points(data, family, interval));
            });
        }
    })
}

fn points(data: &mut Message, family: &MetricFamily, interval: Interval) {
    for sample in &family.samples {
        data.message(1, |point| write(point, sample, interval));
    }
    if family.kind != MetricKind::Gauge {
        data.varint(2, CUMULATIVE);
    }
    if family.kind == MetricKind::Counter {
        // It never falls.
        data.varint(3, 1);
    }
}

fn write(point: &mut Message, sample: &Sample, interval: Interval) {
    interval.write(point);
    let labels = match &sample.value {
        SampleValue::Number(number) => {
            point.fixed64(6, (*number).min(i64::MAX.unsigned_abs()));
            7
        }
        SampleValue::Histogram(histogram) => {
            let Histogram { counts, count, sum } = histogram.as_ref();
            point.fixed64(4, *count);
            point.double(5, *sum);
            let counts = counts.iter().copied().chain([histogram.above()]);
            point.packed_fixed64(6, counts);
            point.packed_fixed64(7, BOUNDS.iter().map(|bound| bound.to_bits()));
            9
        }
    };
    for (name, value) in &sample.labels {
        attribute(point, labels, attribute_name(name), value);
    }
}

/// A label by the semantic conventions: their names where they have one, our own namespace elsewhere.
fn attribute_name(label: &'static str) -> &'static str {
    match label {
        "method" => "mcp.method.name",
        "reason" => "error.type",
        "server" => "weaver.server",
        "outcome" => "weaver.outcome",
        "stage" => "weaver.stage",
        "version" => "service.version",
        other => other,
    }
}
