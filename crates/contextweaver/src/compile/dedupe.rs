//! Of items that say the same, the newest is kept.

use crate::compile::ContextLog;
use crate::compile::candidate::Fate;
use crate::compile::group::{Group, Groups};
use crate::compile::stats::DropReason;

/// Leaves out each group of which every member has a later one that says the same, and on which
/// nothing hangs that stays.
pub(super) fn dedupe(fates: &mut [Fate], groups: &mut Groups, is_repeated: &[bool]) {
    for (place, _) in is_repeated.iter().enumerate().filter(|(_, is_repeated)| **is_repeated) {
        if let Some(group) = groups.at(place) {
            groups.repeat(group);
        }
    }
    for group in (0..groups.all().len()).rev() {
        end(fates, groups, group, |_| {});
    }
}

/// Leaves out one group, if it is such a one, and then what it hung on, if that has become one.
/// Says which places that concerns.
pub(super) fn end(
    fates: &mut [Fate],
    groups: &mut Groups,
    group: usize,
    mut say: impl FnMut(usize),
) {
    let mut next = Some(group);
    while let Some(group) = next.filter(|group| groups.is_repeated(*group)) {
        next = groups.get(group).and_then(Group::needs);
        for place in groups.members(group) {
            if let Some(fate) = fates.get_mut(place) {
                *fate = Fate::Dropped(DropReason::Dedup);
            }
            say(place);
        }
        groups.end(group);
    }
}

/// Whether a later item that stays says the same, by place.
pub(super) fn repeated(log: &ContextLog, fates: &[Fate]) -> Vec<bool> {
    let mut found = vec![false; fates.len()];
    for place in (0..fates.len()).rev() {
        let Some(newer) = log.links().newer(place) else { continue };
        let stays = fates.get(newer) == Some(&Fate::Kept) || found.get(newer) == Some(&true);
        if let Some(entry) = found.get_mut(place) {
            *entry = stays;
        }
    }
    found
}
