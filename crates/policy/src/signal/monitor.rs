//! All sources of a host, with the beliefs of its runs: what a kernel asks.

use std::fmt;
use std::sync::Arc;

use weaver_types::RunId;

use super::belief::Belief;
use super::belief_book::BeliefBook;
use super::calibration_flags::CalibrationFlags;
use super::call_context::{CallContext, FinishedCall, ProposedCall};
use super::report::SignalReport;
use super::source::{SignalError, SignalSource};

/// The name under which a failure of the belief book stands.
const BOOK: &str = "belief-book";

/// All sources of a host, with the beliefs of its runs. Without sources it does nothing.
#[derive(Default)]
pub struct SignalMonitor {
    sources: Vec<Arc<dyn SignalSource>>,
    calibration: Option<Arc<CalibrationFlags>>,
    book: BeliefBook,
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
        Self { sources, calibration: None, book: BeliefBook::new() }
    }

    /// The same with one more source, which a kernel fills with the outcomes that its ledger has.
    #[must_use]
    pub fn with_calibration(mut self, flags: Arc<CalibrationFlags>) -> Self {
        self.sources.push(Arc::clone(&flags) as Arc<dyn SignalSource>);
        self.calibration = Some(flags);
        self
    }

    /// The source that knows how well calibrated the classes of beliefs are.
    #[must_use]
    pub fn calibration(&self) -> Option<&CalibrationFlags> {
        self.calibration.as_deref()
    }

    /// True without sources: nothing is watched, and nothing is ever reported.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.sources.is_empty()
    }

    /// Tells every source of a finished call, and notes the belief that it brings into its run.
    ///
    /// # Errors
    /// [`SignalError`], when the call could not be noted. Whoever ignores it is safe: a book in
    /// disorder fails for every later call, and a run with a gap counts as depending on every belief.
    pub fn observe(&self, seen: &FinishedCall<'_>) -> Result<(), SignalError> {
        if self.sources.is_empty() {
            return Ok(());
        }
        for source in &self.sources {
            source.observe(seen);
        }
        self.book.observe(seen)
    }

    /// Notes a belief of the host's own: a memory that was recalled, a claim that was made.
    /// `finished` is the number of calls of the run that had finished before.
    ///
    /// # Errors
    /// [`SignalError`], when the belief could not be noted.
    pub fn learn(&self, run: &RunId, finished: u64, belief: Belief) -> Result<(), SignalError> {
        if self.sources.is_empty() { Ok(()) } else { self.book.learn(run, finished, belief) }
    }

    /// What all sources say about this call.
    #[must_use]
    pub fn report(&self, call: &ProposedCall<'_>) -> SignalReport {
        if self.sources.is_empty() {
            return SignalReport::none();
        }
        match self.book.dependencies(call.run, call.finished, call.declaration) {
            Ok(dependencies) => {
                let situation = CallContext {
                    run: call.run,
                    capability: call.capability,
                    operation: call.operation,
                    finished: call.finished,
                    dependencies: &dependencies,
                };
                SignalReport::gather(&self.sources, &situation)
            }
            Err(error) => SignalReport::none().with_failure(BOOK, &error),
        }
    }

    /// Forgets the beliefs of a run that is over. Sources have a bounded memory of their own.
    pub fn forget(&self, run: &RunId) {
        self.book.forget(run);
    }
}
