//! Why a ranking is as it is.

use std::collections::BTreeMap;

use serde::Serialize;

use super::analyser::Analyser;
use super::confidence::Evidence;
use super::document::Document;
use super::key;
use super::query::{Query, QueryTerms, Terms};
use super::query_scorer::{QueryScorer, ScoreExplanation};
use super::ranker::RankedDoc;
use crate::filter::Rule;

/// Why a shortlist is as it is. Equal requests to equal catalogs give equal traces, byte for byte.
/// It tells of nothing that may not be seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RouteTrace {
    /// The version of this form.
    pub version: u32,
    /// The stems of the query, in their order.
    pub terms: Vec<String>,
    /// The parts of the query that were scored on their own.
    pub parts: Vec<String>,
    /// How many items took part.
    pub items: u64,
    /// How many were left out by which rule; hidden ones are not counted.
    pub left_out: BTreeMap<Rule, usize>,
    /// What the confidence was made from.
    pub evidence: Evidence,
    /// The items of the answer, in their order.
    pub candidates: Vec<Candidate>,
}

/// One item of the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Candidate {
    /// The capability.
    pub id: String,
    /// What it is ranked by, in units of 1/65,536.
    pub score: u64,
    /// The score of its words, with what a part of the query adds.
    pub words: u32,
    /// How near it is by the table, in units of 1/65,536, where that was looked at.
    pub table: Option<i64>,
    /// Whether a near copy of it stands higher.
    pub copy: bool,
    /// What accepted routes add to its score.
    #[serde(skip_serializing_if = "is_nothing")]
    pub learned: u64,
    /// What each term of the whole query brings it.
    pub terms: Vec<TermShare>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_nothing(score: &u64) -> bool {
    *score == 0
}

/// What one term brings an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TermShare {
    /// The stem that was asked for; two neighbours are written as one.
    pub term: String,
    /// How it was met: `word`, `pair`, `meant` (without a term) for what the request means beside
    /// its words, `instead` for another word that stands for it, or
    /// `spelling` for one that is spelt nearly so.
    pub by: &'static str,
    /// What it brings, in units of 1/65,536.
    pub score: u64,
    /// The fields that have it.
    pub fields: Vec<&'static str>,
}

impl RouteTrace {
    /// The trace as JSON, always the same text for the same trace.
    ///
    /// # Errors
    /// None that a trace of this crate can cause.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }
}

/// Puts a trace together.
pub(super) fn trace(
    scorer: QueryScorer<'_>,
    query: &Query<'_>,
    ranked: &[RankedDoc],
    evidence: Evidence,
    left_out: BTreeMap<Rule, usize>,
) -> RouteTrace {
    let terms = Terms::of_query(query.text);
    let shown = |ranked| candidate(scorer, &terms, &query.whole, ranked);
    RouteTrace {
        version: 1,
        parts: query.parts.iter().map(|part| part.text.trim().to_owned()).collect(),
        items: scorer.selection.count(),
        left_out,
        evidence,
        candidates: ranked.iter().filter_map(shown).collect(),
        terms: terms.single,
    }
}

fn candidate(
    scorer: QueryScorer<'_>,
    terms: &Terms,
    asked: &QueryTerms,
    ranked: &RankedDoc,
) -> Option<Candidate> {
    let item = scorer.index.item(ranked.doc)?;
    let document = Document::of(item, &mut Analyser::default());
    let share = |share: ScoreExplanation| {
        let fields = document.fields(key::of(&share.found));
        TermShare { term: share.term, by: share.by, score: share.score, fields }
    };
    Some(Candidate {
        id: item.id.to_string(),
        score: ranked.score,
        words: ranked.words,
        table: ranked.near,
        copy: ranked.copy,
        learned: ranked.learned,
        terms: scorer
            .explain(terms, ranked.doc)
            .into_iter()
            .chain(scorer.explain_expansions(asked, ranked.doc))
            .map(share)
            .collect(),
    })
}
