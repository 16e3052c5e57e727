//! Scores items in points: recency, match with the query, kind, and brevity.

use crate::compile::vocabulary::{self, StemId};
use crate::compile::{CompileRequest, ContextItemKind, ContextLog};

/// Points of the newest item; half of them after [`RECENCY_HALF_AGE`] items.
const MAX_RECENCY_POINTS: usize = 300;
/// Recency points of items that precede the conversation, whatever their age.
const HEAD_RECENCY_POINTS: usize = 200;
/// The number of later items after which an item has half the recency points.
const RECENCY_HALF_AGE: usize = 64;
/// Points of an item that has every stem of the query.
const MAX_MATCH_POINTS: usize = 350;
/// Points of a kind with priority 100.
const MAX_KIND_POINTS: usize = 350;
/// Priority of an item that is a candidate only as a dependency, in hundredths.
const DEPENDENCY_PRIORITY: u8 = 30;
/// Points of an item without tokens; half of them for [`BREVITY_HALF_TOKENS`] tokens.
const MAX_BREVITY_POINTS: usize = 50;
/// The number of tokens at which an item has half the points for brevity.
const BREVITY_HALF_TOKENS: usize = 500;

/// The highest base score.
pub(super) const MAX_BASE_SCORE: usize = MAX_MATCH_POINTS + MAX_KIND_POINTS + MAX_BREVITY_POINTS;

/// The parts of a score that do not change when items are added later: all but recency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct BaseScore {
    pub(super) match_points: usize,
    pub(super) kind_points: usize,
    pub(super) brevity_points: usize,
}

impl BaseScore {
    pub(super) fn sum(self) -> usize {
        self.match_points + self.kind_points + self.brevity_points
    }
}

/// The stems of the query, resolved to the ids of a log's vocabulary.
#[derive(Debug, Clone, Default)]
pub(super) struct QueryStems {
    /// Whether a stem belongs to the query, by stem id.
    is_query_stem: Vec<bool>,
    /// Query stems that no item of the log has contained so far.
    unseen: Vec<String>,
    stem_count: usize,
    /// The size of the vocabulary when `unseen` was last resolved.
    vocabulary_len: usize,
}

impl QueryStems {
    pub(super) fn from_request(log: &ContextLog, request: &CompileRequest<'_>) -> Self {
        let unseen = match request.tags {
            [] => vocabulary::query_stems(request.query),
            tags => vocabulary::query_stems(&format!("{} {}", request.query, tags.join(" "))),
        };
        let mut query_stems = Self { stem_count: unseen.len(), unseen, ..Self::default() };
        query_stems.resolve_unseen(log);
        query_stems
    }

    /// Looks up unseen query stems in the vocabulary, if it has grown.
    pub(super) fn resolve_unseen(&mut self, log: &ContextLog) {
        let vocabulary = log.vocabulary();
        if self.vocabulary_len == vocabulary.len() {
            return;
        }
        self.vocabulary_len = vocabulary.len();
        let is_query_stem = &mut self.is_query_stem;
        self.unseen.retain(|stem| {
            let Some(id) = vocabulary.id(stem) else { return true };
            let id = id as usize;
            is_query_stem.resize(is_query_stem.len().max(id + 1), false);
            if let Some(entry) = is_query_stem.get_mut(id) {
                *entry = true;
            }
            false
        });
    }

    /// The points for the share of query stems among these stems.
    fn points(&self, stems: &[StemId]) -> usize {
        if self.is_query_stem.is_empty() {
            return 0;
        }
        let found = |stem: &&StemId| self.is_query_stem.get(**stem as usize) == Some(&true);
        MAX_MATCH_POINTS * stems.iter().filter(found).count().min(self.stem_count)
            / self.stem_count.max(1)
    }
}

/// The base score of one item.
pub(super) fn base_score(
    log: &ContextLog,
    index: usize,
    query_stems: &QueryStems,
    request: &CompileRequest<'_>,
) -> BaseScore {
    let Some(analysis) = log.analysis(index) else { return BaseScore::default() };
    let priority = request.phase.priority(analysis.kind).unwrap_or(DEPENDENCY_PRIORITY);
    BaseScore {
        match_points: query_stems.points(log.stems_of(index)),
        kind_points: MAX_KIND_POINTS * usize::from(priority) / 100,
        brevity_points: MAX_BREVITY_POINTS * BREVITY_HALF_TOKENS
            / (BREVITY_HALF_TOKENS + analysis.tokens as usize),
    }
}

/// How the recency points of items of a kind fall with age.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AgeDecay {
    /// Always the maximum: the cards of the shortlist.
    Never,
    /// The same at any age: kinds that precede the conversation.
    Head,
    /// Falls hyperbolically with age: the conversation itself.
    Conversation,
}

impl AgeDecay {
    /// The number of variants.
    pub(super) const COUNT: usize = 3;

    pub(super) fn for_kind(kind: ContextItemKind) -> Self {
        match kind {
            ContextItemKind::ToolCard => Self::Never,
            kind if kind.is_head() => Self::Head,
            _ => Self::Conversation,
        }
    }

    /// The recency points of an item, given how many items were added after it.
    pub(super) fn points(self, age: usize) -> usize {
        match self {
            Self::Never => MAX_RECENCY_POINTS,
            Self::Head => HEAD_RECENCY_POINTS,
            Self::Conversation => MAX_RECENCY_POINTS * RECENCY_HALF_AGE / (RECENCY_HALF_AGE + age),
        }
    }
}
