//! Times of many calls.

use std::time::Duration;

use serde_json::{Value, json};

/// How long the middle call took, and the one that only a hundredth exceeds.
pub(crate) struct Spread {
    pub(crate) median: Duration,
    p99: Duration,
}

impl Spread {
    pub(crate) fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let at = |part: usize| times.get(times.len() * part / 100).copied().unwrap_or_default();
        Self { median: at(50), p99: at(99) }
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({ "median_us": micros(self.median), "p99_us": micros(self.p99) })
    }
}

pub(crate) fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
