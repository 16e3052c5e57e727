//! The amounts of a run's budget that running calls have reserved.

use weaver_types::Millicents;

/// The amounts that running calls have reserved.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_meter_is_counted_by_itself_and_never_below_nothing() {
        let of = |tokens, latency_us, cost| ReservedAmounts {
            tokens,
            latency_us,
            cost: Millicents(cost),
        };
        assert_eq!(of(1, 2, 3).plus(of(10, 20, 30)), of(11, 22, 33));
        assert_eq!(of(11, 22, 33).minus(of(10, 20, 30)), of(1, 2, 3));
        assert_eq!(of(1, 2, 3).minus(of(1, 3, 2)), of(0, 0, 1));
        assert_eq!(of(u64::MAX, 1, 1).plus(of(1, 1, 1)), of(u64::MAX, 2, 2));
    }
}
