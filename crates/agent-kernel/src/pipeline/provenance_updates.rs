//! Updates the provenance index from the user's statements, the arguments of calls, and results.

use serde_json::json;
use weaver_firewall::handle::HandleRecord;
use weaver_text::values::ValueToken;
use weaver_types::digest::{Digest, DomainTag};
use weaver_types::ledger::{Batch, Durability, NewEvent, RecordWrite};
use weaver_types::{CallId, EventKind, Frame, Integrity, RunContext, RunId, hex};

use super::authorized_invocation::AuthorizedInvocation;
use super::call_end::CallEnd;
use super::run_update::{RecordingError, RunUpdate};
use super::value_origins::RunValueOrigins;
use crate::cached_run::{RunSlot, lock_run};
use crate::caller::Caller;
use crate::event_payload::{EventPayload, error_text};
use crate::kernel::Kernel;
use crate::provenance::{self, IndexEntries, ProvenanceIndex, Voucher};
use crate::run_state::RunDelta;

/// What an update adds to the provenance index of its run: recorded with the update and applied
/// once it is committed.
#[derive(Default)]
pub(crate) struct ProvenanceUpdate {
    pub(crate) puts: Vec<RecordWrite>,
    entries: Option<IndexEntries>,
}

impl ProvenanceUpdate {
    /// The digests that the event contains of the index records, so that none can be planted or
    /// removed.
    pub(crate) fn digests(&self) -> Vec<Digest> {
        self.puts.iter().map(provenance::put_digest).collect()
    }

    /// Applies it to the index.
    pub(crate) fn apply(self, slot: &RunSlot) {
        let Some(entries) = self.entries else { return };
        if let Some(mut index) = slot.provenance() {
            index.add(&entries);
            if !self.puts.is_empty() {
                index.mark_key_stored();
            }
        }
    }
}

impl Kernel {
    /// Indexes the user's new statements, with one event for each. A statement that cannot be
    /// recorded does not count. A dry run records nothing.
    ///
    /// Every grant starts with this. A host may call it as soon as the user speaks, so that no
    /// decision waits while a long text is read.
    pub async fn ingest_statements(&self, caller: Caller<'_>) {
        let statements = caller.run.user_texts();
        if statements.is_empty() {
            return;
        }
        let Some(slot) = self.slot_of(caller) else { return };
        if slot.provenance().is_none_or(|index| index.has_indexed_texts(statements)) {
            return;
        }
        for text in statements.iter() {
            if slot.provenance().is_none_or(|index| index.has_user_text(text)) {
                continue;
            }
            let tokens = provenance::user_tokens(text);
            let entries = slot
                .provenance()
                .and_then(|mut index| index.user_text_entries(text, &tokens, self.random.as_ref()));
            let Some(entries) = entries else { return };
            let record = || Box::pin(self.record_statement(caller, &slot, text, &entries));
            if !caller.run.dry_run && !record().await {
                return;
            }
            // In a dry run the values count, but the text is not marked as known: the first real
            // call records it.
            let entries = if caller.run.dry_run { entries.without_text() } else { entries };
            if let Some(mut index) = slot.provenance() {
                index.add(&entries);
            }
        }
        if let Some(mut index) = slot.provenance().filter(|_| !caller.run.dry_run) {
            index.note_user_texts(statements);
        }
    }

    async fn record_statement(
        &self,
        caller: Caller<'_>,
        slot: &RunSlot,
        text: &str,
        entries: &IndexEntries,
    ) -> bool {
        // The record is named after the first entry, the keyed hash of the whole text.
        let first = entries.entries.first().copied().unwrap_or_default();
        let name = format!("said_{first:016x}");
        let Some(puts) = self.index_puts(&caller.run.run_id, slot, &name, entries) else {
            return false;
        };
        let digests = puts.iter().map(provenance::put_digest).collect();
        let delta = RunDelta { provenance: digests, ..RunDelta::default() };
        let Some(event) = self.statement_event(caller, text, entries, &delta) else { return false };
        let batch = Batch { put: puts, ..Batch::new(Durability::Os).with_event(event) };
        let update = RunUpdate::new(caller, slot, delta, batch);
        let done = self.commit_run_update(update).await.is_ok();
        if let Some(mut index) = slot.provenance().filter(|_| done) {
            index.mark_key_stored();
        }
        done
    }

