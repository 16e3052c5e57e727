//! Puts ranked hits into their final order.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use weaver_types::CapabilityId;

use crate::catalog::SelectableItem;
use crate::filter::Filter;
use crate::filter::history::ResolvedHistory;
use crate::route::Hit;

/// How many hits are ranked at least if they are arranged afterwards, because arranging moves hits up.
const MIN_RANKING_DEPTH: usize = 1000;

impl Filter {
    /// How many hits to rank in order to get `k` from [`Filter::arrange`].
    #[must_use]
    pub fn ranking_depth(&self, k: usize) -> usize {
        if self.keeps_order() { k } else { k.max(MIN_RANKING_DEPTH) }
    }

    /// The first `k` hits after these steps: scores are adjusted by history, the dependencies of the
    /// first hit are inserted, pins are moved to the front, and the quota of each namespace is
    /// applied. Equal scores keep their order. The filter must admit all ranked hits. `item` looks up
    /// an item, as [`Catalog::get`](crate::catalog::Catalog::get) does.
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
            let history = ResolvedHistory::from_filter(self, item);
            for hit in &mut hits {
                if let Some(found) = item(&hit.id) {
                    hit.score = history.adjust_score(found, hit.score);
                }
            }
            hits.sort_by_key(|hit| (hit.is_near_duplicate, Reverse(hit.score)));
        }
        let hits = if self.chained { self.insert_dependencies(hits, item) } else { hits };
        let hits = self.pins_first(hits, item);
        let mut hits = self.within_quota(hits, item);
        hits.truncate(k);
        hits
    }

    /// Moves pins to the front. A pin that was not ranked gets score 0; one that the filter does not
    /// admit is ignored.
    fn pins_first<'a>(
        &self,
        hits: Vec<Hit>,
        item: impl Fn(&CapabilityId) -> Option<&'a SelectableItem>,
    ) -> Vec<Hit> {
        if self.pins.is_empty() {
            return hits;
        }
        let mut pinned = BTreeSet::new();
        let admitted = |id: &&CapabilityId| item(id).is_some_and(|item| self.admits(item).is_ok());
        let pins = self.pins.iter().filter(admitted).filter(|id| pinned.insert((*id).clone()));
        let mut out: Vec<Hit> = pins
            .map(|id| {
                let ranked = hits.iter().find(|hit| hit.id == *id).cloned();
                ranked.unwrap_or_else(|| Hit { id: id.clone(), score: 0, is_near_duplicate: false })
            })
            .collect();
        out.extend(hits.into_iter().filter(|hit| !pinned.contains(&hit.id)));
        out
    }

    fn within_quota<'a>(
        &self,
        mut hits: Vec<Hit>,
        item: impl Fn(&CapabilityId) -> Option<&'a SelectableItem>,
    ) -> Vec<Hit> {
        let Some(quota) = self.quota else { return hits };
        let mut count_by_namespace: BTreeMap<&str, usize> = BTreeMap::new();
        hits.retain(|hit| {
            let Some(item) = item(&hit.id) else { return true };
            let count = count_by_namespace.entry(item.namespace.as_str()).or_default();
            *count += 1;
            *count <= quota.get() || self.pins.contains(&hit.id)
        });
        hits
    }
}
