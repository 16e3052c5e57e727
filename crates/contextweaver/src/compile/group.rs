//! Items that are taken together.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::compile::{ContextLog, ItemKind};

/// A call with its results, or one item.
#[derive(Debug, Default)]
pub(super) struct Group {
    /// The places of its items, oldest first.
    pub(super) members: Vec<usize>,
    /// The group it hangs on, named by its first place.
    pub(super) needs: Option<usize>,
    score: usize,
}

/// The groups by first place.
type Groups = BTreeMap<usize, Group>;

/// The groups of the kept items, best first, and each behind the one it hangs on: every beginning
/// of the list can stand alone.
pub(super) fn groups(
    log: &ContextLog,
    kept: &BTreeSet<usize>,
    scores: &BTreeMap<usize, usize>,
) -> Vec<(usize, Group)> {
    let mut groups = Groups::new();
    for place in kept {
        let first = first_of(log, *place);
        let group = groups.entry(first).or_default();
        group.members.push(*place);
        group.score = group.score.max(scores.get(place).copied().unwrap_or(0));
        if *place == first {
            group.needs = log.parent_of(first).map(|parent| first_of(log, parent));
        }
    }
    let mut order: Vec<usize> = groups.keys().copied().collect();
    order.sort_by_key(|first| (Reverse(groups.get(first).map_or(0, |g| g.score)), *first));
    let mut listed = Vec::with_capacity(order.len());
    for start in order {
        // What it hangs on comes first; what is listed already has left the map.
        let mut chain = Vec::new();
        let mut next = Some(start);
        while let Some(first) = next {
            let Some(group) = groups.remove(&first) else { break };
            next = group.needs;
            chain.push((first, group));
        }
        listed.extend(chain.into_iter().rev());
    }
    listed
}

/// The place that names the group of an item: that of the call for a result.
fn first_of(log: &ContextLog, place: usize) -> usize {
    match log.at(place).map(|item| item.kind()) {
        Some(ItemKind::ToolResult) => log.parent_of(place).unwrap_or(place),
        _ => place,
    }
}
