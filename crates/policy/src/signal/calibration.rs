//! Calibration: whether the beliefs of a class are correct as often as their confidence claims.
//!
//! Recorded outcomes are binned by confidence. The *expected calibration error* is the mean over
//! all samples of the difference between confidence and accuracy in their bin (Naeini, Cooper and
//! Hauskrecht, *Obtaining Well Calibrated Probabilities Using Bayesian Binning*, 2015; Guo et al.,
//! *On Calibration of Modern Neural Networks*, 2017); the *gap* is the same with its sign, and the
//! Brier score the mean square error. Sums are integers, so neither the order of the outcomes nor a
//! restart affects the result.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::belief::Confidence;
use super::belief_ids::BeliefClass;

/// The maximum number of classes.
pub const MAX_CLASSES: usize = 256;

/// The number of confidence bins.
const BINS: usize = 10;

/// A belief and its outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CalibrationSample {
    /// The class of the belief.
    pub class: BeliefClass,
    /// The agent's confidence.
    pub confidence: Confidence,
    /// Whether the belief was correct.
    pub correct: bool,
    /// Whether the outcome was invented for a test. Synthetic samples are not counted.
    pub synthetic: bool,
}

/// The thresholds from which a class is flagged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CalibrationThresholds {
    /// A class with fewer samples is never flagged.
    pub min_samples: u64,
    /// The expected calibration error from which a class is flagged, in thousandths.
    pub ece: u16,
    /// The absolute gap from which a class is flagged, in thousandths.
    pub gap: u16,
}

impl Default for CalibrationThresholds {
    /// 5 samples, 0.1 and 0.1.
    fn default() -> Self {
        Self { min_samples: 5, ece: 100, gap: 100 }
    }
}

/// The calibration of a class.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Calibration {
    /// The number of counted samples.
    pub samples: u64,
    /// The mean confidence minus the accuracy, from -1 to 1. Positive means overconfident.
    pub gap: f64,
    /// The mean squared difference of confidence and outcome, from 0 to 1.
    pub brier: f64,
    /// The expected calibration error over ten confidence bins, from 0 to 1.
    pub ece: f64,
    /// Whether a threshold is reached.
    pub flagged: bool,
}

/// Counts samples by class. It stores integer sums, not samples, so its memory does not depend on
/// the number of samples, and its results do not depend on their order.
#[derive(Debug, Default)]
pub struct Calibrator {
    bounds: CalibrationThresholds,
    classes: BTreeMap<BeliefClass, ClassOutcomes>,
    full: bool,
}

/// The outcomes of one class, as sums per confidence bin. A host stores them.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassOutcomes {
    bins: [Bin; BINS],
}

impl ClassOutcomes {
    /// Counts a sample, unless it is synthetic.
    pub fn add(&mut self, sample: &CalibrationSample) {
        let confidence = sample.confidence.as_thousandths();
        let place = (usize::from(confidence) * BINS / 1_000).min(BINS - 1);
        if let Some(bin) = self.bins.get_mut(place).filter(|_| !sample.synthetic) {
            bin.add(sample);
        }
    }

    /// The calibration of the class, judged by these thresholds.
    #[must_use]
    pub fn calibration(&self, bounds: &CalibrationThresholds) -> Calibration {
        let bins = &self.bins;
        let samples: u64 = bins.iter().map(|bin| bin.samples).fold(0, u64::saturating_add);
        let gap: i128 = bins.iter().map(|bin| bin.gap()).sum();
        let ece: i128 = bins.iter().map(|bin| bin.gap().abs()).sum();
        let square: u128 = bins.iter().map(|bin| u128::from(bin.square_error)).sum();
        let reached = |sum: i128, bound: u16| sum >= i128::from(bound) * i128::from(samples);
        let far = reached(ece, bounds.ece) || reached(gap.abs(), bounds.gap);
        Calibration {
            samples,
            gap: ratio(gap, samples, 1_000.0),
            brier: ratio(i128::try_from(square).unwrap_or(i128::MAX), samples, 1_000_000.0),
            ece: ratio(ece, samples, 1_000.0),
            flagged: samples > 0 && samples >= bounds.min_samples && far,
        }
    }
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Bin {
    samples: u64,
    correct: u64,
    /// Thousandths.
    confidence: u64,
    /// Millionths.
    square_error: u64,
}

impl Bin {
    fn add(&mut self, sample: &CalibrationSample) {
        let confidence = sample.confidence.as_thousandths();
        let outcome: u16 = if sample.correct { 1_000 } else { 0 };
        let error = u64::from(outcome.abs_diff(confidence));
        self.samples = self.samples.saturating_add(1);
        self.correct = self.correct.saturating_add(u64::from(sample.correct));
        self.confidence = self.confidence.saturating_add(u64::from(confidence));
        self.square_error = self.square_error.saturating_add(error * error);
    }

    /// The sum of confidence minus outcome, in thousandths.
    fn gap(self) -> i128 {
        i128::from(self.confidence) - 1_000 * i128::from(self.correct)
    }
}

impl Calibrator {
    /// A calibrator with these thresholds and no samples.
    #[must_use]
    pub fn new(bounds: CalibrationThresholds) -> Self {
        Self { bounds, ..Self::default() }
    }

    /// Counts a sample, unless it is synthetic. A sample of a new class beyond [`MAX_CLASSES`] is
    /// lost. From then on, every unknown class counts as flagged.
    pub fn record(&mut self, sample: &CalibrationSample) {
        if sample.synthetic {
            return;
        }
        if !self.classes.contains_key(&sample.class) && self.classes.len() >= MAX_CLASSES {
            self.full = true;
            return;
        }
        self.classes.entry(sample.class.clone()).or_default().add(sample);
    }

    /// Restores the stored outcomes of a class, replacing the current ones. A class beyond
    /// [`MAX_CLASSES`] is lost, as in [`Calibrator::record`].
    pub fn restore(&mut self, class: BeliefClass, outcomes: ClassOutcomes) {
        if !self.classes.contains_key(&class) && self.classes.len() >= MAX_CLASSES {
            self.full = true;
            return;
        }
        self.classes.insert(class, outcomes);
    }

    /// The calibration of this class; `None` without samples.
    #[must_use]
    pub fn class(&self, class: &BeliefClass) -> Option<Calibration> {
        self.classes.get(class).map(|outcomes| outcomes.calibration(&self.bounds))
    }

    /// Whether this class is flagged.
    #[must_use]
    pub fn is_flagged(&self, class: &BeliefClass) -> bool {
        self.class(class).map_or(self.full, |calibration| calibration.flagged)
    }

    /// Whether samples of further classes were lost, so a flagged class may be unknown.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// All flagged classes, sorted by name.
    pub fn flagged(&self) -> impl Iterator<Item = (&BeliefClass, Calibration)> {
        let measured = self.classes.iter();
        let measured =
            measured.map(|(class, outcomes)| (class, outcomes.calibration(&self.bounds)));
        measured.filter(|(_, calibration)| calibration.flagged)
    }
}

/// `sum` divided by `samples` and `unit`. It is rounded only once if the sums are below 2^53.
fn ratio(sum: i128, samples: u64, unit: f64) -> f64 {
    if samples == 0 {
        return 0.0;
    }
    // A figure to show; what is flagged is compared in integers.
    sum as f64 / (samples as f64 * unit)
}
