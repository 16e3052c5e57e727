//! Relevance feedback: boosts items by routes that were accepted earlier.

use std::cmp::Reverse;
use std::collections::HashMap;

use weaver_types::Timestamp;

use super::lessons::Lessons;
use super::postings::DocId;
use super::query::Terms;
use super::query_scorer::QueryScorer;
use super::ranker::RankedDoc;
use super::term_key;
use crate::fixed_point::{self, ONE};

/// How many ranked items can be boosted.
pub(super) const FEEDBACK_DEPTH: usize = 200;
/// The boost of an item that was accepted for all words of the query, as a share of the best score.
const MAX_BOOST: u64 = ONE;
/// An item that was accepted for a smaller share of the query gets no boost.
const MIN_SHARE: u64 = ONE / 16;

/// The lessons, and the time at which their strength is taken.
pub(super) struct Feedback<'a> {
    pub(super) lessons: &'a Lessons,
    pub(super) now: Timestamp,
}

/// Boosts the items that were accepted for words of the query, and adds those that were not ranked.
/// Items that are not visible stay out.
pub(super) fn boost(
    scorer: QueryScorer<'_>,
    query: &str,
    feedback: &Feedback<'_>,
    ranked: &mut Vec<RankedDoc>,
) {
    let terms = Terms::of_query(query);
    let mut words: Vec<&str> = terms.unigrams.iter().map(String::as_str).collect();
    words.sort_unstable();
    words.dedup();
    let asked: Vec<_> =
        words.into_iter().map(|word| (word, scorer.idf(term_key::of_term(word)))).collect();
    let worth: u64 = asked.iter().map(|(_, worth)| *worth).sum();
    let best = ranked.first().map_or(ONE, |first| first.score).max(1);
    let mut rest = ranked.split_off(FEEDBACK_DEPTH.min(ranked.len()));
    let mut docs: HashMap<DocId, usize> =
        ranked.iter().zip(0..).map(|(ranked, at)| (ranked.doc, at)).collect();
    for (id, share) in feedback.lessons.shares(&asked, feedback.now) {
        let doc = scorer.index.doc(id).filter(|doc| scorer.selection.contains(*doc));
        let Some(doc) = doc.filter(|_| share >= MIN_SHARE) else { continue };
        let at = *docs.entry(doc).or_insert_with(|| {
            rest.retain(|other| other.doc != doc);
            ranked.push(RankedDoc::new((doc, 0), 0));
            ranked.len() - 1
        });
        let Some(item) = ranked.get_mut(at) else { continue };
        item.feedback_score = fixed_point::mul(best, fixed_point::mul(MAX_BOOST, share));
        item.score = item.score.saturating_add(item.feedback_score);
        let known = u32::try_from(fixed_point::mul(worth, share)).unwrap_or(u32::MAX);
        item.lexical_score = item.lexical_score.saturating_add(known);
        item.is_near_duplicate = false;
    }
    ranked.sort_by_key(|ranked| (ranked.is_near_duplicate, Reverse(ranked.score)));
    ranked.append(&mut rest);
}
