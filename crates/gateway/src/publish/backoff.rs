//! Exponential backoff between delivery attempts.

use std::time::Duration;

use weaver_types::Random;

const INITIAL_PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(300);

/// The pause after `failures` failures in a row. It doubles up to five minutes; the wait is a
/// random share of it between one half and the whole, so that many gateways do not retry at the
/// same moment.
pub(super) fn pause(failures: u32, random: &dyn Random) -> Duration {
    let doubled = INITIAL_PAUSE
        .saturating_mul(1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX));
    let full_pause = doubled.min(MAX_PAUSE);
    let mut byte = [u8::MAX];
    // If the random source fails, the byte keeps its maximum and the full pause is waited.
    let _ = random.fill(&mut byte);
    let [byte] = byte;
    full_pause / 2 + full_pause / 2 * u32::from(byte) / u32::from(u8::MAX)
}

#[cfg(test)]
mod tests {
    use weaver_types::OsRandom;

    use super::*;

    #[test]
    fn pauses_grow_and_end_at_five_minutes() {
        for failures in 1..100 {
            let full_pause = INITIAL_PAUSE * 2_u32.saturating_pow(failures - 1).min(300);
            let pause = pause(failures, &OsRandom);
            assert!(pause >= full_pause / 2 && pause <= full_pause, "{failures}: {pause:?}");
        }
    }
}
