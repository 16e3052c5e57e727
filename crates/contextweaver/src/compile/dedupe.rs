//! Drops duplicates: of items with equivalent texts, the newest is kept.
//!
//! Texts are normalised and hashed, and texts with equal hashes are compared in full. This is linear,
//! where a comparison of all pairs would be quadratic, and a hash collision never drops an item.

use crate::compile::ContextLog;
use crate::compile::group::{Group, Groups};
use crate::compile::item_outcome::ItemOutcome;
use crate::compile::stats::DropReason;

/// Drops each redundant group: every member has a later duplicate, and no remaining group depends on
/// it. Going from the last group to the first, and then up the parents, also drops groups that become
/// redundant when their last dependent goes.
pub(super) fn drop_redundant_groups(
    outcomes: &mut [ItemOutcome],
    groups: &mut Groups,
    is_duplicate: &[bool],
) {
    for (index, _) in is_duplicate.iter().enumerate().filter(|(_, is_duplicate)| **is_duplicate) {
        if let Some(group) = groups.group_of(index) {
            groups.count_duplicate(group);
        }
    }
    for group in (0..groups.all().len()).rev() {
        drop_if_redundant(outcomes, groups, group, |_| {});
    }
}

/// Drops one group if it is redundant, and then its ancestors as far as they have become redundant.
/// Calls `on_dropped` with the index of each dropped item.
pub(super) fn drop_if_redundant(
    outcomes: &mut [ItemOutcome],
    groups: &mut Groups,
    group: usize,
    mut on_dropped: impl FnMut(usize),
) {
    let mut next = Some(group);
    while let Some(group) = next.filter(|group| groups.is_redundant(*group)) {
        next = groups.get(group).and_then(Group::parent);
        for index in groups.members(group) {
            if let Some(outcome) = outcomes.get_mut(index) {
                *outcome = ItemOutcome::Dropped(DropReason::Dedup);
            }
            on_dropped(index);
        }
        groups.drop_group(group);
    }
}

/// For each item, whether it has a later duplicate that is kept.
pub(super) fn find_duplicates(log: &ContextLog, outcomes: &[ItemOutcome]) -> Vec<bool> {
    let mut is_duplicate = vec![false; outcomes.len()];
    for index in (0..outcomes.len()).rev() {
        let Some(newer) = log.forest().next_duplicate(index) else { continue };
        let newer_stays = outcomes.get(newer) == Some(&ItemOutcome::Kept)
            || is_duplicate.get(newer) == Some(&true);
        if let Some(entry) = is_duplicate.get_mut(index) {
            *entry = newer_stays;
        }
    }
    is_duplicate
}
