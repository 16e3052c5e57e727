//! The totals of a sweep: what it did, or would do.

use std::collections::BTreeMap;

use super::Step;
use crate::prune::Reason;

/// What the steps of a sweep did, or would do, together.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SweepTally {
    /// Events that were looked at.
    pub looked: u64,
    /// Payloads that go, by reason.
    pub pruned: BTreeMap<Reason, u64>,
    /// Bytes of these payloads.
    pub bytes: u64,
    /// Payloads that would go, but what they tell of is still open.
    pub kept: u64,
}

impl SweepTally {
    /// Adds a step.
    pub fn add(&mut self, step: &Step) {
        self.looked = self.looked.saturating_add(step.looked());
        self.bytes = self.bytes.saturating_add(step.bytes());
        self.kept = self.kept.saturating_add(u64::try_from(step.kept().len()).unwrap_or(u64::MAX));
        for reason in step.pruned().values() {
            let count = self.pruned.entry(*reason).or_default();
            *count = count.saturating_add(1);
        }
    }

    /// Payloads that go, for whatever reason.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.pruned.values().copied().fold(0, u64::saturating_add)
    }
}
