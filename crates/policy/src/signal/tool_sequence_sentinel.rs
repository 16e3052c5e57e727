//! A sentinel that watches the order of a run's calls.
//!
//! It looks for a local read, then a call to the outside, then a write: the order in which data is
//! exfiltrated or a foreign instruction is followed. It matches a subsequence rather than a
//! contiguous sequence, so harmless calls in between cannot hide it.

use std::collections::VecDeque;
use std::sync::Mutex;

use weaver_types::{Effects, Impact, Operation, RunId, World};

use super::belief_store::MAX_RUNS;
use super::call_context::{CallContext, FinishedCall};
use super::recent_runs::{RecentRuns, RememberedRun};
use super::signal_source::{SignalError, SignalSource};
use super::{Severity, Signal, SignalKind, SignalSubject};

/// The number of finished calls that are remembered for each run.
pub const SEQUENCE_WINDOW: usize = 16;

/// Alerts on a write that would complete the sequence of local read, outside call and write, within
/// the last [`SEQUENCE_WINDOW`] calls and the write itself.
///
/// It judges the write before it is made. It never alerts on reads or views, and ignores calls that
/// were not made.
#[derive(Debug)]
pub struct ToolSequenceSentinel {
    runs: Mutex<RecentRuns<VecDeque<Effects>>>,
}

impl Default for ToolSequenceSentinel {
    fn default() -> Self {
        Self::new()
    }
}

impl ToolSequenceSentinel {
    /// A sentinel without history. It remembers [`MAX_RUNS`] runs.
    #[must_use]
    pub fn new() -> Self {
        Self { runs: Mutex::new(RecentRuns::new(MAX_RUNS)) }
    }

    /// Forgets a finished run.
    pub fn forget(&self, run: &RunId) {
        if let Ok(mut runs) = self.runs.lock() {
            runs.forget(run);
        }
    }

    /// The number of remembered runs.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.runs.lock().map_or(0, |runs| runs.len())
    }

    fn alert(&self, severity: Severity, detail: &str) -> Signal {
        Signal {
            source: self.name().to_owned(),
            kind: SignalKind::SentinelAlert,
            severity,
            subject: SignalSubject::ToolSequence,
            detail: detail.to_owned(),
        }
    }
}

impl SignalSource for ToolSequenceSentinel {
    fn name(&self) -> &str {
        "anomalous-tool-sequence"
    }

    fn observe(&self, finished_call: &FinishedCall<'_>) {
        // A poisoned lock is reported by `signals`, which returns an error.
        if let Ok(mut runs) = self.runs.lock() {
            let recent_effects = runs.touch(finished_call.run, finished_call.finished);
            if finished_call.operation == Operation::View {
                return;
            }
            if recent_effects.len() >= SEQUENCE_WINDOW {
                recent_effects.pop_front();
            }
            recent_effects.push_back(finished_call.effects);
        }
    }

    fn signals(&self, context: &CallContext<'_>) -> Result<Vec<Signal>, SignalError> {
        let runs = self.runs.lock().map_err(|_| SignalError::Poisoned)?;
        let writes = context.capability.spec().effects.writes();
        if !writes || context.operation == Operation::View {
            return Ok(Vec::new());
        }
        let RememberedRun { value: recent_effects, complete } =
            runs.recall(context.run, context.finished);
        let recent_effects = recent_effects.map(VecDeque::iter).unwrap_or_default();
        // A full window contains everything that matters, whatever was forgotten before.
        let complete = complete || recent_effects.len() >= SEQUENCE_WINDOW;
        if read_then_outside(recent_effects) {
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

/// Whether a local read precedes a call to the outside.
fn read_then_outside<'a>(recent_effects: impl Iterator<Item = &'a Effects>) -> bool {
    let local_read =
        |effects: &&Effects| (effects.impact, effects.world) == (Impact::Read, World::Closed);
    recent_effects
        .skip_while(|effects| !local_read(effects))
        .any(|effects| effects.world == World::Open)
}
