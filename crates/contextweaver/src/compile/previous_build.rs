//! What is kept of a build for the next one: what was left out, and what was shown.

use std::sync::Arc;

use crate::compile::ContextLog;
use crate::compile::account::ItemOutcomes;
use crate::compile::dropped_items::{DroppedItems, Piece, SPAN};
use crate::compile::item_outcome::ItemOutcome;
use crate::compile::plan::Plan;
use crate::compile::selected_groups::SelectedGroups;
use crate::compile::shown_sections::ShownSections;

/// The outcome of the last build.
#[derive(Debug, Default)]
pub(super) struct PreviousBuild {
    budget: usize,
    taken: SelectedGroups,
    /// Those that were lost with what they hang on, in order.
    lost: Vec<u32>,
    /// What was left out, [`SPAN`] places each.
    pieces: Vec<Arc<Piece>>,
    /// Places that these cover.
    covered: usize,
    /// What was shown.
    pub(super) shown: ShownSections,
}

impl PreviousBuild {
    /// What is left out now. Only the pieces are made anew in which something has changed.
    pub(super) fn dropped(&mut self, outcomes: &ItemOutcomes<'_>) -> DroppedItems {
        let ItemOutcomes { log, plan, budget, taken, lost } = *outcomes;
        if self.budget != budget {
            self.pieces.clear();
            self.covered = 0;
        }
        let count = log.len().div_ceil(SPAN);
        let mut is_stale = vec![false; count];
        let mut mark = |place: usize| {
            if let Some(entry) = is_stale.get_mut(place / SPAN) {
                *entry = true;
            }
        };
        plan.changed.iter().copied().for_each(&mut mark);
        let lost_or_found = either(&self.lost, lost).map(|group| group as usize);
        for group in taken.moved(&self.taken, &plan.groups).into_iter().chain(lost_or_found) {
            plan.groups.members(group).for_each(&mut mark);
        }
        (self.covered..log.len()).for_each(&mut mark);
        self.pieces.resize_with(count, Arc::default);
        for (at, piece) in self.pieces.iter_mut().enumerate() {
            if is_stale.get(at) == Some(&true) {
                *piece = Arc::new(piece_of(log, outcomes, at));
            }
        }
        (self.budget, self.covered) = (budget, log.len());
        self.taken.follow(taken);
        self.lost.clear();
        self.lost.extend_from_slice(lost);
        DroppedItems::of(&self.pieces)
    }
}

fn piece_of(log: &ContextLog, outcomes: &ItemOutcomes<'_>, at: usize) -> Piece {
    let mut piece = Piece::default();
    for place in at * SPAN..log.len().min((at + 1) * SPAN) {
        if let (ItemOutcome::Dropped(reason), Some(item)) = (outcomes.of(place), log.at(place)) {
            piece.push(item.shared_id(), item.kind(), reason);
        }
    }
    piece
}

/// What is in one of two ordered lists and not in the other.
fn either<'a>(a: &'a [u32], b: &'a [u32]) -> impl Iterator<Item = u32> {
    let only = |a: &'a [u32], b: &'a [u32]| {
        a.iter().copied().filter(move |entry| b.binary_search(entry).is_err())
    };
    only(a, b).chain(only(b, a))
}

/// Groups that would fit by themselves and were lost with what they hang on, in order.
pub(super) fn lost(plan: &Plan, taken: &SelectedGroups, left: usize) -> Vec<u32> {
    if taken.is_all() {
        return Vec::new();
    }
    let is_taken = |group| taken.has(&plan.groups, group);
    let is_lost = |at: &u32| {
        plan.groups.get(*at as usize).is_some_and(|found| {
            let above = found.needs().is_some_and(|needs| !is_taken(needs));
            found.is_live && above && found.tokens <= left as u64 && !is_taken(*at as usize)
        })
    };
    let mut lost: Vec<u32> = plan.groups.hanging(left).filter(is_lost).collect();
    lost.sort_unstable();
    lost.dedup();
    lost
}
