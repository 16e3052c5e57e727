//! The items used before, and how they change scores.

use std::collections::BTreeSet;

use weaver_types::CapabilityId;

use crate::catalog::SelectableItem;
use crate::filter::Filter;

// The factors by which a score is multiplied in each case, in thousandths.
const REPEATED_FACTOR: u64 = 500;
const REQUIREMENT_MET_FACTOR: u64 = 1200;
const DEPENDENCY_UNMET_FACTOR: u64 = 800;

/// The items used in this run, oldest first. History adjusts scores and never removes a hit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct History {
    /// The ids, repetitions included.
    pub used: Vec<CapabilityId>,
}

impl History {
    /// Whether no use is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.used.is_empty()
    }
}

/// The history with what its items provide, looked up in a catalog once for many hits.
pub(super) struct ResolvedHistory {
    pub(super) used: BTreeSet<CapabilityId>,
    pub(super) provided: BTreeSet<String>,
}

impl ResolvedHistory {
    /// Resolves the history of a filter. What hidden items provide is ignored: hidden items must not
    /// influence anything.
    pub(super) fn from_filter<'a>(
        filter: &Filter,
        item: impl Fn(&CapabilityId) -> Option<&'a SelectableItem>,
    ) -> Self {
        let used: BTreeSet<CapabilityId> = filter.history.used.iter().cloned().collect();
        let items = used.iter().filter_map(item);
        let visible = items.filter(|item| filter.visibility.sees(item));
        let provided = visible.flat_map(|item| item.provides.iter().cloned()).collect();
        Self { used, provided }
    }

    /// The score of an item, adjusted by the history.
    pub(super) fn adjust_score(&self, item: &SelectableItem, score: u64) -> u64 {
        let mut weighed = u128::from(score);
        let mut times = |thousandths: u64| weighed = weighed * u128::from(thousandths) / 1000;
        if self.used.contains(&item.id) {
            times(REPEATED_FACTOR);
        }
        if item.requires.iter().any(|need| self.provided.contains(need)) {
            times(REQUIREMENT_MET_FACTOR);
        }
        if item.depends_on.iter().any(|id| !self.used.contains(id)) {
            times(DEPENDENCY_UNMET_FACTOR);
        }
        u64::try_from(weighed).unwrap_or(u64::MAX)
    }
}
