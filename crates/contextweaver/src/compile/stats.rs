//! What was taken into a context and what was left out.

use std::collections::BTreeMap;

use crate::compile::ItemKind;

/// Why an item was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropReason {
    /// It is as confidential as the floor, or more.
    Sensitivity,
    /// The item it hangs on was left out.
    ParentDropped,
    /// There was no room for its group.
    Budget,
}

impl DropReason {
    /// The word used in statistics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sensitivity => "sensitivity",
            Self::ParentDropped => "parent_dropped",
            Self::Budget => "budget",
        }
    }
}

/// One item that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// Its id.
    pub id: String,
    /// Why.
    pub reason: DropReason,
}

/// The account of one build. `included + dropped == total_candidates`, always.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildStats {
    /// Items of the phase with all they hang on, before anything was left out.
    pub total_candidates: usize,
    /// How many of them are there only because another hangs on them.
    pub dependency_closures: usize,
    /// Items in the context.
    pub included: usize,
    /// Items left out.
    pub dropped: usize,
    /// Items left out, by reason.
    pub dropped_reasons: BTreeMap<DropReason, usize>,
    /// Items left out, each with its reason.
    pub dropped_items: Vec<Dropped>,
    /// Items in the context, by kind.
    pub included_kinds: BTreeMap<ItemKind, usize>,
    /// Tokens of the rendered text.
    pub prompt_tokens: usize,
    /// The name of the token counter.
    pub counter: String,
}

impl BuildStats {
    pub(super) fn new(total: usize, closures: usize, counter: &str) -> Self {
        Self {
            total_candidates: total,
            dependency_closures: closures,
            included: 0,
            dropped: 0,
            dropped_reasons: BTreeMap::new(),
            dropped_items: Vec::new(),
            included_kinds: BTreeMap::new(),
            prompt_tokens: 0,
            counter: counter.to_owned(),
        }
    }

    pub(super) fn drop(&mut self, id: &str, reason: DropReason) {
        self.dropped += 1;
        *self.dropped_reasons.entry(reason).or_default() += 1;
        self.dropped_items.push(Dropped { id: id.to_owned(), reason });
    }

    pub(super) fn include(&mut self, kind: ItemKind) {
        self.included += 1;
        *self.included_kinds.entry(kind).or_default() += 1;
    }
}
