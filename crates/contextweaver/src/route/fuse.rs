//! Words and meaning in one score: each as its distance from its own mean.

use crate::fixed::ONE;

/// How much meaning counts beside words.
const MEANING: i128 = ONE as i128 * 12 / 10;

/// Mean and spread of a set of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Spread {
    mean: i64,
    /// The standard deviation, at least one.
    width: i64,
}

impl Spread {
    /// Of `count` numbers, from the sum of those that are not zero and the sum of their squares.
    pub(super) fn of(count: u64, sum: i128, squares: u128) -> Self {
        let count = i128::from(count.max(1));
        let mean = sum / count;
        let squares = i128::try_from(squares).unwrap_or(i128::MAX) / count;
        let variance = squares.saturating_sub(mean.saturating_mul(mean)).max(1);
        let width = variance.unsigned_abs().isqrt();
        Self {
            mean: i64::try_from(mean).unwrap_or(i64::MAX),
            width: i64::try_from(width).unwrap_or(i64::MAX).max(1),
        }
    }

    /// How many standard deviations above the mean, in units of 1/65,536.
    fn place(self, value: i64) -> i128 {
        (i128::from(value) - i128::from(self.mean)) * i128::from(ONE) / i128::from(self.width)
    }
}

/// The common score of each candidate: its words against those of all items, its meaning against
/// that of the candidates.
pub(super) fn fuse(words: Spread, candidates: &[(u32, i64)]) -> Vec<i128> {
    let sum = candidates.iter().map(|(_, meaning)| i128::from(*meaning)).sum();
    let squares = candidates.iter().map(|(_, m)| u128::from(m.unsigned_abs()).pow(2)).sum();
    let meaning = Spread::of(candidates.len() as u64, sum, squares);
    let one = |(score, near): &(u32, i64)| {
        words.place(i64::from(*score)) + ((MEANING * meaning.place(*near)) >> 16)
    };
    candidates.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_that_of_its_numbers() {
        let spread = Spread::of(4, 20, 16 + 16 + 36 + 36);
        assert_eq!(spread, Spread { mean: 5, width: 1 });
        assert_eq!(spread.place(7), 2 * i128::from(ONE));
    }

    #[test]
    fn meaning_breaks_a_tie_of_words_and_words_one_of_meaning() {
        let words = Spread::of(100, 300, 9_000);
        let fused = fuse(words, &[(100, 10), (100, 20), (90, 20)]);
        assert!(fused[1] > fused[0]);
        assert!(fused[1] > fused[2]);
        let flat = fuse(words, &[(100, 10), (90, 10)]);
        assert!(flat[0] > flat[1]);
    }
}
