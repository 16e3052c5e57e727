//! Relevance feedback: accepted routes in a ranking.

use std::cmp::Reverse;
use std::collections::HashMap;

use weaver_types::Timestamp;

use super::key;
use super::lessons::Lessons;
use super::postings::DocId;
use super::query::Terms;
use super::query_scorer::QueryScorer;
use super::ranker::RankedDoc;
use crate::fixed_point::{self, ONE};

/// How many of a ranking can be lifted from where they stand.
pub(super) const DEPTH: usize = 200;
/// What an item gains that was accepted for all words of the query, of the best score.
const BOOST: u64 = ONE;
/// What was accepted for less of the query than this gains nothing.
const LEAST: u64 = ONE / 16;

/// What was learned, at a time.
pub(super) struct Feedback<'a> {
    pub(super) lessons: &'a Lessons,
    pub(super) now: Timestamp,
}

/// Lifts the items that were accepted for words of the query, and puts in those that share none
/// with it. What may not be seen stays out.
pub(super) fn boost(
    scorer: QueryScorer<'_>,
    query: &str,
    feedback: &Feedback<'_>,
    ranked: &mut Vec<RankedDoc>,
) {
    let terms = Terms::of_query(query);
    let mut words: Vec<&str> = terms.single.iter().map(String::as_str).collect();
    words.sort_unstable();
    words.dedup();
    let asked: Vec<_> =
        words.into_iter().map(|word| (word, scorer.rarity(key::of(word)))).collect();
    let worth: u64 = asked.iter().map(|(_, worth)| *worth).sum();
    let best = ranked.first().map_or(ONE, |first| first.score).max(1);
    let mut rest = ranked.split_off(DEPTH.min(ranked.len()));
    let mut docs: HashMap<DocId, usize> =
        ranked.iter().zip(0..).map(|(ranked, at)| (ranked.doc, at)).collect();
    for (id, share) in feedback.lessons.shares(&asked, feedback.now) {
        let doc = scorer.index.doc(id).filter(|doc| scorer.selection.sees(*doc));
        let Some(doc) = doc.filter(|_| share >= LEAST) else { continue };
        let at = *docs.entry(doc).or_insert_with(|| {
            rest.retain(|other| other.doc != doc);
            ranked.push(RankedDoc::new((doc, 0), 0));
            ranked.len() - 1
        });
        let Some(item) = ranked.get_mut(at) else { continue };
        item.learned = fixed_point::mul(best, fixed_point::mul(BOOST, share));
        item.score = item.score.saturating_add(item.learned);
        let known = u32::try_from(fixed_point::mul(worth, share)).unwrap_or(u32::MAX);
        item.words = item.words.saturating_add(known);
        item.copy = false;
    }
    ranked.sort_by_key(|ranked| (ranked.copy, Reverse(ranked.score)));
    ranked.append(&mut rest);
}
