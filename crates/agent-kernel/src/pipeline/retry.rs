//! Retries: the backoff delay, and whether the decision still holds.
//!
//! Truncated exponential backoff with half of the pause by chance, *equal jitter* in Brooker,
//! *Exponential Backoff and Jitter*, 2015: retries of callers that failed together spread out, and each
//! still waits long enough for a server to recover.

use std::time::Duration;

use weaver_types::ReasonCode;

use super::authorized_invocation::AuthorizedInvocation;
use crate::kernel::Kernel;

/// The pause before the first retry; each further one is twice as long.
const INITIAL_BACKOFF: Duration = Duration::from_millis(50);
/// The longest pause.
const MAX_BACKOFF: Duration = Duration::from_secs(5);

impl Kernel {
    /// The pause after this many retries: half of it certain, half of it by chance, so that callers
    /// who failed together do not come again together. Without randomness it is the whole.
    pub(super) fn backoff_delay(&self, retries: u8) -> Duration {
        let whole =
            INITIAL_BACKOFF.saturating_mul(2_u32.saturating_pow(retries.into())).min(MAX_BACKOFF);
        let mut chance = [0_u8; 4];
        if self.random.fill(&mut chance).is_err() {
            return whole;
        }
        let share = f64::from(u32::from_le_bytes(chance)) / f64::from(u32::MAX);
        whole.div_f64(2.0) + whole.div_f64(2.0).mul_f64(share)
    }

    /// Whether another attempt may be made: nothing was revoked, the token is in its time, policy,
    /// contracts and capability are those of the decision.
    ///
    /// # Errors
    /// Why not.
    pub(super) fn check_still_authorized(
        &self,
        ready: &AuthorizedInvocation<'_>,
    ) -> Result<(), ReasonCode> {
        if self.is_revoked(ready.claims) {
            return Err(ReasonCode::TokenRevoked);
        }
        if self.moment().latest >= ready.claims.expires_at {
            return Err(ReasonCode::TokenExpired);
        }
        let policy = self.policy();
        let (now, then) = (policy.basis(), ready.decision.basis());
        if (now.policy, now.contracts) != (then.policy, then.contracts) {
            return Err(ReasonCode::PolicyChanged);
        }
        let entry = self.registry.get(&ready.claims.capability).ok_or(ReasonCode::NotFound)?;
        let capability = entry.effective(&policy).map_err(|_| ReasonCode::NotFound)?;
        if capability.fingerprint() != ready.claims.fingerprint {
            return Err(ReasonCode::ContractChanged);
        }
        Ok(())
    }
}
