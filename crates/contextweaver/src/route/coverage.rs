//! Diversifies the shortlist for a request for several things.
//!
//! Greedy diversification with the terms of the query as explicit aspects, in the manner of xQuAD
//! (Santos, Macdonald and Ounis 2010) and MMR (Carbonell and Goldstein 1998). Without it, five tools
//! for the first half of a request would leave no room for the second.

use super::document::WEIGHT_FRACTION_BITS;
use super::index::Index;
use super::postings::DocId;
use super::query_scorer::QueryScorer;
use super::ranker::RankedDoc;
use crate::fixed_point::{self, ONE};
use crate::route::query::QueryTerms;

/// How many of the best items are considered.
pub(super) const POOL_SIZE: usize = 30;
/// How many positions are filled in this way.
const DIVERSIFIED_SLOTS: usize = 5;
/// The gain of an item that alone covers all terms, as a share of the range of scores in the pool.
const MAX_GAIN: u64 = ONE * 6 / 10;
/// The share of a term's weight that counts as covered once a selected item has it in full.
const COVERED_SHARE: u64 = ONE * 7 / 10;

/// How much of each query term the selected items do not cover yet.
struct TermCoverage {
    /// For each item of the pool and each term, the weight of the term in the item, at most one.
    has: Vec<Vec<u64>>,
    left: Vec<u64>,
    total: u64,
}

impl TermCoverage {
    fn of(scorer: QueryScorer<'_>, index: &Index, terms: &QueryTerms, pool: &[RankedDoc]) -> Self {
        let words = scorer.idf_of_terms(terms);
        let has = |doc: DocId| {
            let weight = |key| index.unigrams(key).weight_in(doc).unwrap_or(0);
            words
                .iter()
                .map(|(key, _)| (weight(*key) << (16 - WEIGHT_FRACTION_BITS)).min(ONE))
                .collect()
        };
        let left: Vec<u64> = words.iter().map(|(_, worth)| *worth).collect();
        let total = left.iter().sum::<u64>().max(1);
        Self { has: pool.iter().map(|ranked| has(ranked.doc)).collect(), left, total }
    }

    /// The weight that an item would newly cover, as a share of the total.
    fn gain(&self, item: usize) -> u64 {
        let has = self.has.get(item).into_iter().flatten();
        let sum = has.zip(&self.left).map(|(has, left)| fixed_point::mul(*has, *left)).sum();
        fixed_point::ratio(sum, self.total)
    }

    fn cover(&mut self, item: usize) {
        for (left, has) in self.left.iter_mut().zip(self.has.get(item).into_iter().flatten()) {
            *left = fixed_point::mul(*left, ONE - fixed_point::mul(COVERED_SHARE, *has));
        }
    }
}

/// Reassigns the first positions among the best originals: an item is valued by its score and by the
/// query terms that no selected item covers. Items that are not selected keep their order. Scores stay
/// in descending order.
pub(super) fn diversify(
    scorer: QueryScorer<'_>,
    index: &Index,
    terms: &QueryTerms,
    ranked: &mut [RankedDoc],
) {
    let size = ranked.iter().take(POOL_SIZE).take_while(|ranked| !ranked.is_near_duplicate).count();
    let Some(pool) = ranked.get_mut(..size) else { return };
    let (Some(first), Some(last)) = (pool.first(), pool.last()) else { return };
    let (most, least) = (first.score, last.score);
    let width = most.saturating_sub(least).max(1);
    let mut words = TermCoverage::of(scorer, index, terms, pool);
    let mut left: Vec<usize> = (0..size).collect();
    let mut chosen = Vec::with_capacity(size);
    for _ in 0..DIVERSIFIED_SLOTS.min(size) {
        let value = |item: usize| {
            let own = pool.get(item).map_or(0, |ranked| ranked.score);
            own.saturating_add(fixed_point::mul(
                width,
                fixed_point::mul(MAX_GAIN, words.gain(item)),
            ))
        };
        // Ties go to the item that was ranked higher.
        let best = left.iter().enumerate().map(|(at, item)| (value(*item), at));
        let Some((score, at)) = best.rev().max_by_key(|(value, _)| *value) else { break };
        let item = left.remove(at);
        words.cover(item);
        chosen.extend(pool.get(item).map(|ranked| RankedDoc { score, ..*ranked }));
    }
    chosen.extend(left.iter().filter_map(|item| pool.get(*item)).copied());
    pool.copy_from_slice(&chosen);
}