    fn statement_event(
        &self,
        caller: Caller<'_>,
        text: &str,
        entries: &IndexEntries,
        delta: &RunDelta,
    ) -> Option<NewEvent> {
        let mut salt = [0_u8; 16];
        self.random.fill(&mut salt).ok()?;
        EventPayload::new()
            .with_caller(caller, &self.firewall)
            .with("text", json!(error_text(&self.firewall, text)))
            .with("bytes", json!(text.len()))
            .with("salt", json!(hex(&salt)))
            .with(
                "commit",
                json!(Digest::of_parts(DomainTag::WORDS_COMMIT, &[&salt, text.as_bytes()])),
            )
            .with("values", json!(entries.entries.len()))
            .with("full", json!(entries.overflowed))
            .with_run_delta(delta)
            .into_event(EventKind::UserSaid, self.now(), &caller.run.run_id, None)
    }

    /// Indexes the arguments of a call that untrusted input may have steered, so that no trusted
    /// result vouches for them later. If not all arguments are vouched for, neither the result of
    /// the call nor any later result of a server that it writes to vouches for anything. Calls that
    /// store nothing and whose results are untrusted are skipped.
    pub(crate) fn argument_provenance(
        &self,
        invocation: &AuthorizedInvocation<'_>,
        slot: &RunSlot,
    ) -> Result<ProvenanceUpdate, RecordingError> {
        let spec = invocation.target.capability.spec();
        let writes = spec.effects.writes();
        let trusted = spec.output_label.integrity == Integrity::Trusted;
        if !(writes || trusted) || !is_untrusted(slot) {
            return Ok(ProvenanceUpdate::default());
        }
        let tokens = provenance::argument_tokens(invocation.arguments);
        let origin = &invocation.target.entry.origin;
        let mut void: Vec<&str> = Vec::new();
        let schema = spec.input_schema.as_deref();
        let vouched =
            provenance::are_vouched_for(invocation.arguments, schema, &self.value_origins(slot));
        if writes && !vouched {
            void.push(origin);
        }
        let is_void = || slot.provenance().is_none_or(|index| index.is_void(origin));
        if trusted && (!vouched || is_void()) {
            void.push(invocation.call.as_str());
        }
        let run = &invocation.caller.run.run_id;
        let name = format!("{}.args", invocation.call);
        self.build_provenance_update(run, slot, &name, |index| {
            index.untrusted_entries(&tokens, &void)
        })
        .ok_or(RecordingError::Form("the provenance of the arguments"))
    }

    /// Indexes the values that a trusted result shows, and the ids that its source assigned. A
    /// result that may contain what untrusted input placed there vouches for nothing; if that
    /// cannot be recorded, the end of the call is not recorded either.
    pub(crate) fn result_provenance(
        &self,
        invocation: &AuthorizedInvocation<'_>,
        slot: &RunSlot,
        call_end: &CallEnd,
    ) -> Result<ProvenanceUpdate, RecordingError> {
        let (run, call) = (&invocation.caller.run.run_id, invocation.call.as_str());
        let frame = call_end.result.data.as_ref();
        let trusted = frame.filter(|frame| frame.label.integrity == Integrity::Trusted);
        let origin = &invocation.target.entry.origin;
        let is_void = |source: &str| slot.provenance().is_none_or(|index| index.is_void(source));
        let mut tokens = self.vouched_record_ids(invocation, slot, call_end);
        match trusted.filter(|_| !is_void(call)) {
            // The server was written to since the call started, so later views of this result must
            // not vouch for anything either.
            Some(_) if is_void(origin) => {
                let entries = |index: &ProvenanceIndex| index.untrusted_entries(&[], &[call]);
                return self
                    .build_provenance_update(run, slot, call, entries)
                    .ok_or(RecordingError::Form("the provenance of the result"));
            }
            Some(frame) => tokens.extend(provenance::frame_tokens(frame, slot.masks().table())),
            None => {}
        }
        if tokens.is_empty() {
            return Ok(ProvenanceUpdate::default());
        }
        // A value that cannot be recorded is not vouched for, which is the strict side.
        let entries = |index: &ProvenanceIndex| index.new_entries(Voucher::Trusted, &tokens);
        Ok(self.build_provenance_update(run, slot, call, entries).unwrap_or_default())
    }

