//! The statistics of a build: what went into the context and what did not.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::compile::ContextItemKind;
use crate::compile::dropped_items::{DroppedItem, DroppedItems};

/// Why an item was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropReason {
    /// The item or an ancestor is at or above the sensitivity floor.
    Sensitivity,
    /// A later item is a duplicate.
    Dedup,
    /// Something that it belongs with was left out: a member of its group, or an ancestor.
    Group,
    /// The item did not fit into the budget.
    Budget,
}

weaver_types::words! { DropReason: "The word used in statistics.";
    Sensitivity = "sensitivity", Dedup = "dedup", Group = "group", Budget = "budget",
}

impl DropReason {
    pub(super) const ALL: [Self; 4] = [Self::Sensitivity, Self::Dedup, Self::Group, Self::Budget];
}

/// The statistics of one build. Always, `included_count + dropped_count == total_candidates`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BuildStats {
    /// The name of the phase.
    pub phase: String,
    /// The token budget of the rendering.
    pub budget: usize,
    /// Items of the phase and their dependencies, before anything was left out.
    pub total_candidates: usize,
    /// Items in the context.
    pub included_count: usize,
    /// Items left out.
    pub dropped_count: usize,
    /// Items left out, by reason.
    pub dropped_reasons: BTreeMap<DropReason, usize>,
    /// Items left out, each with its reason, in the order of the log.
    pub dropped_items: DroppedItems,
    /// Items left out because a later one is a duplicate.
    pub dedup_removed: usize,
    /// Candidates that are included only as dependencies of others.
    pub dependency_closures: usize,
    /// Items whose text was redacted.
    pub redacted_count: usize,
    /// Items that were shortened to fit.
    pub compressed_count: usize,
    /// Tokens of the included items by kind, with headings and separators.
    pub tokens_per_section: BTreeMap<ContextItemKind, usize>,
    /// Tokens of the rendering that belong to no item.
    pub header_footer_tokens: usize,
    /// Tokens of the complete rendering.
    pub prompt_tokens: usize,
    /// The name of the token counter.
    pub token_estimator: String,
    /// How often a complete rendering was counted.
    pub exact_counts: usize,
    /// The warnings that the overflow policy requests.
    pub warnings: Vec<String>,
}

impl BuildStats {
    pub(super) fn record_dropped(&mut self, items: DroppedItems) {
        self.dropped_count = items.len();
        let mut counts = DropReason::ALL.map(|_| 0usize);
        for piece in items.chunks() {
            counts.iter_mut().zip(&piece.count_by_reason).for_each(|(count, more)| *count += more);
        }
        let counts = DropReason::ALL.into_iter().zip(counts).filter(|(_, count)| *count > 0);
        self.dropped_reasons = counts.collect();
        self.dropped_items = items;
    }

    /// The scalar statistics with their names.
    #[must_use]
    pub fn numbers(&self) -> [(&'static str, usize); 11] {
        [
            ("total_candidates", self.total_candidates),
            ("included_count", self.included_count),
            ("dropped_count", self.dropped_count),
            ("dedup_removed", self.dedup_removed),
            ("dependency_closures", self.dependency_closures),
            ("redacted_count", self.redacted_count),
            ("compressed_count", self.compressed_count),
            ("header_footer_tokens", self.header_footer_tokens),
            ("prompt_tokens", self.prompt_tokens),
            ("budget", self.budget),
            ("exact_counts", self.exact_counts),
        ]
    }

    /// Everything as JSON, under the names of the fields.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let reasons: BTreeMap<&str, usize> =
            self.dropped_reasons.iter().map(|(reason, n)| (reason.as_str(), *n)).collect();
        let sections: BTreeMap<&str, usize> =
            self.tokens_per_section.iter().map(|(kind, n)| (kind.as_str(), *n)).collect();
        let dropped =
            |d: &DroppedItem| json!({ "item_id": &*d.item_id, "reason": d.reason.as_str() });
        let mut out = json!({
            "phase": self.phase,
            "dropped_reasons": reasons,
            "dropped_items": self.dropped_items.iter().map(dropped).collect::<Vec<_>>(),
            "tokens_per_section": sections,
            "token_estimator": self.token_estimator,
            "warnings": self.warnings,
        });
        if let Value::Object(map) = &mut out {
            map.extend(self.numbers().map(|(name, n)| (name.to_owned(), n.into())));
        }
        out
    }
}
