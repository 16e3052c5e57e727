//! The confidence of a ranking in its first item.

use serde::Serialize;

use super::ranker::RankedDoc;
use crate::fixed_point::{self, ONE};

/// Below this, in thousandths, nothing fits.
const FITS: u32 = 150;
/// Two items are as good as one another where the second has so much of the first, in thousandths.
const AMBIGUOUS: u64 = 900;

/// What the confidence is made from, each in thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Evidence {
    /// How much of what the query's words are worth the first item has.
    pub coverage: u32,
    /// How far the second item is behind the first.
    pub margin: u32,
    /// How near the first item is to the query by meaning, where that was looked at.
    pub nearness: Option<i32>,
}

impl Evidence {
    /// From a ranking, and what all words of the query would be worth.
    pub(super) fn of(ranked: &[RankedDoc], worth: u64) -> Self {
        let Some(first) = ranked.first() else { return Self::default() };
        let second = ranked.iter().skip(1).find(|ranked| !ranked.copy);
        let behind = first.score.saturating_sub(second.map_or(0, |second| second.score));
        let near = first.near.map(|near| i32::try_from((near * 1000) >> 16).unwrap_or(0));
        Self {
            coverage: thousandths(u64::from(first.words), worth),
            margin: thousandths(behind, first.score),
            nearness: near,
        }
    }

    /// How likely it is that the first item is one that was asked for, in thousandths. Fitted on
    /// requests whose answer was there and on the same requests with it taken away.
    pub(super) fn confidence(self) -> u32 {
        let (coverage, margin) = (i64::from(self.coverage), i64::from(self.margin));
        let log_odds = match self.nearness {
            None => WORDS.0 + WORDS.1 * coverage + WORDS.2 * margin,
            Some(near) => {
                MEANING.0 + MEANING.1 * coverage + MEANING.2 * margin + MEANING.3 * i64::from(near)
            }
        };
        logistic(log_odds)
    }

    /// Whether nothing fits.
    pub(super) fn nothing_fits(self) -> bool {
        self.confidence() < FITS
    }

    /// Whether the second item is as good as the first.
    pub(super) fn is_ambiguous(self) -> bool {
        u64::from(self.margin) < 1000 - AMBIGUOUS
    }
}

/// Of a constant, coverage and margin, in millionths for each thousandth.
const WORDS: (i64, i64, i64) = (-2_472_000, 2_158, 2_527);
/// The same, and of nearness.
const MEANING: (i64, i64, i64, i64) = (-3_241_000, 786, 3_887, 2_727);

fn thousandths(part: u64, whole: u64) -> u32 {
    let share = fixed_point::ratio(part, whole).min(ONE);
    u32::try_from(share * 1000 / ONE).unwrap_or(1000)
}

/// `1000 / (1 + e^-x)` of millionths, by steps of a quarter with straight lines between.
fn logistic(x: i64) -> u32 {
    const STEPS: [u32; 25] = [
        500, 562, 622, 679, 731, 777, 818, 852, 881, 905, 924, 940, 953, 963, 971, 977, 982, 986,
        989, 991, 993, 995, 996, 997, 998,
    ];
    let size = x.unsigned_abs().min(6_000_000);
    let step = |at: u64| STEPS.get(usize::try_from(at).unwrap_or(24)).copied().unwrap_or(998);
    let (at, rest) = (size / 250_000, size % 250_000);
    let (low, high) = (u64::from(step(at)), u64::from(step((at + 1).min(24))));
    let value = low + (high - low) * rest / 250_000;
    let value = u32::try_from(value).unwrap_or(998);
    if x < 0 { 1000 - value } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_logistic_function_is_that_of_floating_point() {
        for x in (-60..=60).map(|x| i64::from(x) * 97_531) {
            #[expect(clippy::cast_precision_loss, reason = "a test of three digits")]
            let float = 1000.0 / (1.0 + (-(x as f64) / 1e6).exp());
            assert!((f64::from(logistic(x)) - float).abs() < 3.5, "{x}: {} {float}", logistic(x));
        }
    }

    #[test]
    fn more_evidence_is_more_confidence() {
        let evidence = |coverage, margin| Evidence { coverage, margin, nearness: None };
        assert!(evidence(0, 0).nothing_fits() && evidence(0, 0).is_ambiguous());
        assert!(evidence(900, 500).confidence() > evidence(900, 100).confidence());
        assert!(evidence(900, 500).confidence() > evidence(300, 500).confidence());
        assert!(!evidence(900, 500).nothing_fits());
    }
}
