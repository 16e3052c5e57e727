//! The scores of a query with several parts, and the highest of them.
//!
//! Block-max pruning (Ding and Suel 2011, "Faster top-k document retrieval using block-max
//! indexes") over finished scores instead of postings: documents are grouped, and a group whose
//! peaks come to less than what was found already is skipped.

use super::accumulator::ScoreAccumulator;
use super::postings::{DocId, ScoredDoc};
use crate::fixed_point::{self, ONE};

/// What every item scores for the whole query and for each part of it.
///
/// Where there are parts, an item that answers one of them well gains as much as half of the best
/// score, so that a request for two things finds both.
#[derive(Debug)]
pub(super) struct QueryScores {
    pub(super) whole: ScoreAccumulator,
    pub(super) parts: Vec<ScoreAccumulator>,
    /// The best score for the whole query.
    most: u64,
    /// How many documents are a group.
    group: usize,
    /// For each part what makes a share of its best from a score, in units of 2⁻⁴⁸.
    scales: Vec<u64>,
}

impl QueryScores {
    /// From accumulators of as many documents, and how many of these are a group.
    pub(super) fn new(
        mut whole: ScoreAccumulator,
        mut parts: Vec<ScoreAccumulator>,
        group: usize,
    ) -> Self {
        let most = u64::from(whole.find_peaks(group));
        // A division less for each item: the best comes to exactly one.
        let scale = |part: &mut ScoreAccumulator| {
            (1_u64 << 48).div_ceil(u64::from(part.find_peaks(group).max(1)))
        };
        let scales = parts.iter_mut().map(scale).collect();
        Self { whole, parts, most, group, scales }
    }

    /// The documents with the `count` highest scores, and what equals the last of them; in no
    /// particular order.
    ///
    /// No item scores more than what the peaks of its group come to, so a group whose peaks come to
    /// less than what was found already is passed over.
    pub(super) fn best(&self, count: usize) -> Vec<ScoredDoc> {
        let mut groups = self.bounds();
        let Some(last) = count.checked_sub(1) else { return Vec::new() };
        let mut least = 1;
        if last < groups.len() {
            let nth = groups.select_nth_unstable_by(last, |a, b| b.cmp(a)).1.0;
            if self.parts.is_empty() {
                // At least one document of each of the groups so far is no lower than this.
                least = nth;
            }
        }
        let mut found = Vec::new();
        for (bound, group) in groups {
            if bound >= least {
                self.collect(group, least, &mut found);
            }
            if found.len() > 4 * count.max(16) {
                least = cut(&mut found, last);
            }
        }
        cut(&mut found, last);
        found
    }

    /// For each group that holds any score, how high one can be at the most.
    fn bounds(&self) -> Vec<(u32, u32)> {
        let peaks = (0_u32..).zip(self.whole.peaks()).filter(|(_, peak)| **peak > 0);
        let bound = |(group, peak): (u32, &u32)| {
            let part =
                |part: &ScoreAccumulator| part.peaks().get(group as usize).copied().unwrap_or(0);
            (self.joined(*peak, self.parts.iter().map(part)), group)
        };
        peaks.map(bound).collect()
    }

    fn collect(&self, group: u32, least: u32, found: &mut Vec<ScoredDoc>) {
        let first = group as usize * self.group;
        let whole = self.whole.scores(first..first + self.group);
        let docs = DocId::try_from(first).unwrap_or(DocId::MAX)..;
        for (doc, score) in docs.zip(whole).filter(|(_, score)| **score > 0) {
            let score = self.joined(*score, self.parts.iter().map(|part| part.get(doc)));
            if score >= least {
                found.push((doc, score));
            }
        }
    }

    /// From the score for the whole query and those for its parts. Never less for more.
    fn joined(&self, whole: u32, parts: impl Iterator<Item = u32>) -> u32 {
        if self.scales.is_empty() {
            return whole;
        }
        let share = |(score, scale): (u32, &u64)| ((u64::from(score) * scale) >> 32).min(ONE);
        let part = parts.zip(&self.scales).map(share).max().unwrap_or(0);
        let both = u64::midpoint(u64::from(whole), fixed_point::mul(part, self.most));
        u32::try_from(both).unwrap_or(u32::MAX)
    }

    /// The accumulators, to be used again.
    pub(super) fn into_accumulators(self) -> impl Iterator<Item = ScoreAccumulator> {
        std::iter::once(self.whole).chain(self.parts)
    }
}

/// Keeps what is no lower than the one at `last` in descending order, and gives that one's score.
fn cut(found: &mut Vec<ScoredDoc>, last: usize) -> u32 {
    if last >= found.len() {
        return 1;
    }
    let least = found.select_nth_unstable_by(last, |a, b| b.1.cmp(&a.1)).1.1;
    found.retain(|(_, score)| *score >= least);
    least
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ITEMS: u32 = 3_000;

    fn accumulator(scores: &[(DocId, u32)]) -> ScoreAccumulator {
        let mut accumulator = ScoreAccumulator::default();
        accumulator.fit(ITEMS as usize);
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
            scores.joined(scores.whole.get(doc), parts)
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
