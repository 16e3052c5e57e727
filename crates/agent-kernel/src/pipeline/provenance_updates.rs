//! Taking in where values come from: the user's words, what calls were told, what results show.

use serde_json::json;
use weaver_firewall::handle::HandleRecord;
use weaver_text::values::Token;
use weaver_types::digest::{Digest, Tag};
use weaver_types::ledger::{Batch, Durability, NewEvent, Put};
use weaver_types::{CallId, EventKind, Frame, Integrity, RunContext, RunId, hex};

use super::authorized_invocation::AuthorizedInvocation;
use super::finish::CallEnd;
use super::origins::Origins;
use super::transition::{RecordingError, Step};
use crate::cached_run::{RunSlot, lock};
use crate::caller::Caller;
use crate::kernel::Kernel;
use crate::provenance::{self, Index, IndexEntries, Voucher};
use crate::record::{Payload, error_text};
use crate::run_state::RunDelta;

/// What a step adds to the index of its run: recorded with the step, and taken in once that is
/// committed.
#[derive(Default)]
pub(crate) struct ProvenanceUpdate {
    pub(crate) puts: Vec<Put>,
    part: Option<IndexEntries>,
}

impl ProvenanceUpdate {
    /// What the event of the step says of its records, so that none can be planted or removed.
    pub(crate) fn digests(&self) -> Vec<Digest> {
        self.puts.iter().map(provenance::put_digest).collect()
    }

    /// Takes it in.
    pub(crate) fn take(self, slot: &RunSlot) {
        let Some(part) = self.part else { return };
        if let Some(mut index) = slot.provenance() {
            index.add(&part);
            if !self.puts.is_empty() {
                index.stored();
            }
        }
    }
}

impl Kernel {
    /// Takes in what the user has said since, with an event for each text. What cannot be recorded
    /// does not count. A dry run records nothing.
    ///
    /// Every grant begins with this. A host may ask for it as soon as the user speaks, so that no
    /// decision waits for the reading of a long text.
    pub async fn ingest_statements(&self, caller: Caller<'_>) {
        let said = caller.run.said();
        if said.is_empty() {
            return;
        }
        let Some(slot) = self.slot_of(caller) else { return };
        if slot.provenance().is_none_or(|index| index.has_heard(said)) {
            return;
        }
        for text in said.iter() {
            if slot.provenance().is_none_or(|index| index.knows(text)) {
                continue;
            }
            let tokens = provenance::said(text);
            let part = slot
                .provenance()
                .and_then(|mut index| index.text(text, &tokens, self.random.as_ref()));
            let Some(part) = part else { return };
            let record = || Box::pin(self.record_statement(caller, &slot, text, &part));
            if !caller.run.dry_run && !record().await {
                return;
            }
            // In a dry run the words count, and the text stays unknown: the first call that is
            // made records it.
            let part = if caller.run.dry_run { part.without_text() } else { part };
            if let Some(mut index) = slot.provenance() {
                index.add(&part);
            }
        }
        if let Some(mut index) = slot.provenance().filter(|_| !caller.run.dry_run) {
            index.note_user_texts(said);
        }
    }

    async fn record_statement(
        &self,
        caller: Caller<'_>,
        slot: &RunSlot,
        text: &str,
        part: &IndexEntries,
    ) -> bool {
        // Named by what it adds first: the keyed hash of the whole text.
        let first = part.entries.first().copied().unwrap_or_default();
        let name = format!("said_{first:016x}");
        let Some(puts) = self.puts(&caller.run.run_id, slot, &name, part) else { return false };
        let digests = puts.iter().map(provenance::put_digest).collect();
        let delta = RunDelta { provenance: digests, ..RunDelta::default() };
        let Some(event) = self.statement_event(caller, text, part, &delta) else { return false };
        let batch = Batch { put: puts, ..Batch::new(Durability::Os).with_event(event) };
        let step = Step::new(caller, slot, delta, batch);
        let done = self.step(step).await.is_ok();
        if let Some(mut index) = slot.provenance().filter(|_| done) {
            index.stored();
        }
        done
    }

    fn statement_event(
        &self,
        caller: Caller<'_>,
        text: &str,
        part: &IndexEntries,
        delta: &RunDelta,
    ) -> Option<NewEvent> {
        let mut salt = [0_u8; 16];
        self.random.fill(&mut salt).ok()?;
        Payload::new()
            .caller(caller, &self.firewall)
            .with("text", json!(error_text(&self.firewall, text)))
            .with("bytes", json!(text.len()))
            .with("salt", json!(hex(&salt)))
            .with("commit", json!(Digest::of_parts(Tag::WORDS_COMMIT, &[&salt, text.as_bytes()])))
            .with("values", json!(part.entries.len()))
            .with("full", json!(part.full))
            .run(delta)
            .event(EventKind::UserSaid, self.now(), &caller.run.run_id, None)
    }

