//! The pause before a server is connected again, longer after each failure.

use std::time::Duration;

use tokio::time::Instant;
use weaver_types::Random;

/// How long no connection is attempted after 1, 2, 3, 4, and 5 or more consecutive failures.
const RETRY_PAUSES: [Duration; 5] = [
    Duration::ZERO,
    Duration::from_millis(100),
    Duration::from_millis(500),
    Duration::from_secs(2),
    Duration::from_secs(10),
];

/// The consecutive failures of an upstream, and the pause that follows from them.
#[derive(Default)]
pub(super) struct ReconnectBackoff {
    failures: usize,
    not_before: Option<Instant>,
    last_failure_code: &'static str,
}

impl ReconnectBackoff {
    /// How long until the next attempt; `None` if one may be made now.
    pub(super) fn remaining_pause(&self) -> Option<Duration> {
        let now = Instant::now();
        self.not_before.filter(|at| *at > now).map(|at| at.duration_since(now))
    }

    pub(super) fn last_failure_code(&self) -> &'static str {
        self.last_failure_code
    }

    pub(super) fn record_failure(&mut self, code: &'static str, random: &dyn Random) {
        self.failures = self.failures.saturating_add(1);
        let pause = RETRY_PAUSES.get(self.failures.saturating_sub(1)).or(RETRY_PAUSES.last());
        let pause = with_jitter(pause.copied().unwrap_or_default(), random);
        self.not_before = Instant::now().checked_add(pause);
        self.last_failure_code = code;
    }

    /// The server has answered, so earlier failures no longer count.
    pub(super) fn reset(&mut self) {
        (self.failures, self.not_before) = (0, None);
    }
}

/// Makes half of a pause random, so that clients that lost the same server do not all reconnect at once. Without
/// randomness the pause is unchanged.
fn with_jitter(pause: Duration, random: &dyn Random) -> Duration {
    let mut random_bytes = [0_u8; 4];
    if random.fill(&mut random_bytes).is_err() {
        return pause;
    }
    let fraction = f64::from(u32::from_le_bytes(random_bytes)) / f64::from(u32::MAX);
    pause.div_f64(2.0) + pause.div_f64(2.0).mul_f64(fraction)
}

#[cfg(test)]
mod tests {
    use weaver_types::SeededRandom;

    use super::*;

    #[test]
    fn pauses_are_bounded_and_spread_by_chance() {
        let pauses = |seed| -> Vec<Duration> {
            let random = SeededRandom::new(seed);
            RETRY_PAUSES.iter().map(|pause| with_jitter(*pause, &random)).collect()
        };
        for seed in 1..50 {
            for (pause, whole) in pauses(seed).iter().zip(RETRY_PAUSES) {
                assert!(*pause >= whole / 2 && *pause <= whole, "{pause:?} {whole:?}");
            }
        }
        assert_ne!(pauses(1), pauses(2));
        assert_eq!(pauses(1), pauses(1));
    }
}
