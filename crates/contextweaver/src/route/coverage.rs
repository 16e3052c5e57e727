//! A shortlist for a request for several things: each position goes to what adds most.
//!
//! Greedy diversification by explicit aspects, the terms of the query, in the manner of xQuAD
//! (Santos, Macdonald and Ounis 2010) and MMR (Carbonell and Goldstein 1998): without it, five
//! tools for the first half of a request leave no room for the second.

use super::document::DIGITS;
use super::index::Index;
use super::postings::DocId;
use super::query_scorer::QueryScorer;
use super::ranker::RankedDoc;
use crate::fixed_point::{self, ONE};
use crate::route::query::QueryTerms;

/// How many of the best are looked at.
pub(super) const POOL: usize = 30;
/// How many places are given out so.
const SLOTS_COVERED: usize = 5;
/// What an item gains that alone has all words of the query, of the way from the last to the best.
const GAIN: u64 = ONE * 6 / 10;
/// How much of a word is done with once an item has it in full.
const DONE: u64 = ONE * 7 / 10;

/// The words of the query: for each, what it is worth and how much of it is left.
struct TermCoverage {
    /// By item of the pool, then by word: how much of the word it has, up to one.
    has: Vec<Vec<u64>>,
    left: Vec<u64>,
    total: u64,
}

impl TermCoverage {
    fn of(scorer: QueryScorer<'_>, index: &Index, terms: &QueryTerms, pool: &[RankedDoc]) -> Self {
        let words = scorer.weights_of(terms);
        let has = |doc: DocId| {
            let weight = |key| index.single(key).at(doc).unwrap_or(0);
            words.iter().map(|(key, _)| (weight(*key) << (16 - DIGITS)).min(ONE)).collect()
        };
        let left: Vec<u64> = words.iter().map(|(_, worth)| *worth).collect();
        let total = left.iter().sum::<u64>().max(1);
        Self { has: pool.iter().map(|ranked| has(ranked.doc)).collect(), left, total }
    }

    /// What an item adds, as a share of all there is.
    fn adds(&self, item: usize) -> u64 {
        let has = self.has.get(item).into_iter().flatten();
        let sum = has.zip(&self.left).map(|(has, left)| fixed_point::mul(*has, *left)).sum();
        fixed_point::ratio(sum, self.total)
    }

    fn take(&mut self, item: usize) {
        for (left, has) in self.left.iter_mut().zip(self.has.get(item).into_iter().flatten()) {
            *left = fixed_point::mul(*left, ONE - fixed_point::mul(DONE, *has));
        }
    }
}

/// Gives out the first places anew, among the best that are no copies: an item counts for its
/// score and for the words of the query that no item before it has. What is not chosen keeps its
/// order. Scores stay in descending order.
pub(super) fn cover(
    scorer: QueryScorer<'_>,
    index: &Index,
    terms: &QueryTerms,
    ranked: &mut [RankedDoc],
) {
    let size = ranked.iter().take(POOL).take_while(|ranked| !ranked.copy).count();
    let Some(pool) = ranked.get_mut(..size) else { return };
    let (Some(first), Some(last)) = (pool.first(), pool.last()) else { return };
    let (most, least) = (first.score, last.score);
    let width = most.saturating_sub(least).max(1);
    let mut words = TermCoverage::of(scorer, index, terms, pool);
    let mut left: Vec<usize> = (0..size).collect();
    let mut chosen = Vec::with_capacity(size);
    for _ in 0..SLOTS_COVERED.min(size) {
        let value = |item: usize| {
            let own = pool.get(item).map_or(0, |ranked| ranked.score);
            own.saturating_add(fixed_point::mul(width, fixed_point::mul(GAIN, words.adds(item))))
        };
        // Of equals the one that was ranked higher.
        let best = left.iter().enumerate().map(|(at, item)| (value(*item), at));
        let Some((score, at)) = best.rev().max_by_key(|(value, _)| *value) else { break };
        let item = left.remove(at);
        words.take(item);
        chosen.extend(pool.get(item).map(|ranked| RankedDoc { score, ..*ranked }));
    }
    chosen.extend(left.iter().filter_map(|item| pool.get(*item)).copied());
    pool.copy_from_slice(&chosen);
}
