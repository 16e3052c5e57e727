//! The trace of a ranking: which terms, parts and features led to it.

use std::collections::BTreeMap;

use serde::Serialize;

use super::analyser::Analyser;
use super::confidence::RankingFeatures;
use super::document::Document;
use super::query::{Query, QueryTerms, Terms};
use super::query_scorer::QueryScorer;
use super::ranker::RankedDoc;
use super::score_explanation::ScoreExplanation;
use super::term_key;
use crate::filter::FilterRule;

/// How a shortlist was computed. Equal requests to equal catalogs give traces that are equal byte for
/// byte. A trace reveals nothing about items that are not visible.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RouteTrace {
    /// The version of this format.
    pub version: u32,
    /// The stems of the query, in order.
    pub terms: Vec<String>,
    /// The parts of the query that were scored separately.
    pub parts: Vec<String>,
    /// How many items took part.
    pub items: u64,
    /// How many items each rule left out; hidden items are not counted.
    pub left_out: BTreeMap<FilterRule, usize>,
    /// The features from which the confidence was computed.
    pub evidence: RankingFeatures,
    /// The items of the answer, in order.
    pub candidates: Vec<Candidate>,
}

/// One item of the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Candidate {
    /// The capability.
    pub id: String,
    /// The final score, in units of 1/65,536.
    pub score: u64,
    /// The lexical score, including that for a part of the query.
    pub words: u32,
    /// The semantic similarity, in units of 1/65,536, if it was computed.
    pub table: Option<i64>,
    /// Whether a near duplicate is ranked higher.
    pub copy: bool,
    /// The part of the score that comes from accepted routes.
    #[serde(skip_serializing_if = "is_nothing")]
    pub learned: u64,
    /// The contributions of the terms of the whole query.
    pub terms: Vec<TermShare>,
}

fn is_nothing(score: &u64) -> bool {
    *score == 0
}

/// The contribution of one term to the score of an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TermShare {
    /// The stem of the query; a bigram is written as one word.
    pub term: String,
    /// How it matched: `word`, `pair` for a bigram, `meant` (without a term) for expansions,
    /// `instead` for a synonym, or `spelling` for a correction.
    pub by: &'static str,
    /// The contribution, in units of 1/65,536.
    pub score: u64,
    /// The fields that contain the term.
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

/// Builds the trace of an answer.
pub(super) fn build_trace(
    scorer: QueryScorer<'_>,
    query: &Query<'_>,
    ranked: &[RankedDoc],
    evidence: RankingFeatures,
    left_out: BTreeMap<FilterRule, usize>,
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
        terms: terms.unigrams,
    }
}

fn candidate(
    scorer: QueryScorer<'_>,
    terms: &Terms,
    asked: &QueryTerms,
    ranked: &RankedDoc,
) -> Option<Candidate> {
    let item = scorer.index.item(ranked.doc)?;
    let document = Document::from_item(item, &mut Analyser::default());
    let share = |share: ScoreExplanation| {
        let fields = document.fields(term_key::of_term(&share.matched_term));
        TermShare { term: share.term, by: share.by, score: share.score, fields }
    };
    Some(Candidate {
        id: item.id.to_string(),
        score: ranked.score,
        words: ranked.lexical_score,
        table: ranked.similarity,
        copy: ranked.is_near_duplicate,
        learned: ranked.feedback_score,
        terms: scorer
            .explain(terms, ranked.doc)
            .into_iter()
            .chain(scorer.explain_expansions(asked, ranked.doc))
            .map(share)
            .collect(),
    })
}
