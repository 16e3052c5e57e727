//! The time at which a signed statement was received, and which dates are accepted at that time.

use std::time::Duration;

use weaver_types::Timestamp;

use super::Rejection;

/// The maximum difference between the clocks of an approver and of the gateway.
pub const MAX_SKEW: Duration = Duration::from_secs(300);

/// When a statement was received, and how far clocks may differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceiptTime {
    /// The time.
    pub now: Timestamp,
    /// How far the signer's clock may be off; capped at [`MAX_SKEW`].
    pub skew: Duration,
}

impl ReceiptTime {
    /// This time, with a policy's default skew of 30 seconds.
    #[must_use]
    pub fn at(now: Timestamp) -> Self {
        Self { now, skew: Duration::from_secs(30) }
    }

    /// Checks the date of a statement about something that is valid from `opened_at` until `end`.
    /// The skew is granted on the signer's date only; `end` is always compared with the local
    /// clock.
    pub(super) fn check_date(
        self,
        at: Timestamp,
        opened_at: Timestamp,
        end: Timestamp,
    ) -> Result<(), Rejection> {
        let skew = self.skew.min(MAX_SKEW);
        if at.after(skew) < opened_at {
            return Err(Rejection::TooEarly);
        }
        if self.now >= end || at > self.now.after(skew) {
            return Err(Rejection::TooLate);
        }
        Ok(())
    }
}
