//! Of items that say the same, the newest is kept.

use crate::compile::ContextLog;
use crate::compile::candidate::Fate;
use crate::compile::group::Groups;
use crate::compile::stats::DropReason;

/// Leaves out each group of which every member has a later one that says the same, and on which
/// nothing hangs that stays.
pub(super) fn dedupe(log: &ContextLog, fates: &mut [Fate], groups: &mut Groups) {
    let is_repeated = repeated(log, fates);
    for group in (0..groups.all().len()).rev() {
        let Some(found) = groups.get(group) else { continue };
        let repeated = |place| is_repeated.get(place) == Some(&true);
        if found.is_live && found.children == 0 && groups.members(group).all(repeated) {
            for place in groups.members(group) {
                if let Some(fate) = fates.get_mut(place) {
                    *fate = Fate::Dropped(DropReason::Dedup);
                }
            }
            groups.end(group);
        }
    }
}

/// Whether a later item that stays says the same, by place.
fn repeated(log: &ContextLog, fates: &[Fate]) -> Vec<bool> {
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