    /// Indexes the values that an expansion of a stored trusted result shows. If the call that
    /// stored the result vouches for nothing in its own run, no expansion of it does, in any run.
    pub(crate) fn expansion_provenance(
        &self,
        run: &RunContext,
        call: &CallId,
        record: &HandleRecord,
        slot: &RunSlot,
        frame: &Frame,
    ) -> ProvenanceUpdate {
        let stored_in = self.runs.slot(&record.run, self.ledger.as_ref()).ok();
        let is_void = || {
            let index = stored_in.as_ref().and_then(|slot| slot.provenance());
            index.is_none_or(|index| index.is_void(record.call.as_str()))
        };
        if frame.label.integrity != Integrity::Trusted || is_void() {
            return ProvenanceUpdate::default();
        }
        let tokens = provenance::frame_tokens(frame, slot.masks().table());
        let entries = |index: &ProvenanceIndex| index.new_entries(Voucher::Trusted, &tokens);
        self.build_provenance_update(&run.run_id, slot, call.as_str(), entries).unwrap_or_default()
    }

    /// The record ids in a reply that are vouched for.
    fn vouched_record_ids(
        &self,
        invocation: &AuthorizedInvocation<'_>,
        slot: &RunSlot,
        call_end: &CallEnd,
    ) -> Vec<ValueToken> {
        let spec = invocation.target.capability.spec();
        let Some(fields) = spec.records.as_ref().filter(|_| !call_end.records.is_empty()) else {
            return Vec::new();
        };
        let reply = provenance::Reply {
            records: &call_end.records,
            fields,
            impact: spec.effects.impact,
            arguments: invocation.arguments,
        };
        provenance::vouched_ids(&reply, &self.value_origins(slot))
    }

    /// The origins of a run's values, for a policy query.
    pub(crate) fn value_origins<'a>(&'a self, slot: &'a RunSlot) -> RunValueOrigins<'a> {
        RunValueOrigins { slot, firewall: &self.firewall }
    }

    /// Builds a provenance update from new entries; empty when there is nothing to add.
    fn build_provenance_update(
        &self,
        run: &RunId,
        slot: &RunSlot,
        name: &str,
        make_entries: impl FnOnce(&ProvenanceIndex) -> Option<IndexEntries>,
    ) -> Option<ProvenanceUpdate> {
        let entries = {
            let mut index = slot.provenance()?;
            index.ensure_key(self.random.as_ref())?;
            make_entries(&index)?
        };
        if entries.is_empty() {
            return Some(ProvenanceUpdate::default());
        }
        let puts = self.index_puts(run, slot, name, &entries)?;
        Some(ProvenanceUpdate { puts, entries: Some(entries) })
    }

    fn index_puts(
        &self,
        run: &RunId,
        slot: &RunSlot,
        name: &str,
        entries: &IndexEntries,
    ) -> Option<Vec<RecordWrite>> {
        let index = slot.provenance()?;
        provenance::record_puts(&self.settings.tenant, run, name, &index, entries)
    }
}

/// Whether the run has seen untrusted data. A run that cannot be read counts as if it had.
fn is_untrusted(slot: &RunSlot) -> bool {
    lock_run(slot).is_none_or(|run| run.state().label.integrity == Integrity::Untrusted)
}
