//! A step of a run: its change, its snapshot and its events in one batch.

use std::sync::Arc;

use weaver_types::ledger::{Batch, LedgerError, NewEvent, RecordKey, Replace, Ticket};
use weaver_types::{DecisionKey, EventKind, LocaleCode, RunBudget, RunId};

use crate::cached_run::{RunSlot, lock};
use crate::caller::Caller;
use crate::kernel::Kernel;
use crate::record::{HostFields, Payload, error_text, metadata};
use crate::run_state::{RunDelta, key};

/// How often a step is computed again because the run had changed under it.
const MAX_TRIES: usize = 256;

/// A step of a run.
pub(crate) struct Step<'a> {
    pub(crate) run: &'a RunId,
    pub(crate) slot: &'a RunSlot,
    /// Who begins the run, if it has not begun.
    pub(crate) opener: Option<Caller<'a>>,
    pub(crate) delta: RunDelta,
    /// What it does beside the run, and for as long as it is on its way what it does to the run.
    pub(crate) batch: Arc<Batch>,
    /// Whether the batch on its way begins the run.
    pub(crate) begins: bool,
    /// The budget that must have room for it.
    pub(crate) budget: Option<&'a RunBudget>,
}

/// A step that the ledger has, by its number in the run.
pub(super) struct SubmittedStep {
    pub(super) id: u64,
    pub(super) ticket: Ticket,
}

/// Why a step was not taken. Nothing of it was applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum StepError {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error("the run's cap `{0}` is used up")]
    Budget(&'static str),
}

/// Why something that happened is not in the log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RecordingError {
    #[error("the run's state cannot be read")]
    RunState,
    #[error("{0} has no recordable form")]
    Form(&'static str),
    #[error(transparent)]
    Step(#[from] StepError),
}

impl<'a> Step<'a> {
    pub(crate) fn new(
        caller: Caller<'a>,
        slot: &'a RunSlot,
        delta: RunDelta,
        batch: Batch,
    ) -> Self {
        Self { opener: Some(caller), ..Self::of_nobody(&caller.run.run_id, slot, delta, batch) }
    }

    /// A step of a run that has begun.
    pub(crate) fn of_nobody(
        run: &'a RunId,
        slot: &'a RunSlot,
        delta: RunDelta,
        batch: Batch,
    ) -> Self {
        let batch = Arc::new(batch);
        Self { run, slot, opener: None, delta, batch, begins: false, budget: None }
    }

    /// Adds the run's change to the batch.
    fn add(&mut self, replace: Replace, started: Option<NewEvent>) {
        let batch = Arc::make_mut(&mut self.batch);
        batch.replace.push(replace);
        self.begins = started.is_some();
        batch.events.splice(0..0, started);
    }

    /// Takes the run's change out of the batch again, for another try.
    fn take_back(&mut self) {
        let batch = Arc::make_mut(&mut self.batch);
        batch.replace.pop();
        batch.events.drain(..usize::from(self.begins));
    }
}

impl Kernel {
    /// Takes a step: done when it is committed.
    pub(crate) async fn step(&self, mut step: Step<'_>) -> Result<(), StepError> {
        let submitted = self.submit(&mut step)?;
        self.settle(step, submitted).await
    }

    /// Waits for a step that was submitted, and takes it again where the run had changed under it.
    pub(super) async fn settle(
        &self,
        mut step: Step<'_>,
        mut submitted: SubmittedStep,
    ) -> Result<(), StepError> {
        let mut tries = 1;
        loop {
            let SubmittedStep { id, ticket } = submitted;
            let outcome = ticket.await;
            let mut hot = lock(step.slot).ok_or_else(unusable)?;
            match outcome {
                Ok(_) => {
                    hot.landed(id);
                    return Ok(());
                }
                Err(LedgerError::Conflict { key }) if key == self.record_of(&step) => {
                    step.take_back();
                    if hot.counts_on(id) {
                        let stored = self.ledger.read(&key)?;
                        hot.reset(stored.as_ref()).map_err(|error| failed(&error.to_string()))?;
                    }
                }
                Err(error) => {
                    hot.refused(id);
                    return Err(error.into());
                }
            }
            drop(hot);
            // Asked before it is submitted: what was submitted may be committed, whoever waits for it.
            if tries == MAX_TRIES {
                let problem = "the run changes too fast; try again".to_owned();
                return Err(LedgerError::Malformed(problem).into());
            }
            tries += 1;
            submitted = self.submit(&mut step)?;
        }
    }

    fn record_of(&self, step: &Step<'_>) -> RecordKey {
        key(&self.settings.tenant, step.run)
    }

    /// Hands a step to the ledger, once, and gives its number in the run.
    pub(super) fn submit(&self, step: &mut Step<'_>) -> Result<SubmittedStep, StepError> {
        let tenant = &self.settings.tenant;
        let malformed = || LedgerError::Malformed("the run's state has no canonical form".into());
        let mut hot = lock(step.slot).ok_or_else(unusable)?;
        if hot.is_crowded() {
            let stored = self.ledger.read(&self.record_of(step))?;
            hot.reset(stored.as_ref()).map_err(|error| failed(&error.to_string()))?;
        }
        // Decided before; decided again now that nobody else can charge the run.
        if let Some(cap) = step.budget.and_then(|budget| hot.state().meters.exceeded(budget)) {
            return Err(StepError::Budget(cap));
        }
        let next = hot.state().clone().after(&step.delta);
        let put = hot.put(tenant, step.run, &next).ok_or_else(malformed)?;
        let replace = Replace { put, version: hot.expected() };
        let opener = step.opener.filter(|_| hot.is_fresh());
        let started =
            opener.map(|caller| self.started(caller).ok_or_else(malformed)).transpose()?;
        step.add(replace, started);
        let ticket = self.ledger.submit(Arc::clone(&step.batch));
        Ok(SubmittedStep { id: hot.launch(step.delta.clone(), next), ticket })
    }

    fn started(&self, caller: Caller<'_>) -> Option<NewEvent> {
        let run = caller.run;
        let host = HostFields::of(run, &self.firewall);
        Payload::new()
            .key(DecisionKey::RunStarted)
            .who(caller.principal)
            .with("run_agent", &run.agent)
            .maybe("locale", Some(run.settings.locale).filter(|l| *l != LocaleCode::default()))
            .maybe("session_id", host.session_id)
            .maybe("user_sid", host.user_sid)
            .maybe("metadata", metadata(run, &self.firewall))
            .with("intent", error_text(&self.firewall, &run.settings.intent))
            .with("safety_mode", run.settings.safety_mode)
            .with("trace_id", &run.trace_id)
            .event(EventKind::RunStarted, self.now(), &run.run_id, None)
    }
}

fn unusable() -> LedgerError {
    failed("a thread died while it held the run")
}

fn failed(problem: &str) -> LedgerError {
    LedgerError::Failed(problem.to_owned())
}
