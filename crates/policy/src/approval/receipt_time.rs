//! When something was received, and which dates are believed then.

use std::time::Duration;

use weaver_types::Timestamp;

use super::Rejection;

/// The most that the clocks of an approver and of the gateway may differ.
pub const MAX_SKEW: Duration = Duration::from_secs(300);

/// When something was received, and how far clocks may differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceiptTime {
    /// The time.
    pub now: Timestamp,
    /// How far the signer's clock may be off; more than [`MAX_SKEW`] counts as that.
    pub skew: Duration,
}

impl ReceiptTime {
    /// This time, with the skew that a policy without another has: 30 seconds.
    #[must_use]
    pub fn at(now: Timestamp) -> Self {
        Self { now, skew: Duration::from_secs(30) }
    }

    /// Whether a statement about something that was opened and ends may bear this date now.
    pub(super) fn admits(
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
