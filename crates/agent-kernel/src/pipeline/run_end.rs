//! The end of a run, as a host sees it.

use weaver_types::ledger::{Batch, Durability, LedgerError};
use weaver_types::{DecisionKey, EventKind};

use super::note::unrecordable;
use super::transition::{Step, StepError};
use crate::cached_run::lock;
use crate::caller::Caller;
use crate::error::KernelError;
use crate::kernel::Kernel;
use crate::record::Payload;
use crate::run_state::RunDelta;

/// Why a run is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnd {
    /// Its host has nothing more to do in it.
    Done,
    /// Nobody has used it for too long.
    Idle,
    /// Whoever worked in it is gone.
    ClientGone,
}

impl RunEnd {
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
    /// Records that a run is over, and why, under the decision key `kernel.run.finished`; `beside` is
    /// committed with it. Of a run that never began only `beside` is. Nothing is revoked: a host that
    /// goes on in the run all the same may.
    ///
    /// # Errors
    /// [`KernelError`], when it could not be recorded.
    pub async fn record_run_end(
        &self,
        caller: Caller<'_>,
        end: RunEnd,
        beside: Batch,
    ) -> Result<(), KernelError> {
        let run = &caller.run.run_id;
        let slot = self.runs.slot(run, self.ledger.as_ref())?;
        let began = lock(&slot).is_some_and(|run| !run.is_fresh());
        if !began || caller.run.dry_run {
            if beside != Batch::new(beside.durability) {
                self.ledger.commit(beside).await?;
            }
            return Ok(());
        }
        let event = Payload::new()
            .key(DecisionKey::RunFinished)
            .caller(caller, &self.firewall)
            .with("end", end.as_str())
            .run(&RunDelta::default())
            .event(EventKind::RunFinished, self.now(), run, None)
            .ok_or_else(unrecordable)?;
        let batch = beside.join(Batch::new(Durability::Os).with_event(event));
        match self.step(Step::new(caller, &slot, RunDelta::default(), batch)).await {
            Ok(()) => Ok(()),
            Err(StepError::Ledger(error)) => Err(error.into()),
            Err(StepError::Budget(cap)) => {
                Err(LedgerError::Malformed(format!("the cap `{cap}` is used up")).into())
            }
        }
    }
}
