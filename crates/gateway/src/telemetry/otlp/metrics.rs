//! Encodes metrics for a collector.

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint,
    ResourceMetrics, ScopeMetrics, Sum, metric::Data, number_data_point::Value,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use prost::Message as _;
use weaver_types::Timestamp;

use super::resource::{SCHEMA, attribute, scope};
use crate::telemetry::family::{MetricFamily, MetricKind, Sample, SampleValue};
use crate::telemetry::histogram::BOUNDS;

/// Values accumulate from the start of the gateway.
const CUMULATIVE: i32 = AggregationTemporality::Cumulative as i32;

/// The time that the metrics cover.
#[derive(Debug, Clone, Copy)]
pub(super) struct Interval {
    pub(super) from: Timestamp,
    pub(super) to: Timestamp,
}

/// The body of a metrics export request.
pub(super) fn encode(
    families: &[MetricFamily],
    interval: Interval,
    resource: &Resource,
) -> Vec<u8> {
    let non_empty = families.iter().filter(|family| !family.samples.is_empty());
    let scope_metrics = ScopeMetrics {
        scope: Some(scope()),
        metrics: non_empty.map(|family| metric(family, interval)).collect(),
        schema_url: SCHEMA.to_owned(),
    };
    let resource_metrics = ResourceMetrics {
        resource: Some(resource.clone()),
        scope_metrics: vec![scope_metrics],
        schema_url: SCHEMA.to_owned(),
    };
    ExportMetricsServiceRequest { resource_metrics: vec![resource_metrics] }.encode_to_vec()
}

fn metric(family: &MetricFamily, interval: Interval) -> Metric {
    let numbers =
        || family.samples.iter().filter_map(|sample| number_point(sample, interval)).collect();
    let data = match family.kind {
        MetricKind::Gauge => Data::Gauge(Gauge { data_points: numbers() }),
        MetricKind::Counter => Data::Sum(Sum {
            data_points: numbers(),
            aggregation_temporality: CUMULATIVE,
            // It never falls.
            is_monotonic: true,
        }),
        MetricKind::Histogram => Data::Histogram(Histogram {
            data_points: family
                .samples
                .iter()
                .filter_map(|sample| histogram_point(sample, interval))
                .collect(),
            aggregation_temporality: CUMULATIVE,
        }),
    };
    Metric {
        name: family.otlp_name.to_owned(),
        description: family.help.to_owned(),
        unit: family.unit.to_owned(),
        data: Some(data),
        ..Metric::default()
    }
}

fn number_point(sample: &Sample, interval: Interval) -> Option<NumberDataPoint> {
    let SampleValue::Number(number) = &sample.value else { return None };
    Some(NumberDataPoint {
        attributes: attributes(sample),
        start_time_unix_nano: nanos(interval.from),
        time_unix_nano: nanos(interval.to),
        value: Some(Value::AsInt(i64::try_from(*number).unwrap_or(i64::MAX))),
        ..NumberDataPoint::default()
    })
}

fn histogram_point(sample: &Sample, interval: Interval) -> Option<HistogramDataPoint> {
    let SampleValue::Histogram(histogram) = &sample.value else { return None };
    let counts = histogram.counts.iter().copied();
    Some(HistogramDataPoint {
        attributes: attributes(sample),
        start_time_unix_nano: nanos(interval.from),
        time_unix_nano: nanos(interval.to),
        count: histogram.count,
        sum: Some(histogram.sum),
        bucket_counts: counts.chain([histogram.overflow_count()]).collect(),
        explicit_bounds: BOUNDS.to_vec(),
        ..HistogramDataPoint::default()
    })
}

fn nanos(at: Timestamp) -> u64 {
    u64::try_from(at.micros()).unwrap_or_default() * 1_000
}

fn attributes(sample: &Sample) -> Vec<KeyValue> {
    sample.labels.iter().map(|(name, value)| attribute(attribute_name(name), value)).collect()
}

/// The attribute of a label: the name of the semantic conventions if they have one, else a name in
/// our own namespace.
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
