//! What the calls under way have set aside of a run's budget.

use weaver_types::Millicents;

/// What calls under way have set aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ReservedAmounts {
    pub(crate) tokens: u64,
    pub(crate) latency_us: u64,
    pub(crate) cost: Millicents,
}

impl ReservedAmounts {
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(other.tokens),
            latency_us: self.latency_us.saturating_add(other.latency_us),
            cost: Millicents(self.cost.0.saturating_add(other.cost.0)),
        }
    }

    pub(crate) fn minus(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_sub(other.tokens),
            latency_us: self.latency_us.saturating_sub(other.latency_us),
            cost: Millicents(self.cost.0.saturating_sub(other.cost.0)),
        }
    }
}
