//! Words and meaning in one score: each as its distance from its own mean.

use crate::fixed::ONE;

/// How much meaning counts beside words, in units of 1/65,536.
pub(super) const MEANING: i64 = ONE as i64 * 6 / 5;

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
        let place = (i128::from(value) - i128::from(self.mean)) * i128::from(ONE);
        i64::try_from(place / i128::from(self.width)).unwrap_or(i64::MAX)
    }
}

/// The common score of each candidate, from the score of its words and how near it is.
pub(super) fn fuse(candidates: &[(u32, i64)], meaning: i64) -> Vec<i64> {
    let words = Spread::of(candidates.iter().map(|(words, _)| i64::from(*words)));
    let near = Spread::of(candidates.iter().map(|(_, near)| *near));
    let one = |(score, how_near): &(u32, i64)| {
        let far = i128::from(near.place(*how_near)) * i128::from(meaning) / i128::from(ONE);
        words.place(i64::from(*score)).saturating_add(i64::try_from(far).unwrap_or(i64::MAX))
    };
    candidates.iter().map(one).collect()
}

/// Scores so that their mean is zero and the best is one, in units of 1/65,536.
pub(super) fn level(scores: &mut [i64]) {
    let count = i64::try_from(scores.len()).unwrap_or(i64::MAX).max(1);
    let mean = scores.iter().copied().fold(0_i64, i64::saturating_add) / count;
    let best = scores.iter().copied().max().unwrap_or(0);
    let width = i128::from(best.saturating_sub(mean).max(1));
    for score in scores {
        let place = (i128::from(*score) - i128::from(mean)) * i128::from(ONE) / width;
        *score = i64::try_from(place).unwrap_or(i64::MIN);
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
    fn meaning_breaks_a_tie_of_words_and_words_one_of_meaning() {
        let fused = fuse(&[(100, 10), (100, 20), (90, 20)], MEANING);
        assert!(fused[1] > fused[0] && fused[1] > fused[2]);
        let flat = fuse(&[(100, 10), (90, 10)], MEANING);
        assert!(flat[0] > flat[1]);
        assert!(fuse(&[], MEANING).is_empty());
    }

    #[test]
    fn levelled_scores_have_their_best_at_one() {
        let mut scores = [10, 20, 30];
        level(&mut scores);
        assert_eq!(scores, [-65_536, 0, 65_536]);
        level(&mut []);
    }
}
