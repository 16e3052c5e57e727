//! The totals of a sweep.

use std::collections::BTreeMap;

use super::SweepStep;
use crate::prune::PruneReason;

/// The totals of the steps of a sweep, committed or dry.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SweepTally {
    /// Events that were examined.
    pub examined: u64,
    /// Payloads pruned, by reason.
    pub pruned: BTreeMap<PruneReason, u64>,
    /// Bytes of these payloads.
    pub bytes: u64,
    /// Payloads that are kept for now, because a call or approval is still open.
    pub kept: u64,
}

impl SweepTally {
    /// Adds a step.
    pub fn add(&mut self, step: &SweepStep) {
        self.examined = self.examined.saturating_add(step.examined());
        self.bytes = self.bytes.saturating_add(step.bytes());
        self.kept = self.kept.saturating_add(u64::try_from(step.kept().len()).unwrap_or(u64::MAX));
        for reason in step.pruned().values() {
            let count = self.pruned.entry(*reason).or_default();
            *count = count.saturating_add(1);
        }
    }

    /// Payloads pruned, for any reason.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.pruned.values().copied().fold(0, u64::saturating_add)
    }
}
