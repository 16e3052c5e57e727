//! What has been used before, and what that makes of a score.

use std::collections::BTreeSet;

use weaver_types::CapabilityId;

use crate::catalog::SelectableItem;
use crate::filter::Filter;

/// What a score is worth after each, in thousandths.
const REPEATED: u64 = 500;
const REQUIREMENT_MET: u64 = 1200;
const DEPENDENCY_UNMET: u64 = 800;

/// What has been used in this run, oldest first. It weighs what is ranked and removes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct History {
    /// The ids, with repetitions.
    pub used: Vec<CapabilityId>,
}

impl History {
    /// Nothing has been used, or nobody keeps count.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.used.is_empty()
    }
}

/// The history looked up in a catalog once, for many hits.
pub(super) struct CatalogHistory {
    pub(super) used: BTreeSet<CapabilityId>,
    pub(super) provided: BTreeSet<String>,
}

impl CatalogHistory {
    /// What hidden items provide does not count: they have no influence at all.
    pub(super) fn of<'a>(
        filter: &Filter,
        item: impl Fn(&CapabilityId) -> Option<&'a SelectableItem>,
    ) -> Self {
        let used: BTreeSet<CapabilityId> = filter.history.used.iter().cloned().collect();
        let items = used.iter().filter_map(item);
        let seen = items.filter(|item| filter.visibility.sees(item));
        let provided = seen.flat_map(|item| item.provides.iter().cloned()).collect();
        Self { used, provided }
    }

    /// A score as it is after what has happened.
    pub(super) fn weigh(&self, item: &SelectableItem, score: u64) -> u64 {
        let mut weighed = u128::from(score);
        let mut times = |thousandths: u64| weighed = weighed * u128::from(thousandths) / 1000;
        if self.used.contains(&item.id) {
            times(REPEATED);
        }
        if item.requires.iter().any(|need| self.provided.contains(need)) {
            times(REQUIREMENT_MET);
        }
        if item.depends_on.iter().any(|id| !self.used.contains(id)) {
            times(DEPENDENCY_UNMET);
        }
        u64::try_from(weighed).unwrap_or(u64::MAX)
    }
}
