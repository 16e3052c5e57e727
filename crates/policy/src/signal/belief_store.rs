//! Stores the beliefs of each run, because a call that declares none depends on all of them.

use std::collections::BTreeMap;
use std::sync::Mutex;

use weaver_types::RunId;

use super::belief::Belief;
use super::belief_ids::{BeliefClass, BeliefId};
use super::call_context::FinishedCall;
use super::dependencies::{BeliefDeclaration, BeliefDependencies, MAX_BELIEFS};
use super::recent_runs::{RecentRuns, RememberedRun};
use super::signal_source::SignalError;

/// The maximum number of runs that are remembered.
pub const MAX_RUNS: usize = 1_024;

/// The beliefs of each run: at most [`MAX_RUNS`] runs with [`MAX_BELIEFS`] beliefs each. Within a
/// run, recording a belief again can only make it worse, so a later trusted read cannot hide an
/// earlier doubtful one.
#[derive(Debug)]
pub struct BeliefStore {
    runs: Mutex<RecentRuns<RunBeliefs>>,
}

#[derive(Debug, Default)]
struct RunBeliefs {
    beliefs: BTreeMap<(BeliefId, BeliefClass), Belief>,
    full: bool,
}

impl Default for BeliefStore {
    fn default() -> Self {
        Self::new()
    }
}

impl BeliefStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self { runs: Mutex::new(RecentRuns::new(MAX_RUNS)) }
    }

    /// Records the belief that a finished call adds to its run.
    ///
    /// # Errors
    /// [`SignalError`] if the lock is poisoned, or if the capability's id is not a valid name. In
    /// the second case, the run counts as incomplete.
    pub fn observe(&self, finished_call: &FinishedCall<'_>) -> Result<(), SignalError> {
        match Belief::from_call(finished_call) {
            Ok(belief) => self.record_belief(finished_call.run, finished_call.finished, belief),
            Err(error) => {
                let mut runs = self.runs.lock().map_err(|_| SignalError::Poisoned)?;
                runs.touch(finished_call.run, finished_call.finished).full = true;
                Err(error.into())
            }
        }
    }

    /// Records a belief. `finished` is the number of calls of the run that had finished when the
    /// belief was formed, not counting the call that led to it.
    ///
    /// # Errors
    /// [`SignalError::Poisoned`].
    pub fn record_belief(
        &self,
        run: &RunId,
        finished: u64,
        belief: Belief,
    ) -> Result<(), SignalError> {
        let mut runs = self.runs.lock().map_err(|_| SignalError::Poisoned)?;
        let run_beliefs = runs.touch(run, finished);
        let key = (belief.id.clone(), belief.class.clone());
        if let Some(known) = run_beliefs.beliefs.get_mut(&key) {
            *known = belief.worst_of(known);
        } else if run_beliefs.beliefs.len() < MAX_BELIEFS {
            run_beliefs.beliefs.insert(key, belief);
        } else {
            run_beliefs.full = true;
        }
        Ok(())
    }

    /// The beliefs on which a call of this run depends: the declared ones, or all of the run's if
    /// none are declared. A declared belief that the run does not have counts as the worst.
    ///
    /// # Errors
    /// [`SignalError`] if the lock is poisoned.
    pub fn dependencies(
        &self,
        run: &RunId,
        finished: u64,
        declaration: &BeliefDeclaration,
    ) -> Result<BeliefDependencies, SignalError> {
        let runs = self.runs.lock().map_err(|_| SignalError::Poisoned)?;
        let RememberedRun { value: run_beliefs, complete: is_complete } =
            runs.recall(run, finished);
        let all = || run_beliefs.into_iter().flat_map(|run_beliefs| run_beliefs.beliefs.values());
        let decision = declaration.decision.clone();
        if declaration.beliefs.is_empty() {
            let mut out = BeliefDependencies::new(all().cloned().collect(), decision);
            out.complete &= is_complete && run_beliefs.is_none_or(|run_beliefs| !run_beliefs.full);
            return Ok(out);
        }
        let mut beliefs = Vec::new();
        for id in declaration.beliefs.iter().take(MAX_BELIEFS + 1) {
            let before = beliefs.len();
            beliefs.extend(all().filter(|belief| belief.id == *id).cloned());
            if beliefs.len() == before {
                beliefs.push(Belief::unknown(id.clone())?);
            }
        }
        Ok(BeliefDependencies::new(beliefs, decision))
    }

    /// Forgets a finished run.
    pub fn forget(&self, run: &RunId) {
        if let Ok(mut runs) = self.runs.lock() {
            runs.forget(run);
        }
    }

    /// The number of remembered beliefs over all runs.
    #[must_use]
    pub fn belief_count(&self) -> usize {
        let count = |runs: &RecentRuns<RunBeliefs>| {
            runs.values().map(|run_beliefs| run_beliefs.beliefs.len()).sum()
        };
        self.runs.lock().map_or(0, |runs| count(&runs))
    }

    /// The number of remembered runs.
    #[must_use]
    pub fn run_count(&self) -> usize {
        self.runs.lock().map_or(0, |runs| runs.len())
    }
}
