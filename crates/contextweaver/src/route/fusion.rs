//! Fuses lexical and semantic scores into one: the weighted sum of their z-scores.
//!
//! A lexical score and a cosine have no common scale. Each is normalised to its distance from the mean
//! over the candidates in standard deviations (z-score; Montague and Aslam 2001, "Relevance score
//! normalization for metasearch") and summed as in CombSUM (Fox and Shaw 1994). Reciprocal rank fusion
//! discards the margins and was two to four points worse here.

use crate::fixed_point::{self, ONE};

const ONE_SIGNED: i64 = ONE as i64;

// The weight of the semantic score relative to the lexical one, for a request whose words match
// hardly any item, and for one whose words match well.
const MAX_SEMANTIC_WEIGHT: i64 = ONE_SIGNED * 9 / 2;
const MIN_SEMANTIC_WEIGHT: i64 = ONE_SIGNED * 3 / 2;

/// The weight of the semantic score, given the best lexical score and the highest one possible.
///
/// If the words of a request match well, the vectors can only spoil the lexical order; if they do not,
/// the vectors are the only evidence. Between the two the weight falls linearly.
pub(super) fn semantic_weight(best: u64, all: u64) -> i64 {
    let explained = i64::try_from(fixed_point::ratio(best, all)).unwrap_or(i64::MAX);
    let (from, to) = (ONE_SIGNED / 10, ONE_SIGNED * 4 / 5);
    let share = mul_div(explained.clamp(from, to) - from, ONE_SIGNED, to - from);
    MAX_SEMANTIC_WEIGHT - mul_div(MAX_SEMANTIC_WEIGHT - MIN_SEMANTIC_WEIGHT, share, ONE_SIGNED)
}

/// The mean and standard deviation of some numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MeanAndDeviation {
    mean: i64,
    /// The standard deviation, at least one.
    std_dev: i64,
}

impl MeanAndDeviation {
    fn of(values: impl Iterator<Item = i64> + Clone) -> Self {
        let count = i64::try_from(values.clone().count()).unwrap_or(i64::MAX).max(1);
        let mean = values.clone().fold(0_i64, i64::saturating_add) / count;
        let far = |value: i64| u128::from(value.abs_diff(mean)).pow(2);
        let squares = values.map(far).fold(0_u128, u128::saturating_add);
        let std_dev = (squares / u128::from(count.unsigned_abs())).isqrt().max(1);
        Self { mean, std_dev: i64::try_from(std_dev).unwrap_or(i64::MAX) }
    }

    /// The z-score of a value, in units of 1/65,536.
    fn z_score(self, value: i64) -> i64 {
        mul_div(value.saturating_sub(self.mean), ONE_SIGNED, self.std_dev)
    }
}

/// The fused score of each candidate, from its lexical score and its similarity.
pub(super) fn fuse(candidates: &[(u32, i64)], semantic_weight: i64) -> Vec<i64> {
    let words = MeanAndDeviation::of(candidates.iter().map(|(words, _)| i64::from(*words)));
    let near = MeanAndDeviation::of(candidates.iter().map(|(_, near)| *near));
    let one = |(score, how_near): &(u32, i64)| {
        let far = mul_div(near.z_score(*how_near), semantic_weight, ONE_SIGNED);
        words.z_score(i64::from(*score)).saturating_add(far)
    };
    candidates.iter().map(one).collect()
}

/// Rescales scores so that their mean is zero and the best is one, in units of 1/65,536.
pub(super) fn normalise_to_best(scores: &mut [i64]) {
    let count = i64::try_from(scores.len()).unwrap_or(i64::MAX).max(1);
    let mean = scores.iter().copied().fold(0_i64, i64::saturating_add) / count;
    let best = scores.iter().copied().max().unwrap_or(0);
    let std_dev = best.saturating_sub(mean).max(1);
    for score in scores {
        *score = mul_div(score.saturating_sub(mean), ONE_SIGNED, std_dev);
    }
}

/// `value * of / whole`, rounded towards zero and saturated.
fn mul_div(value: i64, of: i64, whole: i64) -> i64 {
    match value.checked_mul(of) {
        // A 64-bit division is several times faster than a 128-bit one.
        Some(product) => product / whole,
        None => {
            let share = i128::from(value) * i128::from(of) / i128::from(whole);
            let most = if share < 0 { i64::MIN } else { i64::MAX };
            i64::try_from(share).unwrap_or(most)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_that_of_its_numbers() {
        let spread = MeanAndDeviation::of([4, 4, 6, 6].into_iter());
        assert_eq!(spread, MeanAndDeviation { mean: 5, std_dev: 1 });
        assert_eq!(spread.z_score(7), 2 * 65_536);
        assert_eq!(MeanAndDeviation::of([].into_iter()).z_score(5), 5 * 65_536);
    }

    #[test]
    fn meaning_counts_less_the_more_the_words_explain() {
        assert_eq!(
            (semantic_weight(0, 100), semantic_weight(5, 100)),
            (MAX_SEMANTIC_WEIGHT, MAX_SEMANTIC_WEIGHT)
        );
        assert_eq!(
            (semantic_weight(80, 100), semantic_weight(200, 100), semantic_weight(0, 0)),
            (MIN_SEMANTIC_WEIGHT, MIN_SEMANTIC_WEIGHT, MAX_SEMANTIC_WEIGHT)
        );
        assert!((0..100).all(|best| semantic_weight(best, 100) >= semantic_weight(best + 1, 100)));
    }

    #[test]
    fn short_and_long_products_agree() {
        assert_eq!((mul_div(-7, 3, 2), mul_div(7, 3, 2)), (-10, 10));
        assert_eq!(mul_div(i64::MAX, 4, 8), i64::MAX / 2);
        assert_eq!((mul_div(i64::MIN, 4, 1), mul_div(i64::MAX, 4, 1)), (i64::MIN, i64::MAX));
    }

    #[test]
    fn meaning_breaks_a_tie_of_words_and_words_one_of_meaning() {
        let fused = fuse(&[(100, 10), (100, 20), (90, 20)], MAX_SEMANTIC_WEIGHT);
        assert!(fused[1] > fused[0] && fused[1] > fused[2]);
        let flat = fuse(&[(100, 10), (90, 10)], MAX_SEMANTIC_WEIGHT);
        assert!(flat[0] > flat[1]);
        assert!(fuse(&[], MAX_SEMANTIC_WEIGHT).is_empty());
    }

    #[test]
    fn levelled_scores_have_their_best_at_one() {
        let mut scores = [10, 20, 30];
        normalise_to_best(&mut scores);
        assert_eq!(scores, [-65_536, 0, 65_536]);
        normalise_to_best(&mut []);
    }
}
