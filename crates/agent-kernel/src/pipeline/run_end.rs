//! The end of a run, as a host sees it.

use weaver_types::ledger::{Batch, Durability, LedgerError};
use weaver_types::{DecisionKey, EventKind};

use super::host_events::unrecordable_event;
use super::run_update::{RunUpdate, RunUpdateError};
use crate::cached_run::lock_run;
use crate::caller::Caller;
use crate::error::KernelError;
use crate::event_payload::EventPayload;
use crate::kernel::Kernel;
use crate::run_state::RunDelta;

/// Why a run is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEndReason {
    /// The host has finished it.
    Done,
    /// Nobody has used it for too long.
    Idle,
    /// The client that worked in it is gone.
    ClientGone,
}

impl RunEndReason {
    /// The word used in events.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Idle => "idle",
            Self::ClientGone => "client_gone",
        }
    }
}

impl Kernel {
    /// Records that a run is over, and why, under the decision key `kernel.run.finished`; `extra`
    /// is committed with it. For a run that never started only `extra` is committed. Nothing is
    /// revoked: a host may still continue the run.
    ///
    /// # Errors
    /// [`KernelError`], when it could not be recorded.
    pub async fn record_run_end(
        &self,
        caller: Caller<'_>,
        end: RunEndReason,
        extra: Batch,
    ) -> Result<(), KernelError> {
        let run = &caller.run.run_id;
        let slot = self.runs.slot(run, self.ledger.as_ref())?;
        let has_started = lock_run(&slot).is_some_and(|run| !run.is_unstarted());
        if !has_started || caller.run.dry_run {
            if extra != Batch::new(extra.durability) {
                self.ledger.commit(extra).await?;
            }
            return Ok(());
        }
        let event = EventPayload::new()
            .with_decision_key(DecisionKey::RunFinished)
            .with_caller(caller, &self.firewall)
            .with("end", end.as_str())
            .with_run_delta(&RunDelta::default())
            .into_event(EventKind::RunFinished, self.now(), run, None)
            .ok_or_else(unrecordable_event)?;
        let batch = extra.join(Batch::new(Durability::Os).with_event(event));
        match self
            .commit_run_update(RunUpdate::new(caller, &slot, RunDelta::default(), batch))
            .await
        {
            Ok(()) => Ok(()),
            Err(RunUpdateError::Ledger(error)) => Err(error.into()),
            Err(RunUpdateError::Budget(cap)) => {
                Err(LedgerError::Malformed(format!("the cap `{cap}` is used up")).into())
            }
        }
    }
}
