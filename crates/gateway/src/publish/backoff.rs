//! Pauses between attempts.

use std::time::Duration;

use weaver_types::Random;

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(300);

/// The pause after a number of failures in a row: it doubles up to five minutes, and between half and
/// all of it is waited, so that many gateways do not come at once.
pub(super) fn pause(failures: u32, random: &dyn Random) -> Duration {
    let doubled =
        FIRST.saturating_mul(1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX));
    let whole = doubled.min(LONGEST);
    let mut byte = [u8::MAX];
    // Without chance all of it is waited.
    let _ = random.fill(&mut byte);
    let [byte] = byte;
    whole / 2 + whole / 2 * u32::from(byte) / u32::from(u8::MAX)
}

#[cfg(test)]
mod tests {
    use weaver_types::OsRandom;

    use super::*;

    #[test]
    fn pauses_grow_and_end_at_five_minutes() {
        for failures in 1..100 {
            let whole = FIRST * 2_u32.saturating_pow(failures - 1).min(300);
            let pause = pause(failures, &OsRandom);
            assert!(pause >= whole / 2 && pause <= whole, "{failures}: {pause:?}");
        }
    }
}
