//! Estimates how likely it is that the first item of a ranking is right.

use serde::Serialize;

use super::ranker::RankedDoc;
use crate::fixed_point::{self, ONE};

/// With a lower confidence, in thousandths, no item is considered to fit.
const MIN_CONFIDENCE: u32 = 150;
/// A ranking is ambiguous if the second score is at least this share of the first, in thousandths.
const AMBIGUITY_THRESHOLD: u64 = 900;

/// The features from which the confidence is computed, each in thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct RankingFeatures {
    /// The lexical score of the first item as a share of the maximum.
    pub coverage: u32,
    /// By what share of the first score the second item is behind.
    pub margin: u32,
    /// The semantic similarity of the first item and the query, if it was computed.
    pub nearness: Option<i32>,
}

impl RankingFeatures {
    /// The features of a ranking, given the highest lexical score that is possible for the query.
    pub(super) fn from_ranking(ranked: &[RankedDoc], max_score: u64) -> Self {
        let Some(first) = ranked.first() else { return Self::default() };
        let second = ranked.iter().skip(1).find(|ranked| !ranked.is_near_duplicate);
        let behind = first.score.saturating_sub(second.map_or(0, |second| second.score));
        let near = first.similarity.map(|near| i32::try_from((near * 1000) >> 16).unwrap_or(0));
        Self {
            coverage: thousandths(u64::from(first.lexical_score), max_score),
            margin: thousandths(behind, first.score),
            nearness: near,
        }
    }

    /// The estimated probability that the first item is right, in thousandths, by logistic regression.
    /// The models were fitted on requests with the right item in the catalog, and on the same requests
    /// with it removed.
    pub(super) fn confidence(self) -> u32 {
        let (coverage, margin) = (i64::from(self.coverage), i64::from(self.margin));
        let log_odds = match self.nearness {
            None => LEXICAL_MODEL.0 + LEXICAL_MODEL.1 * coverage + LEXICAL_MODEL.2 * margin,
            Some(near) => {
                HYBRID_MODEL.0 + HYBRID_MODEL.1 * margin + HYBRID_MODEL.2 * i64::from(near)
            }
        };
        logistic(log_odds)
    }

    /// Whether probably no item fits.
    pub(super) fn is_no_match(self) -> bool {
        self.confidence() < MIN_CONFIDENCE
    }

    /// Whether the second item is about as good as the first.
    pub(super) fn is_ambiguous(self) -> bool {
        u64::from(self.margin) < 1000 - AMBIGUITY_THRESHOLD
    }
}

/// The intercept and the coefficients of coverage and margin, in millionths per thousandth.
const LEXICAL_MODEL: (i64, i64, i64) = (-2_472_000, 2_158, 2_527);
/// The intercept and the coefficients of margin and nearness. Coverage says nothing beside these: its
/// fitted coefficient is slightly negative.
const HYBRID_MODEL: (i64, i64, i64) = (-4_247_000, 4_385, 5_188);

fn thousandths(part: u64, whole: u64) -> u32 {
    let share = fixed_point::ratio(part, whole).min(ONE);
    u32::try_from(share * 1000 / ONE).unwrap_or(1000)
}

/// `1000 / (1 + e^-x)` for x in millionths, by linear interpolation between steps of 0.25.
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
            let float = 1000.0 / (1.0 + (-(x as f64) / 1e6).exp());
            assert!((f64::from(logistic(x)) - float).abs() < 3.5, "{x}: {} {float}", logistic(x));
        }
    }

    #[test]
    fn more_evidence_is_more_confidence() {
        let evidence = |coverage, margin| RankingFeatures { coverage, margin, nearness: None };
        assert!(evidence(0, 0).is_no_match() && evidence(0, 0).is_ambiguous());
        assert!(evidence(900, 500).confidence() > evidence(900, 100).confidence());
        assert!(evidence(900, 500).confidence() > evidence(300, 500).confidence());
        assert!(!evidence(900, 500).is_no_match());
        let near = |margin, near| RankingFeatures { coverage: 0, margin, nearness: Some(near) };
        assert!(near(100, 200).is_no_match() && !near(100, 700).is_no_match());
        assert!(near(500, 700).confidence() > near(100, 700).confidence());
    }
}
