//! Inserts the dependencies of the first hit after it.

use std::collections::{BTreeSet, VecDeque};

use weaver_types::CapabilityId;

use crate::catalog::SelectableItem;
use crate::filter::Filter;
use crate::filter::history::ResolvedHistory;
use crate::route::Hit;

/// The most items that are inserted.
const MAX_DEPENDENCIES: usize = 3;

impl Filter {
    /// Inserts the unmet dependencies of the first hit directly after it, and then theirs, breadth
    /// first. They get the score of the first hit. Items that the filter does not admit are not
    /// inserted.
    pub(super) fn insert_dependencies<'a>(
        &self,
        hits: Vec<Hit>,
        item: impl Fn(&CapabilityId) -> Option<&'a SelectableItem>,
    ) -> Vec<Hit> {
        let Some(first) = hits.first().cloned() else { return hits };
        let history = ResolvedHistory::from_filter(self, &item);
        let (mut dependencies, mut pending) = (Vec::new(), VecDeque::from([first.id.clone()]));
        let mut seen = BTreeSet::from([first.id.clone()]);
        while let Some(needs) = pending.pop_front().as_ref().and_then(&item) {
            for id in self.unmet_needs(needs, &history, &hits, &item) {
                if dependencies.len() < MAX_DEPENDENCIES && seen.insert(id.clone()) {
                    pending.push_back(id.clone());
                    dependencies.push(Hit { id, score: first.score, is_near_duplicate: false });
                }
            }
        }
        let rest = hits.into_iter().skip(1).filter(|hit| !seen.contains(&hit.id));
        std::iter::once(first).chain(dependencies).chain(rest).collect()
    }

    /// The items that an item needs and that were not used yet.
    fn unmet_needs<'a>(
        &self,
        dependent: &SelectableItem,
        history: &ResolvedHistory,
        hits: &[Hit],
        item: impl Fn(&CapabilityId) -> Option<&'a SelectableItem>,
    ) -> Vec<CapabilityId> {
        let admitted = |id: &&CapabilityId| item(id).is_some_and(|item| self.admits(item).is_ok());
        let unused = dependent.depends_on.iter().filter(|id| !history.used.contains(*id));
        let best_provider = |word: &String| {
            let provides_it =
                |hit: &&Hit| item(&hit.id).is_some_and(|item| item.provides.contains(word));
            hits.iter().find(provides_it).map(|hit| &hit.id)
        };
        let required = dependent.requires.iter().filter(|word| !history.provided.contains(*word));
        unused.chain(required.filter_map(best_provider)).filter(admitted).cloned().collect()
    }
}
