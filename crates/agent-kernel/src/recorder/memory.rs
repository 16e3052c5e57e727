//! Records in the log what a host reads from and writes to the memory of a run.

use serde_json::Value;
use weaver_types::canonical::{self, Profile};
use weaver_types::digest::{Digest, DomainTag};
use weaver_types::ledger::{Batch, Durability};
use weaver_types::{DecisionKey, EventKind, Label, hex};

use super::RunRecorder;
use super::host_events::unrecordable_event;
use crate::caller::Caller;
use crate::error::KernelError;
use crate::event_payload::{EventPayload, error_text};
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

impl RunRecorder {
    /// Records that a host writes to memory or reads from it for a run.
    pub(crate) async fn record_memory(
        &self,
        caller: Caller<'_>,
        note: MemoryOperation<'_>,
    ) -> Result<(), KernelError> {
        if caller.run.dry_run {
            return Ok(());
        }
        let run = &caller.run.run_id;
        let slot = self.slot(run)?;
        let (kind, key, read_label) = match note.access {
            MemoryAccess::Put => (EventKind::MemoryPut, DecisionKey::MemoryPut, None),
            MemoryAccess::Get => (EventKind::MemoryGet, DecisionKey::MemoryGet, Some(note.label)),
        };
        let bytes =
            canonical::to_bytes(note.value, Profile::Foreign).map_err(|_| unrecordable_event())?;
        let mut salt = [0_u8; 16];
        self.context.random.fill(&mut salt)?;
        let delta = RunDelta { label: read_label.cloned(), ..RunDelta::default() };
        let event = EventPayload::new()
            .with_decision_key(key)
            .with_caller(caller, &self.context.firewall)
            .with("entry", error_text(&self.context.firewall, note.entry))
            .with("tier", note.tier)
            .with("source", error_text(&self.context.firewall, note.source))
            .with("label", note.label)
            .with("bytes", bytes.len())
            .with("salt", hex(&salt))
            .with("commit", Digest::of_parts(DomainTag::MEMORY_COMMIT, &[&salt, &bytes]))
            .with_run_delta(&delta)
            .into_event(kind, self.context.now(), run, None)
            .ok_or_else(unrecordable_event)?;
        let batch = Batch::new(Durability::Os).with_event(event);
        self.commit_host_event(caller, &slot, delta, batch).await
    }
}
