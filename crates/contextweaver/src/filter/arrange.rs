//! Hits in their final order.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use weaver_types::CapabilityId;

use crate::catalog::SelectableItem;
use crate::filter::Filter;
use crate::filter::history::CatalogHistory;
use crate::route::Hit;

/// How many hits are ranked before they are arranged.
const DEPTH: usize = 1000;

impl Filter {
    /// How many hits have to be ranked so that `k` are left after [`Filter::arrange`].
    #[must_use]
    pub fn depth(&self, k: usize) -> usize {
        if self.keeps_order() { k } else { k.max(DEPTH) }
    }

    /// The `k` first of ranked hits, all of which the filter admits: weighed by history, pins
    /// before them, what the first needs behind it, and no namespace above its quota. Among equal scores the order stays. `item`
    /// looks an item up, as [`Catalog::get`](crate::catalog::Catalog::get) does.
    #[must_use]
    pub fn arrange<'a>(
        &self,
        ranked: Vec<Hit>,
        item: impl Fn(&CapabilityId) -> Option<&'a SelectableItem>,
        k: usize,
    ) -> Vec<Hit> {
        let item = &item;
        let mut hits = ranked;
        if !self.history.is_empty() {
            let past = CatalogHistory::of(self, item);
            for hit in &mut hits {
                if let Some(found) = item(&hit.id) {
                    hit.score = past.weigh(found, hit.score);
                }
            }
            hits.sort_by_key(|hit| (hit.copy, Reverse(hit.score)));
        }
        let hits = if self.chained { self.chain(hits, item) } else { hits };
        let hits = self.pinned(hits, item);
        let mut hits = self.within_quota(hits, item);
        hits.truncate(k);
        hits
    }

    /// Pins first. One that was not found has no score; one that the filter leaves out is none.
    fn pinned<'a>(
        &self,
        hits: Vec<Hit>,
        item: impl Fn(&CapabilityId) -> Option<&'a SelectableItem>,
    ) -> Vec<Hit> {
        if self.pins.is_empty() {
            return hits;
        }
        let mut known = BTreeSet::new();
        let admitted = |id: &&CapabilityId| item(id).is_some_and(|item| self.admits(item).is_ok());
        let pins = self.pins.iter().filter(admitted).filter(|id| known.insert((*id).clone()));
        let mut out: Vec<Hit> = pins
            .map(|id| {
                let found = hits.iter().find(|hit| hit.id == *id).cloned();
                found.unwrap_or_else(|| Hit { id: id.clone(), score: 0, copy: false })
            })
            .collect();
        out.extend(hits.into_iter().filter(|hit| !known.contains(&hit.id)));
        out
    }

    fn within_quota<'a>(
        &self,
        mut hits: Vec<Hit>,
        item: impl Fn(&CapabilityId) -> Option<&'a SelectableItem>,
    ) -> Vec<Hit> {
        let Some(quota) = self.quota else { return hits };
        let mut taken: BTreeMap<&str, usize> = BTreeMap::new();
        hits.retain(|hit| {
            let Some(item) = item(&hit.id) else { return true };
            let count = taken.entry(item.namespace.as_str()).or_default();
            *count += 1;
            *count <= quota.get() || self.pins.contains(&hit.id)
        });
        hits
    }
}
