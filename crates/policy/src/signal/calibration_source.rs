//! A signal source that flags beliefs of badly calibrated classes.

use std::collections::BTreeMap;
use std::sync::Mutex;

use super::belief::Belief;
use super::belief_ids::BeliefClass;
use super::calibration::{
    Calibration, CalibrationSample, CalibrationThresholds, Calibrator, ClassOutcomes,
};
use super::call_context::CallContext;
use super::signal_source::{SignalError, SignalSource};
use super::{Severity, Signal, SignalKind, SignalSubject};

/// Flags a call that depends on a belief of a badly calibrated class.
#[derive(Debug, Default)]
pub struct CalibrationSource {
    calibrator: Mutex<Calibrator>,
}

impl CalibrationSource {
    /// A source with these thresholds and no samples.
    #[must_use]
    pub fn new(bounds: CalibrationThresholds) -> Self {
        Self { calibrator: Mutex::new(Calibrator::new(bounds)) }
    }

    /// Counts a sample.
    ///
    /// # Errors
    /// [`SignalError::Poisoned`].
    pub fn record(&self, sample: &CalibrationSample) -> Result<(), SignalError> {
        self.calibrator.lock().map_err(|_| SignalError::Poisoned)?.record(sample);
        Ok(())
    }

    /// Restores the stored outcomes of a class.
    ///
    /// # Errors
    /// [`SignalError::Poisoned`].
    pub fn restore(&self, class: BeliefClass, outcomes: ClassOutcomes) -> Result<(), SignalError> {
        self.calibrator.lock().map_err(|_| SignalError::Poisoned)?.restore(class, outcomes);
        Ok(())
    }

    /// The calibration of a class; `None` without samples.
    ///
    /// # Errors
    /// [`SignalError::Poisoned`].
    pub fn class(&self, class: &BeliefClass) -> Result<Option<Calibration>, SignalError> {
        Ok(self.calibrator.lock().map_err(|_| SignalError::Poisoned)?.class(class))
    }

    fn flag(&self, subject: SignalSubject, detail: String) -> Signal {
        let (kind, severity) = (SignalKind::CalibrationFlag, Severity::Warning);
        Signal { source: self.name().to_owned(), kind, severity, subject, detail }
    }
}

impl SignalSource for CalibrationSource {
    fn name(&self) -> &str {
        "calibration-flags"
    }

    fn signals(&self, context: &CallContext<'_>) -> Result<Vec<Signal>, SignalError> {
        let calibrator = self.calibrator.lock().map_err(|_| SignalError::Poisoned)?;
        let dependencies = context.dependencies;
        let mut first: BTreeMap<&BeliefClass, &Belief> = BTreeMap::new();
        for belief in dependencies.beliefs() {
            first.entry(&belief.class).or_insert(belief);
        }
        let mut out: Vec<_> = first
            .into_iter()
            .filter(|(class, _)| calibrator.is_flagged(class))
            .map(|(class, belief)| {
                let lost =
                    if calibrator.class(class).is_none() { ": its samples were lost" } else { "" };
                let detail = format!("class `{class}` is badly calibrated{lost}");
                self.flag(SignalSubject::Belief(belief.id.clone()), detail)
            })
            .collect();
        let any = calibrator.is_full() || calibrator.flagged().next().is_some();
        if !dependencies.is_complete() && any {
            let detail = "beliefs were forgotten, and there are badly calibrated classes";
            out.push(self.flag(SignalSubject::ToolSequence, detail.to_owned()));
        }
        Ok(out)
    }
}
