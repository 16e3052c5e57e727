//! Of items that say the same, the newest is kept.
//!
//! Texts are put into one form and hashed, and equal hashes are compared in full: linear, where a
//! comparison of all pairs would be quadratic, and nothing is dropped for a collision.

use crate::compile::ContextLog;
use crate::compile::group::{Group, Groups};
use crate::compile::item_outcome::ItemOutcome;
use crate::compile::stats::DropReason;

/// Leaves out each group of which every member has a later one that says the same, and on which
/// nothing hangs that stays.
pub(super) fn dedupe(outcomes: &mut [ItemOutcome], groups: &mut Groups, is_repeated: &[bool]) {
    for (place, _) in is_repeated.iter().enumerate().filter(|(_, is_repeated)| **is_repeated) {
        if let Some(group) = groups.at(place) {
            groups.repeat(group);
        }
    }
    for group in (0..groups.all().len()).rev() {
        end(outcomes, groups, group, |_| {});
    }
}

/// Leaves out one group, if it is such a one, and then what it hung on, if that has become one.
/// Says which places that concerns.
pub(super) fn end(
    outcomes: &mut [ItemOutcome],
    groups: &mut Groups,
    group: usize,
    mut say: impl FnMut(usize),
) {
    let mut next = Some(group);
    while let Some(group) = next.filter(|group| groups.is_repeated(*group)) {
        next = groups.get(group).and_then(Group::needs);
        for place in groups.members(group) {
            if let Some(outcome) = outcomes.get_mut(place) {
                *outcome = ItemOutcome::Dropped(DropReason::Dedup);
            }
            say(place);
        }
        groups.end(group);
    }
}

/// Whether a later item that stays says the same, by place.
pub(super) fn repeated(log: &ContextLog, outcomes: &[ItemOutcome]) -> Vec<bool> {
    let mut found = vec![false; outcomes.len()];
    for place in (0..outcomes.len()).rev() {
        let Some(newer) = log.links().newer(place) else { continue };
        let stays =
            outcomes.get(newer) == Some(&ItemOutcome::Kept) || found.get(newer) == Some(&true);
        if let Some(entry) = found.get_mut(place) {
            *entry = stays;
        }
    }
    found
}
