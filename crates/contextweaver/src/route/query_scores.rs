//! The scores of a query with several parts, and the best documents by them.
//!
//! Block-max pruning (Ding and Suel 2011, "Faster top-k document retrieval using block-max
//! indexes") over finished scores instead of postings: documents are grouped, and a group whose peaks
//! cannot reach the current threshold is skipped.

use super::accumulator::ScoreAccumulator;
use super::postings::{DocId, ScoredDoc};
use crate::fixed_point::{self, ONE};

/// The scores of every document for the whole query and for each part.
///
/// If there are parts, the final score is the mean of the score for the whole query and the best
/// normalised score for a part, so that a request for two things finds both.
#[derive(Debug)]
pub(super) struct QueryScores {
    pub(super) whole: ScoreAccumulator,
    pub(super) parts: Vec<ScoreAccumulator>,
    /// The best score for the whole query.
    best_score: u64,
    /// The number of documents in a group.
    group: usize,
    /// For each part, the factor that normalises a score to a share of the best, in units of 2⁻⁴⁸.
    scales: Vec<u64>,
}

impl QueryScores {
    /// Takes accumulators of equal capacity, and the group size.
    pub(super) fn new(
        mut whole: ScoreAccumulator,
        mut parts: Vec<ScoreAccumulator>,
        group: usize,
    ) -> Self {
        let best_score = u64::from(whole.find_peaks(group));
        // A reciprocal avoids one division per item; the best score becomes exactly one.
        let scale = |part: &mut ScoreAccumulator| {
            (1_u64 << 48).div_ceil(u64::from(part.find_peaks(group).max(1)))
        };
        let scales = parts.iter_mut().map(scale).collect();
        Self { whole, parts, best_score, group, scales }
    }

    /// The documents with the `count` highest scores, including ties with the last; in no particular
    /// order.
    ///
    /// No document scores more than the combined peaks of its group, so a group whose combined peaks
    /// are below the threshold is skipped without loss.
    pub(super) fn best(&self, count: usize) -> Vec<ScoredDoc> {
        let mut groups = self.group_bounds();
        let Some(last) = count.checked_sub(1) else { return Vec::new() };
        let mut threshold = 1;
        if last < groups.len() {
            let nth = groups.select_nth_unstable_by(last, |a, b| b.cmp(a)).1.0;
            if self.parts.is_empty() {
                // Without parts, a peak is the score of some document, so `count` documents reach this.
                threshold = nth;
            }
        }
        let mut found = Vec::new();
        for (bound, group) in groups {
            if bound >= threshold {
                self.collect(group, threshold, &mut found);
            }
            if found.len() > 4 * count.max(16) {
                threshold = keep_best(&mut found, last);
            }
        }
        keep_best(&mut found, last);
        found
    }

    /// An upper bound on the scores in each group that has any.
    fn group_bounds(&self) -> Vec<(u32, u32)> {
        let peaks = (0_u32..).zip(self.whole.peaks()).filter(|(_, peak)| **peak > 0);
        let bound = |(group, peak): (u32, &u32)| {
            let part =
                |part: &ScoreAccumulator| part.peaks().get(group as usize).copied().unwrap_or(0);
            (self.combine(*peak, self.parts.iter().map(part)), group)
        };
        peaks.map(bound).collect()
    }

    fn collect(&self, group: u32, threshold: u32, found: &mut Vec<ScoredDoc>) {
        let first = group as usize * self.group;
        let whole = self.whole.scores(first..first + self.group);
        let docs = DocId::try_from(first).unwrap_or(DocId::MAX)..;
        for (doc, score) in docs.zip(whole).filter(|(_, score)| **score > 0) {
            let score = self.combine(*score, self.parts.iter().map(|part| part.get(doc)));
            if score >= threshold {
                found.push((doc, score));
            }
        }
    }

    /// Combines the score for the whole query with those for its parts. Monotone in every argument,
    /// which makes combined peaks an upper bound.
    fn combine(&self, whole: u32, parts: impl Iterator<Item = u32>) -> u32 {
        if self.scales.is_empty() {
            return whole;
        }
        let share = |(score, scale): (u32, &u64)| ((u64::from(score) * scale) >> 32).min(ONE);
        let part = parts.zip(&self.scales).map(share).max().unwrap_or(0);
        let both = u64::midpoint(u64::from(whole), fixed_point::mul(part, self.best_score));
        u32::try_from(both).unwrap_or(u32::MAX)
    }

    /// The accumulators, for reuse.
    pub(super) fn into_accumulators(self) -> impl Iterator<Item = ScoreAccumulator> {
        std::iter::once(self.whole).chain(self.parts)
    }
}

/// Keeps the entries with at least the score at rank `last`, and returns that score.
fn keep_best(found: &mut Vec<ScoredDoc>, last: usize) -> u32 {
    if last >= found.len() {
        return 1;
    }
    let threshold = found.select_nth_unstable_by(last, |a, b| b.1.cmp(&a.1)).1.1;
    found.retain(|(_, score)| *score >= threshold);
    threshold
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ITEMS: u32 = 3_000;

    fn accumulator(scores: &[(DocId, u32)]) -> ScoreAccumulator {
        let mut accumulator = ScoreAccumulator::default();
        accumulator.ensure_capacity(ITEMS as usize);
        scores.iter().for_each(|(doc, score)| accumulator.add(*doc, *score));
        accumulator
    }

    fn scores() -> impl Strategy<Value = Vec<(DocId, u32)>> {
        let score = prop_oneof![0..40_u32, 0..1_000_000_u32];
        prop::collection::vec((0..ITEMS, score), 0..900)
    }

    /// The same by looking at every item.
    fn exhaustive(scores: &QueryScores, count: usize) -> Vec<ScoredDoc> {
        let score = |doc| {
            let parts = scores.parts.iter().map(|part| part.get(doc));
            scores.combine(scores.whole.get(doc), parts)
        };
        let hit = (0..ITEMS).filter(|doc| scores.whole.get(*doc) > 0);
        let mut all: Vec<ScoredDoc> = hit.map(|doc| (doc, score(doc))).collect();
        all.retain(|(_, score)| *score > 0);
        all.sort_by_key(|(doc, score)| (std::cmp::Reverse(*score), *doc));
        let last = all.get(count.wrapping_sub(1)).map_or(0, |hit| hit.1);
        all.retain(|hit| count > 0 && hit.1 >= last);
        all
    }

    proptest! {
        #[test]
        fn passing_over_groups_loses_nothing(
            whole in scores(), parts in prop::collection::vec(scores(), 0..4), count in 0..300_usize,
            group in prop::sample::select(vec![8_usize, 16, 64]),
        ) {
            let parts: Vec<ScoreAccumulator> = parts.iter().map(|part| accumulator(part)).collect();
            let scores = QueryScores::new(accumulator(&whole), parts, group);
            let mut best = scores.best(count);
            best.sort_by_key(|(doc, score)| (std::cmp::Reverse(*score), *doc));
            prop_assert_eq!(best, exhaustive(&scores, count));
        }
    }

    #[test]
    fn an_accumulator_is_clear_after_clearing() {
        let mut accumulator = accumulator(&[(7, 3), (2_999, 4)]);
        assert_eq!(accumulator.find_peaks(16), 4);
        assert_eq!((accumulator.take(7), accumulator.take(7)), (3, 0));
        accumulator.clear();
        assert_eq!((accumulator.find_peaks(64), accumulator.get(2_999)), (0, 0));
    }
}
