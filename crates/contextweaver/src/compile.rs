//! Compiling what has happened into a context that fits a budget.

mod group;
mod item;
mod log;
mod pack;
mod phase;
mod rank;
mod render;
mod stats;

use std::collections::BTreeSet;

use weaver_text::token::TokenCounter;
use weaver_types::{Confidentiality, Label};

pub use item::{ContextItem, ItemKind};
pub use log::{ContextLog, MAX_BYTES, MAX_ITEM_BYTES, MAX_LOG_ITEMS};
pub use phase::{Budgets, Phase};
pub use stats::{BuildStats, DropReason, Dropped};

/// What to compile for.
#[derive(Clone)]
pub struct Request<'a> {
    /// The step of the loop that the context is for: it decides kinds and budget.
    pub phase: Phase,
    /// What the model is about to do, to prefer items that speak of it. May be empty.
    pub query: &'a str,
    /// How tokens are counted.
    pub counter: &'a dyn TokenCounter,
    /// Tokens by phase.
    pub budgets: Budgets,
    /// Items as confidential as this, or more, are left out.
    pub floor: Confidentiality,
}

impl<'a> Request<'a> {
    /// A request with the usual budgets, without a query; confidential items are left out.
    #[must_use]
    pub fn new(phase: Phase, counter: &'a dyn TokenCounter) -> Self {
        let budgets = Budgets::default();
        Self { phase, query: "", counter, budgets, floor: Confidentiality::Confidential }
    }
}

/// A compiled context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextPack {
    /// What the model gets, oldest item first. Never more tokens than the budget.
    pub text: String,
    /// The ids of the items in it, oldest first.
    pub included: Vec<String>,
    /// The labels of the items in it, joined.
    pub label: Label,
    /// What was taken and what was left out, and why.
    pub stats: BuildStats,
}

/// Compiles a context.
///
/// Items of the kinds of the phase are taken together with what they hang on; those at or above
/// the floor, and what hangs on them, are left out; the rest is ranked by age, by the words it
/// shares with the query, and by kind. A call and its results are taken together or not at all,
/// and nothing without what it hangs on. The text is counted as rendered, and cut by whole groups
/// until it is within the budget, if need be to nothing.
#[must_use]
pub fn build(log: &ContextLog, request: &Request<'_>) -> ContextPack {
    let (candidates, closures) = candidates(log, request.phase);
    let mut stats = BuildStats::new(candidates.len(), closures, request.counter.name());
    let kept = admitted(log, &candidates, request.floor, &mut stats);
    let groups = group::groups(log, &kept, &rank::scores(log, &kept, request.query));
    let packed = pack::pack(log, &groups, request, &mut stats);
    let chosen: Vec<&ContextItem> = packed.places.iter().filter_map(|i| log.at(*i)).collect();
    let label = chosen.iter().fold(Label::clean(), |label, item| label.join(item.label()));
    let included = chosen.iter().map(|item| item.id().to_owned()).collect();
    ContextPack { text: packed.text, included, label, stats }
}

/// The places of the items of the phase and of all they hang on, and how many the latter added.
fn candidates(log: &ContextLog, phase: Phase) -> (BTreeSet<usize>, usize) {
    let of_phase = |(_, item): &(usize, &ContextItem)| phase.takes(item.kind());
    let mut found: BTreeSet<usize> =
        log.iter().enumerate().filter(of_phase).map(|(i, _)| i).collect();
    let before = found.len();
    for start in found.clone() {
        let mut next = log.parent_of(start);
        while let Some(parent) = next {
            next = if found.insert(parent) { log.parent_of(parent) } else { None };
        }
    }
    let closures = found.len() - before;
    (found, closures)
}

/// The candidates below the floor whose parents are there too. A parent always stands earlier in
/// the log, so one pass is enough.
fn admitted(
    log: &ContextLog,
    candidates: &BTreeSet<usize>,
    floor: Confidentiality,
    stats: &mut BuildStats,
) -> BTreeSet<usize> {
    let mut kept = BTreeSet::new();
    for place in candidates {
        let Some(item) = log.at(*place) else { continue };
        if item.label().confidentiality >= floor {
            stats.drop(item.id(), DropReason::Sensitivity);
        } else if log.parent_of(*place).is_some_and(|parent| !kept.contains(&parent)) {
            stats.drop(item.id(), DropReason::ParentDropped);
        } else {
            kept.insert(*place);
        }
    }
    kept
}
