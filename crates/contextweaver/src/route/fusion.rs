//! Words and meaning in one score: the weighted sum of their z-scores.
//!
//! A score by words and a cosine have no common scale. Each is turned into its distance from its
//! own mean over the candidates in standard deviations (z-score normalisation; Montague and Aslam
//! 2001, "Relevance score normalization for metasearch") and added up as CombSUM does (Fox and
//! Shaw 1994). Reciprocal rank fusion throws the margins away and finds two to four points less
//! here.

use crate::fixed_point::{self, ONE};

const ONE_SIGNED: i64 = ONE as i64;

/// How much meaning counts beside words for a request that hardly any words explain, and for one
/// that they explain well.
const MOST: i64 = ONE_SIGNED * 11 / 5;
const LEAST: i64 = ONE_SIGNED * 3 / 10;

/// How much meaning counts for a request of which the best item has so much by its words, of all
/// that they could be worth.
///
/// Where the words of a request explain it, a table can only spoil their order; where they do not,
/// it is all there is. In between it falls in a straight line.
pub(super) fn meaning(best: u64, all: u64) -> i64 {
    let explained = i64::try_from(fixed_point::ratio(best, all)).unwrap_or(i64::MAX);
    let (from, to) = (ONE_SIGNED / 10, ONE_SIGNED * 4 / 5);
    let share = share(explained.clamp(from, to) - from, ONE_SIGNED, to - from);
    MOST - self::share(MOST - LEAST, share, ONE_SIGNED)
}

/// Mean and spread of some numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Spread {
    mean: i64,
    /// The standard deviation, at least one.
    width: i64,
}

impl Spread {
    fn of(values: impl Iterator<Item = i64> + Clone) -> Self {
        let count = i64::try_from(values.clone().count()).unwrap_or(i64::MAX).max(1);
        let mean = values.clone().fold(0_i64, i64::saturating_add) / count;
        let far = |value: i64| u128::from(value.abs_diff(mean)).pow(2);
        let squares = values.map(far).fold(0_u128, u128::saturating_add);
        let width = (squares / u128::from(count.unsigned_abs())).isqrt().max(1);
        Self { mean, width: i64::try_from(width).unwrap_or(i64::MAX) }
    }

    /// How many standard deviations above the mean, in units of 1/65,536.
    fn place(self, value: i64) -> i64 {
        share(value.saturating_sub(self.mean), ONE_SIGNED, self.width)
    }
}

/// The common score of each candidate, from the score of its words and how near it is.
pub(super) fn fuse(candidates: &[(u32, i64)], meaning: i64) -> Vec<i64> {
    let words = Spread::of(candidates.iter().map(|(words, _)| i64::from(*words)));
    let near = Spread::of(candidates.iter().map(|(_, near)| *near));
    let one = |(score, how_near): &(u32, i64)| {
        let far = share(near.place(*how_near), meaning, ONE_SIGNED);
        words.place(i64::from(*score)).saturating_add(far)
    };
    candidates.iter().map(one).collect()
}

/// Scores so that their mean is zero and the best is one, in units of 1/65,536.
pub(super) fn level(scores: &mut [i64]) {
    let count = i64::try_from(scores.len()).unwrap_or(i64::MAX).max(1);
    let mean = scores.iter().copied().fold(0_i64, i64::saturating_add) / count;
    let best = scores.iter().copied().max().unwrap_or(0);
    let width = best.saturating_sub(mean).max(1);
    for score in scores {
        *score = share(score.saturating_sub(mean), ONE_SIGNED, width);
    }
}

/// `value * of / whole`, rounded to zero; the greatest or least number where it does not fit.
fn share(value: i64, of: i64, whole: i64) -> i64 {
    match value.checked_mul(of) {
        // A division of 64 bits takes a fraction of the time of one of 128.
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
        let spread = Spread::of([4, 4, 6, 6].into_iter());
        assert_eq!(spread, Spread { mean: 5, width: 1 });
        assert_eq!(spread.place(7), 2 * 65_536);
        assert_eq!(Spread::of([].into_iter()).place(5), 5 * 65_536);
    }

    #[test]
    fn meaning_counts_less_the_more_the_words_explain() {
        assert_eq!((meaning(0, 100), meaning(5, 100)), (MOST, MOST));
        assert_eq!((meaning(80, 100), meaning(200, 100), meaning(0, 0)), (LEAST, LEAST, MOST));
        assert!((0..100).all(|best| meaning(best, 100) >= meaning(best + 1, 100)));
    }

    #[test]
    fn short_and_long_products_agree() {
        assert_eq!((share(-7, 3, 2), share(7, 3, 2)), (-10, 10));
        assert_eq!(share(i64::MAX, 4, 8), i64::MAX / 2);
        assert_eq!((share(i64::MIN, 4, 1), share(i64::MAX, 4, 1)), (i64::MIN, i64::MAX));
    }

    #[test]
    fn meaning_breaks_a_tie_of_words_and_words_one_of_meaning() {
        let fused = fuse(&[(100, 10), (100, 20), (90, 20)], MOST);
        assert!(fused[1] > fused[0] && fused[1] > fused[2]);
        let flat = fuse(&[(100, 10), (90, 10)], MOST);
        assert!(flat[0] > flat[1]);
        assert!(fuse(&[], MOST).is_empty());
    }

    #[test]
    fn levelled_scores_have_their_best_at_one() {
        let mut scores = [10, 20, 30];
        level(&mut scores);
        assert_eq!(scores, [-65_536, 0, 65_536]);
        level(&mut []);
    }
}
