//! Which run a client of the host works in: told to the log, and asked of it.

use serde_json::json;
use weaver_types::ledger::NewEvent;
use weaver_types::{EventKind, RunId, Timestamp};

use super::note::unrecordable;
use crate::error::KernelError;
use crate::kernel::Kernel;
use crate::record::Payload;

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
    /// with its own record of that; whoever removes or changes the record is found by
    /// [`Kernel::entered_run`]. `client` is a name that no other client of the tenant ever has.
    ///
    /// # Errors
    /// [`KernelError`], when it has no recordable form.
    pub fn run_entry(&self, client: &str, run: &RunId) -> Result<NewEvent, KernelError> {
        Payload::new()
            .with("tenant", json!(self.settings.tenant))
            .with("client", json!(client))
            .with("entered", json!(run))
            .loose_event(EventKind::RunEntered, self.now())
            .ok_or_else(unrecordable)
    }

    /// The run that a client entered last, as the last 200,000 events of the log tell it; `None`
    /// where they tell of none, or of its end.
    ///
    /// # Errors
    /// [`KernelError`], when the log cannot be read.
    pub fn entered_run(&self, client: &str) -> Result<Option<EnteredRun>, KernelError> {
        let entered = self.runs.entered(client, self.ledger.as_ref())?;
        Ok(entered.map(|(run, last_event)| EnteredRun { run, last_event }))
    }
}
