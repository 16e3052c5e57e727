//! Every belief that a run has met, so that a call which declares nothing depends on all of them.

use std::collections::BTreeMap;
use std::sync::Mutex;

use weaver_types::RunId;

use super::belief::Belief;
use super::call_context::FinishedCall;
use super::dependencies::{Declaration, Dependencies, MAX_BELIEFS};
use super::name::{BeliefClass, BeliefId};
use super::run_memory::{Recollection, RunMemory};
use super::source::SignalError;

/// How many runs are remembered at once.
pub const MAX_RUNS: usize = 1_024;

/// The beliefs of each run: at most [`MAX_RUNS`] runs of [`MAX_BELIEFS`] beliefs. Within a run a
/// belief only gets worse: what makes it look better is another belief.
#[derive(Debug)]
pub struct BeliefBook {
    runs: Mutex<RunMemory<RunBeliefs>>,
}

#[derive(Debug, Default)]
struct RunBeliefs {
    beliefs: BTreeMap<(BeliefId, BeliefClass), Belief>,
    full: bool,
}

impl Default for BeliefBook {
    fn default() -> Self {
        Self::new()
    }
}

impl BeliefBook {
    /// An empty book.
    #[must_use]
    pub fn new() -> Self {
        Self { runs: Mutex::new(RunMemory::new(MAX_RUNS)) }
    }

    /// Takes note of what a finished call brought into its run.
    ///
    /// # Errors
    /// [`SignalError`], when the book is in disorder, or the call makes no name: the run then
    /// counts as one of which something was forgotten.
    pub fn observe(&self, seen: &FinishedCall<'_>) -> Result<(), SignalError> {
        match Belief::of_call(seen) {
            Ok(belief) => self.learn(seen.run, seen.finished, belief),
            Err(error) => {
                let mut runs = self.runs.lock().map_err(|_| SignalError::Poisoned)?;
                runs.touch(seen.run, seen.finished).full = true;
                Err(error.into())
            }
        }
    }

    /// Takes note of a belief. `finished` is the number of calls of the run that had finished
    /// when the belief was formed, the call that led to it not counted.
    ///
    /// # Errors
    /// [`SignalError::Poisoned`], when the book is in disorder.
    pub fn learn(&self, run: &RunId, finished: u64, belief: Belief) -> Result<(), SignalError> {
        let mut runs = self.runs.lock().map_err(|_| SignalError::Poisoned)?;
        let page = runs.touch(run, finished);
        let key = (belief.id.clone(), belief.class.clone());
        if let Some(known) = page.beliefs.get_mut(&key) {
            *known = belief.worse(known);
        } else if page.beliefs.len() < MAX_BELIEFS {
            page.beliefs.insert(key, belief);
        } else {
            page.full = true;
        }
        Ok(())
    }

    /// What a call of this run depends on: the beliefs that were declared, or every belief of the
    /// run where none was. A declared belief that the run has not met counts as the worst.
    ///
    /// # Errors
    /// [`SignalError`], when the book is in disorder.
    pub fn dependencies(
        &self,
        run: &RunId,
        finished: u64,
        declaration: &Declaration,
    ) -> Result<Dependencies, SignalError> {
        let runs = self.runs.lock().map_err(|_| SignalError::Poisoned)?;
        let Recollection { value: page, complete: remembered } = runs.recall(run, finished);
        let all = || page.into_iter().flat_map(|page| page.beliefs.values());
        let decision = declaration.decision.clone();
        if declaration.beliefs.is_empty() {
            let mut out = Dependencies::of(all().cloned().collect(), decision);
            out.complete &= remembered && page.is_none_or(|page| !page.full);
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
        Ok(Dependencies::of(beliefs, decision))
    }

    /// Forgets a run that is over.
    pub fn forget(&self, run: &RunId) {
        if let Ok(mut runs) = self.runs.lock() {
            runs.forget(run);
        }
    }

    /// How many beliefs are remembered, over all runs.
    #[must_use]
    pub fn beliefs(&self) -> usize {
        let count =
            |runs: &RunMemory<RunBeliefs>| runs.values().map(|page| page.beliefs.len()).sum();
        self.runs.lock().map_or(0, |runs| count(&runs))
    }

    /// How many runs are remembered.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.runs.lock().map_or(0, |runs| runs.len())
    }
}
