//! Metrics as they are at one moment, whoever reads them: the model that Prometheus and OpenTelemetry
//! share.

use super::histogram::Histogram;

/// How the values of a metric relate over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MetricKind {
    /// It only grows.
    Counter,
    /// It goes up and down.
    Gauge,
    /// It counts durations by buckets.
    Histogram,
}

/// All samples of one metric.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MetricFamily {
    /// The name for Prometheus, with its unit and the ending of its kind.
    pub(crate) name: &'static str,
    /// The name by OpenTelemetry's conventions.
    pub(crate) otlp_name: &'static str,
    /// The unit, as UCUM writes it.
    pub(crate) unit: &'static str,
    pub(crate) help: &'static str,
    pub(crate) kind: MetricKind,
    pub(crate) samples: Vec<Sample>,
}

/// One value of a metric, and what it is of.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sample {
    pub(crate) labels: Vec<(&'static str, String)>,
    pub(crate) value: SampleValue,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SampleValue {
    Number(u64),
    Histogram(Box<Histogram>),
}

impl MetricFamily {
    /// A metric without samples yet.
    pub(crate) fn new(
        kind: MetricKind,
        [name, otlp_name, unit]: [&'static str; 3],
        help: &'static str,
    ) -> Self {
        Self { name, otlp_name, unit, help, kind, samples: Vec::new() }
    }

    /// The same with one more sample.
    pub(crate) fn with(mut self, labels: &[(&'static str, &str)], value: SampleValue) -> Self {
        let labels = labels.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        self.samples.push(Sample { labels, value });
        self
    }

    /// The same with its only sample.
    pub(crate) fn only(self, value: u64) -> Self {
        self.with(&[], SampleValue::Number(value))
    }
}
