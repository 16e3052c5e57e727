//! Retries: the backoff delay, and whether the decision still holds.
//!
//! Truncated exponential backoff with half of the pause random, *equal jitter* in Brooker,
//! *Exponential Backoff and Jitter*, 2015: retries of callers that failed together spread out, and
//! each still waits long enough for a server to recover.

use std::time::Duration;

use weaver_types::ReasonCode;

use super::authorized_invocation::AuthorizedInvocation;
use crate::kernel::Kernel;

/// The pause before the first retry; each further one is twice as long.
const INITIAL_BACKOFF: Duration = Duration::from_millis(50);
/// The longest pause.
const MAX_BACKOFF: Duration = Duration::from_secs(5);

impl Kernel {
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

    /// Checks that a retry is still authorised: nothing was revoked, the token has not expired, and
    /// policy, contracts and capability are those of the decision.
    ///
    /// # Errors
    /// Why not.
    pub(super) fn check_still_authorized(
        &self,
        invocation: &AuthorizedInvocation<'_>,
    ) -> Result<(), ReasonCode> {
        if self.is_revoked(invocation.claims) {
            return Err(ReasonCode::TokenRevoked);
        }
        if self.context.clock_reading().expiry_time >= invocation.claims.expires_at {
            return Err(ReasonCode::TokenExpired);
        }
        let policy = self.policy();
        let (now, then) = (policy.basis(), invocation.decision.basis());
        if (now.policy, now.contracts) != (then.policy, then.contracts) {
            return Err(ReasonCode::PolicyChanged);
        }
        let entry =
            self.context.registry.get(&invocation.claims.capability).ok_or(ReasonCode::NotFound)?;
        let capability = entry.effective(&policy).map_err(|_| ReasonCode::NotFound)?;
        if capability.fingerprint() != invocation.claims.fingerprint {
            return Err(ReasonCode::ContractChanged);
        }
        Ok(())
    }
}
