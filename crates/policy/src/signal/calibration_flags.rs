//! The source that flags beliefs of a class which is badly calibrated.

use std::collections::BTreeMap;
use std::sync::Mutex;

use super::belief::Belief;
use super::calibration::{Bounds, Calibration, CalibrationSample, Calibrator, ClassOutcomes};
use super::call_context::{CallContext, FinishedCall};
use super::name::BeliefClass;
use super::source::{SignalError, SignalSource};
use super::{Severity, Signal, SignalKind, Subject};

/// Flags a call that depends on a belief of a class whose confidence and outcomes differ.
#[derive(Debug, Default)]
pub struct CalibrationFlags {
    calibrator: Mutex<Calibrator>,
}

impl CalibrationFlags {
    /// A source with these bounds and no samples.
    #[must_use]
    pub fn new(bounds: Bounds) -> Self {
        Self { calibrator: Mutex::new(Calibrator::new(bounds)) }
    }

    /// Counts a sample.
    ///
    /// # Errors
    /// [`SignalError::Poisoned`], when the memory is in disorder.
    pub fn record(&self, sample: &CalibrationSample) -> Result<(), SignalError> {
        self.calibrator.lock().map_err(|_| SignalError::Poisoned)?.record(sample);
        Ok(())
    }

    /// Takes over what was stored of a class.
    ///
    /// # Errors
    /// [`SignalError::Poisoned`], when the memory is in disorder.
    pub fn restore(&self, class: BeliefClass, outcomes: ClassOutcomes) -> Result<(), SignalError> {
        self.calibrator.lock().map_err(|_| SignalError::Poisoned)?.restore(class, outcomes);
        Ok(())
    }

    /// How well calibrated a class is; `None` without a sample.
    ///
    /// # Errors
    /// [`SignalError::Poisoned`], when the memory is in disorder.
    pub fn class(&self, class: &BeliefClass) -> Result<Option<Calibration>, SignalError> {
        Ok(self.calibrator.lock().map_err(|_| SignalError::Poisoned)?.class(class))
    }

    fn flag(&self, subject: Subject, detail: String) -> Signal {
        let (kind, severity) = (SignalKind::CalibrationFlag, Severity::Warning);
        Signal { source: self.name().to_owned(), kind, severity, subject, detail }
    }
}

impl SignalSource for CalibrationFlags {
    fn name(&self) -> &str {
        "calibration-flags"
    }

    fn observe(&self, _: &FinishedCall<'_>) {}

    fn signals(&self, situation: &CallContext<'_>) -> Result<Vec<Signal>, SignalError> {
        let calibrator = self.calibrator.lock().map_err(|_| SignalError::Poisoned)?;
        let dependencies = situation.dependencies;
        let mut first: BTreeMap<&BeliefClass, &Belief> = BTreeMap::new();
        for belief in dependencies.beliefs() {
            first.entry(&belief.class).or_insert(belief);
        }
        let mut out: Vec<_> = first
            .into_iter()
            .filter(|(class, _)| calibrator.is_flagged(class))
            .map(|(class, belief)| {
                let measured = match calibrator.class(class) {
                    Some(of) => {
                        format!("error {:.3}, gap {:.3}, {} samples", of.ece, of.gap, of.samples)
                    }
                    None => "its samples were lost".to_owned(),
                };
                let detail = format!("class `{class}` is badly calibrated: {measured}");
                self.flag(Subject::Belief(belief.id.clone()), detail)
            })
            .collect();
        let any = calibrator.is_full() || calibrator.flagged().next().is_some();
        if !dependencies.complete() && any {
            let detail = "beliefs were forgotten, and there are badly calibrated classes";
            out.push(self.flag(Subject::ToolSequence, detail.to_owned()));
        }
        Ok(out)
    }
}
