//! Records that a run takes the place of one whose record is not accepted.

use weaver_types::ledger::{Batch, Durability};
use weaver_types::{Confidentiality, EventKind, Integrity, Label, RunId};

use super::RunRecorder;
use super::host_events::unrecordable_event;
use crate::caller::Caller;
use crate::error::KernelError;
use crate::event_payload::EventPayload;
use crate::run_fault::RunFault;
use crate::run_state::RunDelta;

impl RunRecorder {
    /// Records that the caller's run takes the place of another, with the strictest label: the
    /// other one may have been shown anything, and may have written.
    pub(crate) async fn record_replacement(
        &self,
        caller: Caller<'_>,
        replaced: &RunId,
        fault: RunFault,
    ) -> Result<(), KernelError> {
        let run = &caller.run.run_id;
        let slot = self.slot(run)?;
        let strictest = Label::new(Confidentiality::Restricted, Integrity::Untrusted);
        let delta =
            RunDelta { label: Some(strictest), unreviewed_writes: 1, ..RunDelta::default() };
        let event = EventPayload::new()
            .with_caller(caller, &self.context.firewall)
            .with("replaces", replaced)
            .with("problem", fault.to_string())
            .with_run_delta(&delta)
            .into_event(EventKind::RunReplaced, self.context.now(), run, None)
            .ok_or_else(unrecordable_event)?;
        let batch = Batch::new(Durability::Os).with_event(event);
        self.commit_host_event(caller, &slot, delta, batch).await
    }
}
