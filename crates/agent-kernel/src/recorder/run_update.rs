//! One optimistic transaction on a run: its events and its new record in one batch, guarded by the
//! version of the record that the update was computed from.
//!
//! The guard makes the stored record the fold over the stored events at every moment. When another
//! update wins the race, the ledger reports a conflict on the run's record; the update is then
//! computed again on top of the newer state.

use std::sync::Arc;

use weaver_types::ledger::{Batch, CommitTicket, GuardedWrite, LedgerError, NewEvent, RecordKey};
use weaver_types::{DecisionKey, EventKind, LocaleCode, RunBudget, RunId};

use crate::cached_run::{RunSlot, lock_run};
use crate::caller::Caller;
use crate::event_payload::{EventPayload, HostFields, error_text, redacted_metadata};
use crate::run_state::{RunDelta, state_key};

use super::RunRecorder;

/// How often an update is tried when other updates of the same run keep winning the race.
const MAX_TRIES: usize = 256;

/// One update of a run, before its commit.
pub(crate) struct RunUpdate<'a> {
    pub(crate) run: &'a RunId,
    pub(crate) slot: &'a RunSlot,
    /// The caller that starts the run, if the run has no event yet. `None` for a run that has
    /// started.
    pub(crate) run_starter: Option<Caller<'a>>,
    pub(crate) delta: RunDelta,
    /// The batch to commit. While the update is in flight it also contains the run's own record.
    pub(crate) batch: Arc<Batch>,
    /// Whether the batch contains the event that starts the run.
    pub(crate) starts_run: bool,
    /// The budget that the update must not exceed.
    pub(crate) budget: Option<&'a RunBudget>,
    /// How many unreviewed writes the run must have: as many as those who released the call have seen.
    pub(crate) seen_writes: Option<u64>,
}

/// An update that was handed to the ledger, by its number in the run.
pub(crate) struct SubmittedUpdate {
    pub(crate) id: u64,
    pub(crate) ticket: CommitTicket,
}

/// Why an update was not applied. Nothing of it was applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RunUpdateError {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error("the run's cap `{0}` is used up")]
    Budget(&'static str),
    #[error("the run has written since the call was held")]
    UnreviewedWrite,
}

