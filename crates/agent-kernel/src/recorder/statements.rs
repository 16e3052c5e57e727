//! Records what the user says in a run.

use weaver_types::digest::{Digest, DomainTag};
use weaver_types::ledger::{Batch, Durability, NewEvent};
use weaver_types::{EventKind, hex};

use super::RunRecorder;
use super::run_update::RunUpdate;
use crate::cached_run::RunSlot;
use crate::caller::Caller;
use crate::event_payload::{EventPayload, error_text};
use crate::provenance::{self, IndexEntries};
use crate::run_state::RunDelta;

impl RunRecorder {
    /// Indexes the user's new statements, with one event for each. A statement that cannot be
    /// recorded does not count. A dry run records nothing.
    pub(crate) async fn ingest_statements(&self, caller: Caller<'_>) {
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
            let entries = slot.provenance().and_then(|mut index| {
                index.user_text_entries(text, &tokens, self.context.random.as_ref())
            });
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
        self.context.random.fill(&mut salt).ok()?;
        EventPayload::new()
            .with_caller(caller, &self.context.firewall)
            .with("text", error_text(&self.context.firewall, text))
            .with("bytes", text.len())
            .with("salt", hex(&salt))
            .with("commit", Digest::of_parts(DomainTag::WORDS_COMMIT, &[&salt, text.as_bytes()]))
            .with("values", entries.entries.len())
            .with("full", entries.overflowed)
            .with_run_delta(delta)
            .into_event(EventKind::UserSaid, self.context.now(), &caller.run.run_id, None)
    }
}
