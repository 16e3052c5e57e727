//! The state of a build that the next build reuses: the dropped items and the rendering.

use std::sync::Arc;

use crate::compile::ContextLog;
use crate::compile::accounting::OutcomeResolver;
use crate::compile::dropped_items::{DroppedChunk, DroppedItems, ITEMS_PER_CHUNK};
use crate::compile::item_outcome::ItemOutcome;
use crate::compile::ranked_candidates::RankedCandidates;
use crate::compile::render_cache::RenderCache;
use crate::compile::selected_groups::SelectedGroups;

/// The state of the last build.
#[derive(Debug, Default)]
pub(super) struct PreviousBuild {
    budget: usize,
    selected: SelectedGroups,
    /// Groups that would fit by themselves but whose parent was not selected, sorted.
    blocked_by_parent: Vec<u32>,
    /// The dropped items, in chunks of [`ITEMS_PER_CHUNK`] items of the log.
    chunks: Vec<Arc<DroppedChunk>>,
    /// How many items of the log the chunks cover.
    covered_items: usize,
    /// The rendered items.
    pub(super) rendering: RenderCache,
}

impl PreviousBuild {
    /// The dropped items of this build. Only chunks in which something changed are rebuilt.
    pub(super) fn update_dropped(&mut self, outcomes: &OutcomeResolver<'_>) -> DroppedItems {
        let OutcomeResolver { log, ranked, budget, selected, blocked_by_parent } = *outcomes;
        if self.budget != budget {
            self.chunks.clear();
            self.covered_items = 0;
        }
        let count = log.len().div_ceil(ITEMS_PER_CHUNK);
        let mut is_stale = vec![false; count];
        let mut mark_stale = |index: usize| {
            if let Some(entry) = is_stale.get_mut(index / ITEMS_PER_CHUNK) {
                *entry = true;
            }
        };
        ranked.changed.iter().copied().for_each(&mut mark_stale);
        let blocked_changes = symmetric_difference(&self.blocked_by_parent, blocked_by_parent)
            .map(|group| group as usize);
        for group in selected
            .changed_since(&self.selected, &ranked.groups)
            .into_iter()
            .chain(blocked_changes)
        {
            ranked.groups.members(group).for_each(&mut mark_stale);
        }
        (self.covered_items..log.len()).for_each(&mut mark_stale);
        self.chunks.resize_with(count, Arc::default);
        for (at, piece) in self.chunks.iter_mut().enumerate() {
            if is_stale.get(at) == Some(&true) {
                *piece = Arc::new(chunk_at(log, outcomes, at));
            }
        }
        (self.budget, self.covered_items) = (budget, log.len());
        self.selected.copy_from(selected);
        self.blocked_by_parent.clear();
        self.blocked_by_parent.extend_from_slice(blocked_by_parent);
        DroppedItems::from_chunks(&self.chunks)
    }
}

fn chunk_at(log: &ContextLog, outcomes: &OutcomeResolver<'_>, at: usize) -> DroppedChunk {
    let mut piece = DroppedChunk::default();
    for index in at * ITEMS_PER_CHUNK..log.len().min((at + 1) * ITEMS_PER_CHUNK) {
        if let (ItemOutcome::Dropped(reason), Some(item)) =
            (outcomes.outcome(index), log.item_at(index))
        {
            piece.push(item.shared_id(), item.kind(), reason);
        }
    }
    piece
}

/// The entries of exactly one of two sorted lists.
fn symmetric_difference<'a>(a: &'a [u32], b: &'a [u32]) -> impl Iterator<Item = u32> {
    let only = |a: &'a [u32], b: &'a [u32]| {
        a.iter().copied().filter(move |entry| b.binary_search(entry).is_err())
    };
    only(a, b).chain(only(b, a))
}

/// The groups that would fit by themselves but whose parent was not selected, sorted.
pub(super) fn blocked_by_parent(
    ranked: &RankedCandidates,
    selected: &SelectedGroups,
    left: usize,
) -> Vec<u32> {
    if selected.is_all() {
        return Vec::new();
    }
    let is_selected = |group| selected.contains(&ranked.groups, group);
    let is_blocked = |at: &u32| {
        ranked.groups.get(*at as usize).is_some_and(|found| {
            let is_parent_out = found.parent().is_some_and(|needs| !is_selected(needs));
            found.is_active
                && is_parent_out
                && found.tokens <= left as u64
                && !is_selected(*at as usize)
        })
    };
    let mut blocked_by_parent: Vec<u32> =
        ranked.groups.dependents_up_to(left).filter(is_blocked).collect();
    blocked_by_parent.sort_unstable();
    blocked_by_parent.dedup();
    blocked_by_parent
}
