//! Records in the log which run a client of the host works in, and reads it back.

use serde_json::json;
use weaver_types::ledger::NewEvent;
use weaver_types::{EventKind, RunId, Timestamp};

use super::host_events::unrecordable_event;
use crate::error::KernelError;
use crate::event_payload::EventPayload;
use crate::kernel::Kernel;

/// The run that a client entered last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnteredRun {
    /// The run, which is not over.
    pub run: RunId,
    /// The time of its last event, or of the entry where it has none.
    pub last_event: Timestamp,
}

impl Kernel {
    /// The event that says that a client of the host works in a run from now on. A host commits it
    /// with its own record of that; [`Kernel::entered_run`] then detects a record that was removed
    /// or changed. `client` is a name that no other client of the tenant ever has.
    ///
    /// # Errors
    /// [`KernelError`], when it has no recordable form.
    pub fn run_entry_event(&self, client: &str, run: &RunId) -> Result<NewEvent, KernelError> {
        EventPayload::new()
            .with("tenant", json!(self.settings.tenant))
            .with("client", json!(client))
            .with("entered", json!(run))
            .into_global_event(EventKind::RunEntered, self.now())
            .ok_or_else(unrecordable_event)
    }

    /// The run that a client entered last, according to the last 200,000 events of the log; `None`
    /// when they contain no entry or the end of that run.
    ///
    /// # Errors
    /// [`KernelError`], when the log cannot be read.
    pub fn entered_run(&self, client: &str) -> Result<Option<EnteredRun>, KernelError> {
        let entered = self.runs.entered_run(client, self.ledger.as_ref())?;
        Ok(entered.map(|(run, last_event)| EnteredRun { run, last_event }))
    }
}
