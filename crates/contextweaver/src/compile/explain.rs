//! Explains why each candidate is in the context or not.

use std::sync::Arc;

use serde_json::{Value, json};
use weaver_types::Confidentiality;

use crate::compile::accounting::OutcomeResolver;
use crate::compile::item_outcome::ItemOutcome;
use crate::compile::score::{self, AgeDecay, QueryStems};
use crate::compile::select::SelectedContext;
use crate::compile::stats::DropReason;
use crate::compile::{CompileRequest, ContextItemKind, redaction_hook, sensitivity};

/// Why one candidate is in the context or not, with the parts of its score.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The id of the item.
    pub item_id: Arc<str>,
    /// The kind of the item.
    pub kind: ContextItemKind,
    /// Why the item was left out; `None` if it is included.
    pub drop_reason: Option<DropReason>,
    /// The id of the call that the item is grouped with, or its own.
    pub group: Arc<str>,
    /// The id of the parent, if the parent is in the log.
    pub parent_id: Option<Arc<str>>,
    /// The highest confidentiality of the item and its ancestors.
    pub sensitivity: Confidentiality,
    /// The tokens of the item's block, as counted when it was added.
    pub tokens: usize,
    /// Points for recency.
    pub recency_points: usize,
    /// Points for words shared with the query and its tags.
    pub match_points: usize,
    /// Points for the priority of its kind in this phase.
    pub kind_points: usize,
    /// Points for brevity.
    pub brevity_points: usize,
    /// Whether its text was replaced because it is too confidential.
    pub is_redacted: bool,
    /// Whether its text was shortened.
    pub is_compressed: bool,
}

impl Explanation {
    /// The total score.
    #[must_use]
    pub fn score(&self) -> usize {
        self.recency_points + self.match_points + self.kind_points + self.brevity_points
    }

    /// The explanation as JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "item_id": &*self.item_id,
            "kind": self.kind.as_str(),
            "included": self.drop_reason.is_none(),
            "reason": self.drop_reason.map(DropReason::as_str),
            "group": &*self.group,
            "parent_id": self.parent_id.as_deref(),
            "sensitivity": redaction_hook::level_word(self.sensitivity),
            "tokens": self.tokens,
            "score": self.score(),
            "recency": self.recency_points,
            "match": self.match_points,
            "kind_priority": self.kind_points,
            "cost": self.brevity_points,
            "redacted": self.is_redacted,
            "compressed": self.is_compressed,
        })
    }
}

/// The explanations of all candidates, in the order of the log.
pub(super) fn explain(
    outcomes: &OutcomeResolver<'_>,
    choice: &SelectedContext,
    request: &CompileRequest<'_>,
) -> Vec<Explanation> {
    let OutcomeResolver { log, ranked, .. } = *outcomes;
    let query_stems = QueryStems::from_request(log, request);
    let confidentiality = sensitivity::effective_confidentiality(log, &ranked.outcomes);
    let id = |index: usize| log.item_at(index).map(|item| item.shared_id());
    let newest = log.len().saturating_sub(1);
    let explanation = |index: usize| {
        let drop_reason = match outcomes.outcome(index) {
            ItemOutcome::Absent => return None,
            ItemOutcome::Kept => None,
            ItemOutcome::Dropped(reason) => Some(reason),
        };
        let analysis = log.analysis(index)?;
        let base_score = score::base_score(log, index, &query_stems, request);
        let group = ranked.groups.group_of(index).and_then(|group| ranked.groups.get(group));
        let is_compressed = choice.shortened_blocks.contains_key(&index);
        Some(Explanation {
            item_id: id(index)?,
            kind: analysis.kind,
            drop_reason,
            group: id(group.map_or(index, |group| group.head as usize))?,
            parent_id: log.forest().parent(index).and_then(id),
            sensitivity: confidentiality
                .get(index)
                .copied()
                .flatten()
                .unwrap_or(analysis.confidentiality),
            tokens: analysis.tokens as usize,
            recency_points: AgeDecay::for_kind(analysis.kind).points(newest - index),
            match_points: base_score.match_points,
            kind_points: base_score.kind_points,
            brevity_points: base_score.brevity_points,
            is_redacted: ranked.blocks.contains_key(&index),
            is_compressed,
        })
    };
    (0..log.len()).filter_map(explanation).collect()
}