    /// What a call that untrusted input may have steered was told: no trusted result of the run
    /// vouches for it. Where not all of it is vouched for, neither the result of the call nor any
    /// later result of a server that it is written to vouches for anything. Only calls that keep
    /// something, or whose results are trusted, matter.
    pub(crate) fn argument_provenance(
        &self,
        ready: &AuthorizedInvocation<'_>,
        slot: &RunSlot,
    ) -> Result<ProvenanceUpdate, RecordingError> {
        let spec = ready.target.capability.spec();
        let writes = spec.effects.writes();
        let trusted = spec.output_label.integrity == Integrity::Trusted;
        if !(writes || trusted) || !is_untrusted(slot) {
            return Ok(ProvenanceUpdate::default());
        }
        let tokens = provenance::written(ready.arguments);
        let origin = &ready.target.entry.origin;
        let mut void: Vec<&str> = Vec::new();
        let schema = spec.input_schema.as_deref();
        let vouched = provenance::are_vouched_for(ready.arguments, schema, &self.origins(slot));
        if writes && !vouched {
            void.push(origin);
        }
        let is_void = || slot.provenance().is_none_or(|index| index.is_void(origin));
        if trusted && (!vouched || is_void()) {
            void.push(ready.call.as_str());
        }
        let run = &ready.caller.run.run_id;
        let name = format!("{}.args", ready.call);
        self.addition(run, slot, &name, |index| index.written(&tokens, &void))
            .ok_or(RecordingError::Form("what the call was told"))
    }

    /// What a trusted result names, as it is shown, and the ids that its source assigned. A result
    /// that may hold what untrusted input placed there vouches for nothing; where that cannot be
    /// recorded, the end of the call is not recorded either.
    pub(crate) fn result_provenance(
        &self,
        ready: &AuthorizedInvocation<'_>,
        slot: &RunSlot,
        ended: &CallEnd,
    ) -> Result<ProvenanceUpdate, RecordingError> {
        let (run, call) = (&ready.caller.run.run_id, ready.call.as_str());
        let frame = ended.result.data.as_ref();
        let trusted = frame.filter(|frame| frame.label.integrity == Integrity::Trusted);
        let origin = &ready.target.entry.origin;
        let is_void = |source: &str| slot.provenance().is_none_or(|index| index.is_void(source));
        let mut tokens = self.assigned(ready, slot, ended);
        match trusted.filter(|_| !is_void(call)) {
            // Written to since the call began: further looks at the result vouch for nothing either.
            Some(_) if is_void(origin) => {
                let part = |index: &Index| index.written(&[], &[call]);
                return self
                    .addition(run, slot, call, part)
                    .ok_or(RecordingError::Form("that the result vouches for nothing"));
            }
            Some(frame) => tokens.extend(provenance::answered(frame, slot.masks().table())),
            None => {}
        }
        if tokens.is_empty() {
            return Ok(ProvenanceUpdate::default());
        }
        // What cannot be recorded is not vouched for, which only holds more.
        let part = |index: &Index| index.part(Voucher::Trusted, &tokens);
        Ok(self.addition(run, slot, call, part).unwrap_or_default())
    }

    /// What a look at a stored trusted result names. Where the call that stored it vouches for
    /// nothing in its own run, no look at its result does, in whichever run.
    pub(crate) fn view_provenance(
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
        let tokens = provenance::answered(frame, slot.masks().table());
        let part = |index: &Index| index.part(Voucher::Trusted, &tokens);
        self.addition(&run.run_id, slot, call.as_str(), part).unwrap_or_default()
    }

    /// The ids of records that are vouched for.
    fn assigned(
        &self,
        ready: &AuthorizedInvocation<'_>,
        slot: &RunSlot,
        ended: &CallEnd,
    ) -> Vec<Token> {
        let spec = ready.target.capability.spec();
        let Some(fields) = spec.records.as_ref().filter(|_| !ended.records.is_empty()) else {
            return Vec::new();
        };
        let reply = provenance::Reply {
            records: &ended.records,
            fields,
            impact: spec.effects.impact,
            arguments: ready.arguments,
        };
        provenance::vouched_ids(&reply, &self.origins(slot))
    }

    /// Who vouches for the values of a run.
    pub(crate) fn origins<'a>(&'a self, slot: &'a RunSlot) -> Origins<'a> {
        Origins { slot, firewall: &self.firewall }
    }

    /// A part of the index, where there is anything to add.
    fn addition(
        &self,
        run: &RunId,
        slot: &RunSlot,
        name: &str,
        part: impl FnOnce(&Index) -> Option<IndexEntries>,
    ) -> Option<ProvenanceUpdate> {
        let part = {
            let mut index = slot.provenance()?;
            index.ensure(self.random.as_ref())?;
            part(&index)?
        };
        if part.is_empty() {
            return Some(ProvenanceUpdate::default());
        }
        let puts = self.puts(run, slot, name, &part)?;
        Some(ProvenanceUpdate { puts, part: Some(part) })
    }

    fn puts(
        &self,
        run: &RunId,
        slot: &RunSlot,
        name: &str,
        part: &IndexEntries,
    ) -> Option<Vec<Put>> {
        let index = slot.provenance()?;
        provenance::puts(&self.settings.tenant, run, name, &index, part)
    }
}

/// Whether the run has taken in untrusted data; one that cannot be read has.
fn is_untrusted(slot: &RunSlot) -> bool {
    lock(slot).is_none_or(|run| run.state().label.integrity == Integrity::Untrusted)
}
