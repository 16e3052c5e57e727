//! Why each item is in the context or not.

use std::sync::Arc;

use serde_json::{Value, json};
use weaver_types::Confidentiality;

use crate::compile::account::ItemOutcomes;
use crate::compile::item_outcome::ItemOutcome;
use crate::compile::score::{self, AgeDecay, QueryStems};
use crate::compile::select::Choice;
use crate::compile::stats::DropReason;
use crate::compile::{ItemKind, Request, redaction_hook, sensitivity};

/// Why one candidate is in the context or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// Its id.
    pub item_id: Arc<str>,
    /// Its kind.
    pub kind: ItemKind,
    /// Why it was left out; `None` where it is in.
    pub dropped: Option<DropReason>,
    /// The call that it goes with, or itself.
    pub group: Arc<str>,
    /// What it hangs on, where that is in the log.
    pub parent_id: Option<Arc<str>>,
    /// How confidential it is, with all it hangs on.
    pub sensitivity: Confidentiality,
    /// The tokens of its block, as counted when it came.
    pub tokens: usize,
    /// Points for how new it is.
    pub recency: usize,
    /// Points for the words it shares with query and tags.
    pub matched: usize,
    /// Points for its kind in this phase.
    pub kind_points: usize,
    /// Points for being short.
    pub cost: usize,
    /// Whether another text stands in its place, because it is too confidential.
    pub is_redacted: bool,
    /// Whether it was made shorter.
    pub is_compressed: bool,
}

impl Explanation {
    /// The whole score.
    #[must_use]
    pub fn score(&self) -> usize {
        self.recency + self.matched + self.kind_points + self.cost
    }

    /// As JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "item_id": &*self.item_id,
            "kind": self.kind.as_str(),
            "included": self.dropped.is_none(),
            "reason": self.dropped.map(DropReason::as_str),
            "group": &*self.group,
            "parent_id": self.parent_id.as_deref(),
            "sensitivity": redaction_hook::level_word(self.sensitivity),
            "tokens": self.tokens,
            "score": self.score(),
            "recency": self.recency,
            "match": self.matched,
            "kind_priority": self.kind_points,
            "cost": self.cost,
            "redacted": self.is_redacted,
            "compressed": self.is_compressed,
        })
    }
}

/// Every candidate, in the order of the log.
pub(super) fn explain(
    outcomes: &ItemOutcomes<'_>,
    choice: &Choice,
    request: &Request<'_>,
) -> Vec<Explanation> {
    let ItemOutcomes { log, plan, .. } = *outcomes;
    let wanted = QueryStems::of(log, request);
    let levels = sensitivity::levels(log, &plan.outcomes);
    let id = |place: usize| log.at(place).map(|item| item.shared_id());
    let newest = log.len().saturating_sub(1);
    let one = |place: usize| {
        let dropped = match outcomes.of(place) {
            ItemOutcome::Absent => return None,
            ItemOutcome::Kept => None,
            ItemOutcome::Dropped(reason) => Some(reason),
        };
        let analysis = log.analysis(place)?;
        let lasting = score::lasting(log, place, &wanted, request);
        let head = plan.groups.at(place).and_then(|group| plan.groups.get(group));
        let is_compressed = choice.shortened_blocks.contains_key(&place);
        Some(Explanation {
            item_id: id(place)?,
            kind: analysis.kind,
            dropped,
            group: id(head.map_or(place, |head| head.head as usize))?,
            parent_id: log.links().parent(place).and_then(id),
            sensitivity: levels.get(place).copied().flatten().unwrap_or(analysis.level),
            tokens: analysis.tokens as usize,
            recency: AgeDecay::of(analysis.kind).points(newest - place),
            matched: lasting.matched,
            kind_points: lasting.kind,
            cost: lasting.cost,
            is_redacted: plan.blocks.contains_key(&place),
            is_compressed,
        })
    };
    (0..log.len()).filter_map(one).collect()
}
