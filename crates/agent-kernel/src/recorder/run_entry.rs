//! Records in the log which run a client of the host works in, and reads it back.

use weaver_types::ledger::NewEvent;
use weaver_types::{EventKind, RunId, Timestamp};

use super::RunRecorder;
use super::host_events::unrecordable_event;
use crate::error::KernelError;
use crate::event_payload::EventPayload;

/// The run that a client entered last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnteredRun {
    /// The run, which is not over.
    pub run: RunId,
    /// The time of its last event, or of the entry where it has none.
    pub last_event: Timestamp,
}

impl RunRecorder {
    /// The event that says that a client of the host works in a run from now on.
    pub(crate) fn run_entry_event(
        &self,
        client: &str,
        run: &RunId,
    ) -> Result<NewEvent, KernelError> {
        EventPayload::new()
            .with("tenant", &self.context.settings.tenant)
            .with("client", client)
            .with("entered", run)
            .into_global_event(EventKind::RunEntered, self.context.now())
            .ok_or_else(unrecordable_event)
    }

    /// The run that a client entered last, according to the log.
    pub(crate) fn entered_run(&self, client: &str) -> Result<Option<EnteredRun>, KernelError> {
        let entered = self.runs.entered_run(client, self.context.ledger.as_ref())?;
        Ok(entered.map(|(run, last_event)| EnteredRun { run, last_event }))
    }
}
