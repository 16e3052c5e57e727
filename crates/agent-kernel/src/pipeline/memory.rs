//! Records in the log what a host reads from and writes to the memory of a run.

use serde_json::{Value, json};
use weaver_types::canonical::{self, Profile};
use weaver_types::digest::{Digest, DomainTag};
use weaver_types::ledger::{Batch, Durability};
use weaver_types::{DecisionKey, EventKind, Label, hex};

use super::host_events::unrecordable_event;
use super::run_update::{RunUpdate, RunUpdateError};
use crate::caller::Caller;
use crate::error::KernelError;
use crate::event_payload::{EventPayload, error_text};
use crate::kernel::Kernel;
use crate::run_state::RunDelta;

/// How memory is accessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryAccess {
    /// An entry is written.
    Put,
    /// An entry is read, for the run to see.
    Get,
}

/// One entry that a host writes or reads for a run.
#[derive(Debug, Clone, Copy)]
pub struct MemoryOperation<'a> {
    /// How it is accessed.
    pub access: MemoryAccess,
    /// Its id, for example `mem_dur_user_preference`.
    pub entry: &'a str,
    /// Its tier, for example `durable`.
    pub tier: &'a str,
    /// Where it came from.
    pub source: &'a str,
    /// Its value.
    pub value: &'a Value,
    /// Its label.
    pub label: &'a Label,
}

impl Kernel {
    /// Records that a host writes to memory or reads from it for a run, under the decision key
    /// `kernel.memory.put` or `kernel.memory.get`. The log gets the redacted ids and a salted
    /// commitment to the value. The label of what is read joins the label of the run, as a result's
    /// would. A dry run records nothing.
    ///
    /// # Errors
    /// [`KernelError`], when it could not be recorded; it must then not happen.
    pub async fn record_memory(
        &self,
        caller: Caller<'_>,
        note: MemoryOperation<'_>,
    ) -> Result<(), KernelError> {
        if caller.run.dry_run {
            return Ok(());
        }
        let run = &caller.run.run_id;
        let slot = self.runs.slot(run, self.ledger.as_ref())?;
        let (kind, key, read_label) = match note.access {
            MemoryAccess::Put => (EventKind::MemoryPut, DecisionKey::MemoryPut, None),
            MemoryAccess::Get => (EventKind::MemoryGet, DecisionKey::MemoryGet, Some(note.label)),
        };
        let bytes =
            canonical::to_bytes(note.value, Profile::Foreign).map_err(|_| unrecordable_event())?;
        let mut salt = [0_u8; 16];
        self.random.fill(&mut salt)?;
        let delta = RunDelta { label: read_label.cloned(), ..RunDelta::default() };
        let event = EventPayload::new()
            .with_decision_key(key)
            .with_caller(caller, &self.firewall)
            .with("entry", json!(error_text(&self.firewall, note.entry)))
            .with("tier", json!(note.tier))
            .with("source", json!(error_text(&self.firewall, note.source)))
            .with("label", json!(note.label))
            .with("bytes", json!(bytes.len()))
            .with("salt", json!(hex(&salt)))
            .with("commit", json!(Digest::of_parts(DomainTag::MEMORY_COMMIT, &[&salt, &bytes])))
            .with_run_delta(&delta)
            .into_event(kind, self.now(), run, None)
            .ok_or_else(unrecordable_event)?;
        let batch = Batch::new(Durability::Os).with_event(event);
        match self.commit_run_update(RunUpdate::new(caller, &slot, delta, batch)).await {
            Ok(()) => Ok(()),
            Err(RunUpdateError::Ledger(error)) => Err(error.into()),
            Err(RunUpdateError::Budget(_)) => Err(unrecordable_event()),
        }
    }
}
