//! A duration histogram with fixed buckets.

use std::time::Duration;

/// The upper bounds of the buckets in seconds: those that the OpenTelemetry conventions for MCP
/// advise, and finer ones below, since most stages of a call take less than ten milliseconds.
pub(crate) const BOUNDS: [f64; 17] = [
    0.000_5, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0,
    300.0,
];

/// Counts of durations by bucket.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Histogram {
    /// The durations above the previous bound and up to this one.
    pub(crate) counts: [u64; BOUNDS.len()],
    /// The number of all durations.
    pub(crate) count: u64,
    /// The sum of all durations, in seconds.
    pub(crate) sum: f64,
}

impl Histogram {
    pub(crate) fn record(&mut self, duration: Duration) {
        let seconds = duration.as_secs_f64();
        let bucket = BOUNDS.partition_point(|bound| *bound < seconds);
        if let Some(count) = self.counts.get_mut(bucket) {
            *count += 1;
        }
        self.count += 1;
        self.sum += seconds;
    }

    /// The number of durations above the last bound.
    pub(crate) fn overflow_count(&self) -> u64 {
        self.count.saturating_sub(self.counts.iter().sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_belongs_to_the_bucket_below_it() {
        let mut histogram = Histogram::default();
        for millis in [0, 1, 2, 3, 1_000_000] {
            histogram.record(Duration::from_millis(millis));
        }
        assert_eq!(histogram.counts[..5], [1, 1, 1, 1, 0]);
        assert_eq!((histogram.count, histogram.overflow_count()), (5, 1));
        assert!((histogram.sum - 1_000.006).abs() < 1e-9);
    }
}
