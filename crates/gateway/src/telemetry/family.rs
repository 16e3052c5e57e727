//! Snapshots of metrics, in the data model that Prometheus and OpenTelemetry share.

use super::histogram::Histogram;

/// How the values of a metric develop over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MetricKind {
    /// A total that only grows.
    Counter,
    /// A value that goes up and down.
    Gauge,
    /// Counts of durations by bucket.
    Histogram,
}

/// A metric with all its samples.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MetricFamily {
    /// The Prometheus name, with the unit and the suffix of its kind.
    pub(crate) name: &'static str,
    /// The OpenTelemetry name.
    pub(crate) otlp_name: &'static str,
    /// The unit in UCUM notation.
    pub(crate) unit: &'static str,
    pub(crate) help: &'static str,
    pub(crate) kind: MetricKind,
    pub(crate) samples: Vec<Sample>,
}

/// One value of a metric with its labels.
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
    /// A metric without samples.
    pub(crate) fn new(
        kind: MetricKind,
        [name, otlp_name, unit]: [&'static str; 3],
        help: &'static str,
    ) -> Self {
        Self { name, otlp_name, unit, help, kind, samples: Vec::new() }
    }

    /// Adds a sample.
    pub(crate) fn with(mut self, labels: &[(&'static str, &str)], value: SampleValue) -> Self {
        let labels = labels.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        self.samples.push(Sample { labels, value });
        self
    }

    /// Adds a single sample without labels.
    pub(crate) fn only(self, value: u64) -> Self {
        self.with(&[], SampleValue::Number(value))
    }
}
