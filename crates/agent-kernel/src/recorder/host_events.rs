//! Records events other than calls: shortlists, ends of plans, and the host's own events.

use serde_json::{Map, Value};
use weaver_types::ledger::{Batch, Durability, NewEvent};
use weaver_types::{CapabilityId, DecisionKey, EventKind, ReasonCode};

use super::RunRecorder;
use super::run_update::{RunUpdate, RunUpdateError};
use crate::cached_run::RunSlot;
use crate::caller::Caller;
use crate::error::KernelError;
use crate::event_payload::{EventPayload, error_text};
use crate::run_state::RunDelta;

/// How many capabilities of a shortlist are recorded.
const MAX_SHORTLIST: usize = 64;

/// The summary of a finished run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunSummary {
    /// How many steps it had.
    pub(crate) steps: usize,
    /// How many of them failed.
    pub(crate) failed: usize,
    /// Whether its critique passed it.
    pub(crate) passed: bool,
}

impl RunRecorder {
    /// Records the shortlist that a model was shown for a goal. A dry run records nothing.
    pub(crate) async fn record_shortlist(
        &self,
        caller: Caller<'_>,
        goal: &str,
        shortlist: &[CapabilityId],
    ) -> Result<(), KernelError> {
        if caller.run.dry_run {
            return Ok(());
        }
        let run = &caller.run.run_id;
        let slot = self.slot(run)?;
        let shown: Vec<&CapabilityId> = shortlist.iter().take(MAX_SHORTLIST).collect();
        let firewall = &self.context.firewall;
        let event = EventPayload::new()
            .with_caller(caller, firewall)
            .with("goal", error_text(firewall, goal))
            .with("shortlist", &shown)
            .with_run_delta(&RunDelta::default())
            .into_event(EventKind::Routed, self.context.now(), run, None)
            .ok_or_else(unrecordable_event)?;
        let batch = Batch::new(Durability::Os).with_event(event);
        self.commit_host_event(caller, &slot, RunDelta::default(), batch).await
    }

    /// Records the end of a run.
    pub(crate) async fn finish_run(
        &self,
        caller: Caller<'_>,
        RunSummary { steps, failed, passed }: RunSummary,
    ) -> Result<(), KernelError> {
        let run = &caller.run.run_id;
        let slot = self.slot(run)?;
        let event = EventPayload::new()
            .with_decision_key(DecisionKey::RunFinished)
            .with_caller(caller, &self.context.firewall)
            .with("steps", steps)
            .with("failed", failed)
            .with("passed", passed)
            .with_run_delta(&RunDelta::default())
            .into_event(EventKind::RunFinished, self.context.now(), run, None)
            .ok_or_else(unrecordable_event)?;
        let batch = Batch::new(Durability::Os).with_event(event);
        self.commit_host_event(caller, &slot, RunDelta::default(), batch).await
    }

    /// Records an event of the host that belongs to no call. The fields are redacted.
    pub(crate) async fn record_host_event(
        &self,
        kind: EventKind,
        fields: Map<String, Value>,
    ) -> Result<(), KernelError> {
        let event = self.host_event(kind, fields)?;
        self.context.ledger.commit(Batch::new(Durability::Os).with_event(event)).await?;
        Ok(())
    }

    /// The event that [`record_host_event`](Self::record_host_event) records.
    pub(crate) fn host_event(
        &self,
        kind: EventKind,
        fields: Map<String, Value>,
    ) -> Result<NewEvent, KernelError> {
        let (fields, _) = self.context.firewall.redact_value(&Value::Object(fields));
        EventPayload::new()
            .with("fields", fields)
            .into_global_event(kind, self.context.now())
            .ok_or_else(unrecordable_event)
    }

    /// Commits an update of a run that charges nothing.
    pub(super) async fn commit_host_event(
        &self,
        caller: Caller<'_>,
        slot: &RunSlot,
        delta: RunDelta,
        batch: Batch,
    ) -> Result<(), KernelError> {
        match self.commit_run_update(RunUpdate::new(caller, slot, delta, batch)).await {
            Ok(()) => Ok(()),
            Err(RunUpdateError::Ledger(error)) => Err(error.into()),
            // Only an update with a budget can exceed one.
            Err(RunUpdateError::Budget(_) | RunUpdateError::UnreviewedWrite) => {
                Err(unrecordable_event())
            }
        }
    }
}

pub(crate) fn unrecordable_event() -> KernelError {
    KernelError::StoredRecord {
        what: "an event",
        problem: format!("{}: it has no canonical form", ReasonCode::InternalError),
    }
}
