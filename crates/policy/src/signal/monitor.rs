//! The signal monitor: all signal sources of a host and the beliefs of its runs.

use std::fmt;
use std::sync::Arc;

use weaver_types::RunId;

use super::belief::Belief;
use super::belief_store::BeliefStore;
use super::calibration_source::CalibrationSource;
use super::call_context::{CallContext, FinishedCall, ProposedCall};
use super::signal_report::SignalReport;
use super::signal_source::{SignalError, SignalSource};

/// The source name for failures of the belief store.
const BELIEF_STORE_SOURCE: &str = "belief-book";

/// All signal sources of a host and the beliefs of its runs. Without sources it does nothing.
#[derive(Default)]
pub struct SignalMonitor {
    sources: Vec<Arc<dyn SignalSource>>,
    calibration: Option<Arc<CalibrationSource>>,
    beliefs: BeliefStore,
}

impl fmt::Debug for SignalMonitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.sources.iter().map(|source| source.name()).collect();
        f.debug_struct("SignalMonitor").field("sources", &names).finish_non_exhaustive()
    }
}

impl SignalMonitor {
    /// A monitor with these sources.
    #[must_use]
    pub fn new(sources: Vec<Arc<dyn SignalSource>>) -> Self {
        Self { sources, calibration: None, beliefs: BeliefStore::new() }
    }

    /// Adds the calibration source, which a kernel fills with the outcomes from its ledger.
    #[must_use]
    pub fn with_calibration(mut self, flags: Arc<CalibrationSource>) -> Self {
        self.sources.push(Arc::clone(&flags) as Arc<dyn SignalSource>);
        self.calibration = Some(flags);
        self
    }

    /// The calibration source, if there is one.
    #[must_use]
    pub fn calibration(&self) -> Option<&CalibrationSource> {
        self.calibration.as_deref()
    }

    /// True without sources: nothing is observed or reported.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.sources.is_empty()
    }

    /// Passes a finished call to every source, and records its belief.
    ///
    /// # Errors
    /// [`SignalError`] if the call could not be recorded. Ignoring it is safe: a poisoned store
    /// fails for every later call, and a run with a gap counts as depending on every belief.
    pub fn observe(&self, finished_call: &FinishedCall<'_>) -> Result<(), SignalError> {
        if self.sources.is_empty() {
            return Ok(());
        }
        for source in &self.sources {
            source.observe(finished_call);
        }
        self.beliefs.observe(finished_call)
    }

    /// Records a belief from the host, such as a recalled memory or a claim. `finished` is the
    /// number of calls of the run that had finished before.
    ///
    /// # Errors
    /// [`SignalError`] if the belief could not be recorded.
    pub fn record_belief(
        &self,
        run: &RunId,
        finished: u64,
        belief: Belief,
    ) -> Result<(), SignalError> {
        if self.sources.is_empty() {
            Ok(())
        } else {
            self.beliefs.record_belief(run, finished, belief)
        }
    }

    /// The signals of all sources about this call.
    #[must_use]
    pub fn report(&self, call: &ProposedCall<'_>) -> SignalReport {
        if self.sources.is_empty() {
            return SignalReport::none();
        }
        match self.beliefs.dependencies(call.run, call.finished, call.declaration) {
            Ok(dependencies) => {
                let context = CallContext {
                    run: call.run,
                    capability: call.capability,
                    operation: call.operation,
                    finished: call.finished,
                    dependencies: &dependencies,
                };
                SignalReport::collect(&self.sources, &context)
            }
            Err(error) => SignalReport::none().with_failure(BELIEF_STORE_SOURCE, &error),
        }
    }

    /// Forgets the beliefs of a finished run. The sources bound their own memory.
    pub fn forget(&self, run: &RunId) {
        self.beliefs.forget(run);
    }
}
