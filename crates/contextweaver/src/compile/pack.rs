//! Choosing groups until the budget is used, measured on what is rendered.

use std::collections::BTreeSet;

use weaver_text::token::TokenCounter;

use crate::compile::group::Group;
use crate::compile::{BuildStats, ContextLog, DropReason, Request, render};

/// After this many cuts of one group, half of the rest goes at once: the number of times the whole
/// text is counted stays small.
const SINGLE_CUTS: usize = 16;

/// What was chosen, rendered.
pub(super) struct Packed {
    pub(super) text: String,
    /// Oldest first.
    pub(super) places: Vec<usize>,
}

pub(super) fn pack(
    log: &ContextLog,
    groups: &[(usize, Group)],
    request: &Request<'_>,
    stats: &mut BuildStats,
) -> Packed {
    let budget = request.budgets.of(request.phase);
    let mut chosen = choose(log, groups, request.counter, budget);
    let mut cuts = 0;
    let packed = loop {
        let packed = rendered(log, &chosen);
        if request.counter.within(&packed.text, budget) || chosen.is_empty() {
            break packed;
        }
        // The last group is the least, and no chosen group hangs on it.
        cuts += 1;
        let keep = if cuts > SINGLE_CUTS { chosen.len() / 2 } else { chosen.len() - 1 };
        chosen.truncate(keep);
    };
    let places: BTreeSet<usize> = packed.places.iter().copied().collect();
    for place in groups.iter().flat_map(|(_, group)| &group.members) {
        let Some(item) = log.at(*place) else { continue };
        if places.contains(place) {
            stats.include(item.kind());
        } else {
            stats.drop(item.id(), DropReason::Budget);
        }
    }
    stats.prompt_tokens = request.counter.count(&packed.text).tokens().unwrap_or(0);
    packed
}

/// The groups that fit by their own count, in order of choice. One that does not fit is passed
/// over, and with it what hangs on it.
fn choose<'a>(
    log: &ContextLog,
    groups: &'a [(usize, Group)],
    counter: &dyn TokenCounter,
    budget: usize,
) -> Vec<&'a Group> {
    let mut room = budget;
    let mut taken = BTreeSet::new();
    let mut chosen = Vec::new();
    for (first, group) in groups {
        if room == 0 {
            break;
        }
        if group.needs.is_some_and(|needs| !taken.contains(&needs)) {
            continue;
        }
        let Some(cost) = cost(log, group, counter, room) else { continue };
        room -= cost;
        taken.insert(*first);
        chosen.push(group);
    }
    chosen
}

/// The tokens of a group, if there is room for them.
fn cost(log: &ContextLog, group: &Group, counter: &dyn TokenCounter, room: usize) -> Option<usize> {
    let mut cost = 0usize;
    for item in group.members.iter().filter_map(|place| log.at(*place)) {
        let block = render::block(item);
        if !counter.within(&block, room - cost) {
            return None;
        }
        cost = cost.saturating_add(counter.count(&block).tokens()?);
        if cost > room {
            return None;
        }
    }
    Some(cost)
}

fn rendered(log: &ContextLog, chosen: &[&Group]) -> Packed {
    let mut places: Vec<usize> = chosen.iter().flat_map(|group| group.members.clone()).collect();
    places.sort_unstable();
    let blocks: Vec<String> =
        places.iter().filter_map(|place| log.at(*place)).map(render::block).collect();
    Packed { text: blocks.concat(), places }
}