/// Why an event could not be recorded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RecordingError {
    #[error("the run's state cannot be read")]
    RunState,
    #[error("{0} has no recordable form")]
    Form(&'static str),
    #[error(transparent)]
    Step(#[from] RunUpdateError),
}

impl<'a> RunUpdate<'a> {
    pub(crate) fn new(
        caller: Caller<'a>,
        slot: &'a RunSlot,
        delta: RunDelta,
        batch: Batch,
    ) -> Self {
        Self {
            run_starter: Some(caller),
            ..Self::without_caller(&caller.run.run_id, slot, delta, batch)
        }
    }

    /// An update of a run that has started already.
    pub(crate) fn without_caller(
        run: &'a RunId,
        slot: &'a RunSlot,
        delta: RunDelta,
        batch: Batch,
    ) -> Self {
        let batch = Arc::new(batch);
        Self {
            run,
            slot,
            run_starter: None,
            delta,
            batch,
            starts_run: false,
            budget: None,
            seen_writes: None,
        }
    }

    /// Adds the run's new record to the batch, and the start event when the run starts with it.
    fn attach_run_record(&mut self, replace: GuardedWrite, started: Option<NewEvent>) {
        let batch = Arc::make_mut(&mut self.batch);
        batch.replace.push(replace);
        self.starts_run = started.is_some();
        // The start event comes first, before the events of the update itself.
        batch.events.splice(0..0, started);
    }

    /// Removes what [`Self::attach_run_record`] added, before the update is computed again.
    fn detach_run_record(&mut self) {
        let batch = Arc::make_mut(&mut self.batch);
        batch.replace.pop();
        batch.events.drain(..usize::from(self.starts_run));
    }
}

impl RunRecorder {
    /// Submits an update and waits until it is committed.
    pub(crate) async fn commit_run_update(
        &self,
        mut update: RunUpdate<'_>,
    ) -> Result<(), RunUpdateError> {
        let submitted = self.submit_run_update(&mut update)?;
        self.await_commit(update, submitted).await
    }

    /// Waits for a submitted update; computes it again when another update came first.
    ///
    /// Only a conflict on the run's own record is retried: any other conflict means that the call
    /// itself is no longer valid. The cached state is read again from the ledger only while this
    /// update still counts as in flight. If it does not, another task has already reset the cache,
    /// and a second reset would drop newer updates.
    pub(super) async fn await_commit(
        &self,
        mut update: RunUpdate<'_>,
        mut submitted: SubmittedUpdate,
    ) -> Result<(), RunUpdateError> {
        let mut tries = 1;
        loop {
            let SubmittedUpdate { id, ticket } = submitted;
            let outcome = ticket.await;
            let mut cached = lock_run(update.slot).ok_or_else(poisoned_run_error)?;
            match outcome {
                Ok(_) => {
                    cached.mark_committed(id);
                    return Ok(());
                }
                Err(LedgerError::Conflict { key }) if key == self.record_key_of(&update) => {
                    update.detach_run_record();
                    if cached.is_in_flight(id) {
                        let stored = self.context.ledger.read(&key)?;
                        cached
                            .reset(stored.as_ref())
                            .map_err(|error| ledger_failure(&error.to_string()))?;
                    }
                }
                Err(error) => {
                    cached.remove_refused(id);
                    return Err(error.into());
                }
            }
            drop(cached);
            // Checked before the update is submitted: a submitted update may be committed even if
            // nobody waits for it.
            if tries == MAX_TRIES {
                let problem = "the run changes too fast; try again".to_owned();
                return Err(LedgerError::Malformed(problem).into());
            }
            tries += 1;
            submitted = self.submit_run_update(&mut update)?;
        }
    }

    fn record_key_of(&self, update: &RunUpdate<'_>) -> RecordKey {
        state_key(&self.context.settings.tenant, update.run)
    }

    /// Submits an update to the ledger once; returns its number in the run and the ticket.
    pub(super) fn submit_run_update(
        &self,
        update: &mut RunUpdate<'_>,
    ) -> Result<SubmittedUpdate, RunUpdateError> {
        let tenant = &self.context.settings.tenant;
        let malformed = || LedgerError::Malformed("the run's state has no canonical form".into());
        let mut cached = lock_run(update.slot).ok_or_else(poisoned_run_error)?;
        if cached.is_backlogged() {
            let stored = self.context.ledger.read(&self.record_key_of(update))?;
            cached.reset(stored.as_ref()).map_err(|error| ledger_failure(&error.to_string()))?;
        }
        // The decision checked the budget already. It is checked again here, under the run's lock,
        // where no other call can charge the run.
        if let Some(cap) = update.budget.and_then(|budget| cached.state().meters.exceeded(budget)) {
            return Err(RunUpdateError::Budget(cap));
        }
        if update.seen_writes.is_some_and(|writes| writes != cached.state().unreviewed_writes) {
            return Err(RunUpdateError::UnreviewedWrite);
        }
        let next = cached.state().clone().apply(&update.delta);
        let put = cached.put(tenant, update.run, &next).ok_or_else(malformed)?;
        let replace = GuardedWrite { put, version: cached.expected_version() };
        let opener = update.run_starter.filter(|_| cached.is_unstarted());
        let started = opener
            .map(|caller| self.run_started_event(caller).ok_or_else(malformed))
            .transpose()?;
        update.attach_run_record(replace, started);
        let ticket = self.context.ledger.submit(Arc::clone(&update.batch));
        Ok(SubmittedUpdate { id: cached.enqueue(update.delta.clone(), next), ticket })
    }

    fn run_started_event(&self, caller: Caller<'_>) -> Option<NewEvent> {
        let run = caller.run;
        let firewall = &self.context.firewall;
        let host = HostFields::of(run, firewall);
        EventPayload::new()
            .with_decision_key(DecisionKey::RunStarted)
            .with_principal(caller.principal)
            .with("run_agent", &run.agent)
            .with_optional(
                "locale",
                Some(run.settings.locale).filter(|l| *l != LocaleCode::default()),
            )
            .with_optional("session_id", host.session_id)
            .with_optional("user_sid", host.user_sid)
            .with_optional("metadata", redacted_metadata(run, firewall))
            .with("intent", error_text(firewall, &run.settings.intent))
            .with("safety_mode", run.settings.safety_mode)
            .with("trace_id", &run.trace_id)
            .into_event(EventKind::RunStarted, self.context.now(), &run.run_id, None)
    }
}

fn poisoned_run_error() -> LedgerError {
    ledger_failure("internal error: the run's lock is poisoned")
}

fn ledger_failure(problem: &str) -> LedgerError {
    LedgerError::Failed(problem.to_owned())
}
