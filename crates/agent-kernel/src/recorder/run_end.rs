//! The end of a run, as a host sees it.

use weaver_types::ledger::{Batch, Durability};
use weaver_types::{DecisionKey, EventKind};

use super::RunRecorder;
use super::host_events::unrecordable_event;
use crate::cached_run::lock_run;
use crate::caller::Caller;
use crate::error::KernelError;
use crate::event_payload::EventPayload;
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

weaver_types::words! { RunEndReason: "The word used in events.";
    Done = "done", Idle = "idle", ClientGone = "client_gone",
}

impl RunRecorder {
    /// Records that a run is over, and why; `extra` is committed with it. For a run that never
    /// started only `extra` is committed.
    pub(crate) async fn record_run_end(
        &self,
        caller: Caller<'_>,
        end: RunEndReason,
        extra: Batch,
    ) -> Result<(), KernelError> {
        let run = &caller.run.run_id;
        let slot = self.slot(run)?;
        let has_started = lock_run(&slot).is_some_and(|run| !run.is_unstarted());
        if !has_started || caller.run.dry_run {
            if extra != Batch::new(extra.durability) {
                self.context.ledger.commit(extra).await?;
            }
            return Ok(());
        }
        let event = EventPayload::new()
            .with_decision_key(DecisionKey::RunFinished)
            .with_caller(caller, &self.context.firewall)
            .with("end", end.as_str())
            .with_run_delta(&RunDelta::default())
            .into_event(EventKind::RunFinished, self.context.now(), run, None)
            .ok_or_else(unrecordable_event)?;
        let batch = extra.join(Batch::new(Durability::Os).with_event(event));
        self.commit_host_event(caller, &slot, RunDelta::default(), batch).await
    }
}
