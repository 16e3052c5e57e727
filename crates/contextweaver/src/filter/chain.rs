//! Puts the dependencies of an item behind it.

use std::collections::{BTreeSet, VecDeque};

use weaver_types::CapabilityId;

use crate::catalog::SelectableItem;
use crate::filter::Filter;
use crate::filter::history::CatalogHistory;
use crate::route::Hit;

/// Most items that are put behind one.
const MAX_NEEDED: usize = 3;

impl Filter {
    /// The hits with what the first of them needs right behind it, and what that needs, nearest
    /// first. It has the score of the first. What is left out by the filter is not put in.
    pub(super) fn chain<'a>(
        &self,
        hits: Vec<Hit>,
        item: impl Fn(&CapabilityId) -> Option<&'a SelectableItem>,
    ) -> Vec<Hit> {
        let Some(first) = hits.first().cloned() else { return hits };
        let past = CatalogHistory::of(self, &item);
        let (mut needed, mut open) = (Vec::new(), VecDeque::from([first.id.clone()]));
        let mut met = BTreeSet::from([first.id.clone()]);
        while let Some(needs) = open.pop_front().as_ref().and_then(&item) {
            for id in self.needs(needs, &past, &hits, &item) {
                if needed.len() < MAX_NEEDED && met.insert(id.clone()) {
                    open.push_back(id.clone());
                    needed.push(Hit { id, score: first.score, copy: false });
                }
            }
        }
        let rest = hits.into_iter().skip(1).filter(|hit| !met.contains(&hit.id));
        std::iter::once(first).chain(needed).chain(rest).collect()
    }

    /// The items that one needs and that were not used yet.
    fn needs<'a>(
        &self,
        needs: &SelectableItem,
        past: &CatalogHistory,
        hits: &[Hit],
        item: impl Fn(&CapabilityId) -> Option<&'a SelectableItem>,
    ) -> Vec<CapabilityId> {
        let admitted = |id: &&CapabilityId| item(id).is_some_and(|item| self.admits(item).is_ok());
        let unused = needs.depends_on.iter().filter(|id| !past.used.contains(*id));
        let provider = |word: &String| {
            let gives = |hit: &&Hit| item(&hit.id).is_some_and(|item| item.provides.contains(word));
            hits.iter().find(gives).map(|hit| &hit.id)
        };
        let required = needs.requires.iter().filter(|word| !past.provided.contains(*word));
        unused.chain(required.filter_map(provider)).filter(admitted).cloned().collect()
    }
}
