//! Retries: the backoff delay.
//!
//! Truncated exponential backoff with half of the pause random, *equal jitter* in Brooker,
//! *Exponential Backoff and Jitter*, 2015: retries of callers that failed together spread out, and
//! each still waits long enough for a server to recover.

use std::time::Duration;

use super::CallExecutor;

/// The pause before the first retry; each further one is twice as long.
const INITIAL_BACKOFF: Duration = Duration::from_millis(50);
/// The longest pause.
const MAX_BACKOFF: Duration = Duration::from_secs(5);

impl CallExecutor {
    /// The pause after this many retries: one half fixed, the other random. Without randomness it
    /// is the full pause.
    pub(super) fn backoff_delay(&self, retries: u8) -> Duration {
        let full_pause =
            INITIAL_BACKOFF.saturating_mul(2_u32.saturating_pow(retries.into())).min(MAX_BACKOFF);
        let mut random_bytes = [0_u8; 4];
        if self.context.random.fill(&mut random_bytes).is_err() {
            return full_pause;
        }
        let share = f64::from(u32::from_le_bytes(random_bytes)) / f64::from(u32::MAX);
        full_pause.div_f64(2.0) + full_pause.div_f64(2.0).mul_f64(share)
    }
}
