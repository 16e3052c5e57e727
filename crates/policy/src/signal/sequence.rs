//! The sentinel that watches the order of calls of a run.
//!
//! Read here, reach out, then write: the order in which data is carried off or a foreign instruction
//! carried out. It is a subsequence and not a substring, so harmless calls in between hide nothing.

use std::collections::VecDeque;
use std::sync::Mutex;

use weaver_types::{Effects, Impact, Operation, RunId, World};

use super::belief_book::MAX_RUNS;
use super::call_context::{CallContext, FinishedCall};
use super::run_memory::{Recollection, RunMemory};
use super::source::{SignalError, SignalSource};
use super::{Severity, Signal, SignalKind, Subject};

/// How many finished calls of a run are remembered.
pub const SEQUENCE_WINDOW: usize = 16;

/// The sentinel against a run that reads here, reaches out, and then writes: an alert on a write
/// that would complete this order within the last [`SEQUENCE_WINDOW`] calls and itself.
///
/// It judges the write before it happens. Reads are never its business, neither are views, which
/// have no effect, nor calls that did not happen.
#[derive(Debug)]
pub struct AnomalousToolSequence {
    runs: Mutex<RunMemory<VecDeque<Effects>>>,
}

impl Default for AnomalousToolSequence {
    fn default() -> Self {
        Self::new()
    }
}

impl AnomalousToolSequence {
    /// A sentinel that has seen nothing. It remembers [`MAX_RUNS`] runs.
    #[must_use]
    pub fn new() -> Self {
        Self { runs: Mutex::new(RunMemory::new(MAX_RUNS)) }
    }

    /// Forgets a run that is over.
    pub fn forget(&self, run: &RunId) {
        if let Ok(mut runs) = self.runs.lock() {
            runs.forget(run);
        }
    }

    /// How many runs are remembered.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.runs.lock().map_or(0, |runs| runs.len())
    }

    fn alert(&self, severity: Severity, detail: &str) -> Signal {
        Signal {
            source: self.name().to_owned(),
            kind: SignalKind::SentinelAlert,
            severity,
            subject: Subject::ToolSequence,
            detail: detail.to_owned(),
        }
    }
}

impl SignalSource for AnomalousToolSequence {
    fn name(&self) -> &str {
        "anomalous-tool-sequence"
    }

    fn observe(&self, seen: &FinishedCall<'_>) {
        // A lock left in disorder shows in `signals`, which denies.
        if let Ok(mut runs) = self.runs.lock() {
            let steps = runs.touch(seen.run, seen.finished);
            if seen.operation == Operation::View {
                return;
            }
            if steps.len() >= SEQUENCE_WINDOW {
                steps.pop_front();
            }
            steps.push_back(seen.effects);
        }
    }

    fn signals(&self, situation: &CallContext<'_>) -> Result<Vec<Signal>, SignalError> {
        let runs = self.runs.lock().map_err(|_| SignalError::Poisoned)?;
        let writes = situation.capability.spec().effects.writes();
        if !writes || situation.operation == Operation::View {
            return Ok(Vec::new());
        }
        let Recollection { value: steps, complete } =
            runs.recall(situation.run, situation.finished);
        let steps = steps.map(VecDeque::iter).unwrap_or_default();
        // A window that is full again holds everything that matters.
        let complete = complete || steps.len() >= SEQUENCE_WINDOW;
        if read_then_outside(steps) {
            let detail = "a local read, then a call to the outside, and now a write";
            return Ok(vec![self.alert(Severity::Critical, detail)]);
        }
        if !complete {
            let detail = "earlier calls of this run were forgotten";
            return Ok(vec![self.alert(Severity::Warning, detail)]);
        }
        Ok(Vec::new())
    }
}

/// Whether a local read stands somewhere before a call to the outside.
fn read_then_outside<'a>(steps: impl Iterator<Item = &'a Effects>) -> bool {
    let local_read =
        |effects: &&Effects| (effects.impact, effects.world) == (Impact::Read, World::Closed);
    steps.skip_while(|effects| !local_read(effects)).any(|effects| effects.world == World::Open)
}
