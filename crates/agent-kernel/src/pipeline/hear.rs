//! Taking in where values come from: the user's words, what calls were told, what results show.

use serde_json::json;
use weaver_text::values::Token;
use weaver_types::digest::{Digest, Tag};
use weaver_types::ledger::{Batch, Durability, NewEvent, Put};
use weaver_types::{CallId, EventKind, Frame, Integrity, RunId, hex};

use super::finish::Ended;
use super::invoke::Ready;
use super::transition::Step;
use crate::hot_run::{RunSlot, lock};
use crate::kernel::{Caller, Kernel};
use crate::provenance::{self, Kind, Part};
use crate::record::{Payload, error_text};
use crate::run_state::RunDelta;

/// What a step adds to the index of its run: recorded with the step, and taken in once that is
/// committed.
#[derive(Default)]
pub(crate) struct Addition {
    pub(crate) puts: Vec<Put>,
    part: Option<Part>,
}

impl Addition {
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
    pub async fn hear(&self, caller: Caller<'_>) {
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
            let record = || Box::pin(self.record_words(caller, &slot, text, &part));
            if !caller.run.dry_run && !record().await {
                return;
            }
            if let Some(mut index) = slot.provenance() {
                index.add(&part);
            }
        }
        if let Some(mut index) = slot.provenance().filter(|_| !caller.run.dry_run) {
            index.hear(said);
        }
    }

    async fn record_words(
        &self,
        caller: Caller<'_>,
        slot: &RunSlot,
        text: &str,
        part: &Part,
    ) -> bool {
        let Some(event) = self.words_event(caller, text, part) else { return false };
        // Named by what it adds first: the keyed hash of the whole text.
        let first = part.entries.first().copied().unwrap_or_default();
        let name = format!("said_{first:016x}");
        let Some(puts) = self.puts(&caller.run.run_id, slot, &name, part) else { return false };
        let batch = Batch { put: puts, ..Batch::new(Durability::Os).with_event(event) };
        let step = Step::new(caller, slot, RunDelta::default(), batch);
        let done = self.step(step).await.is_ok();
        if let Some(mut index) = slot.provenance().filter(|_| done) {
            index.stored();
        }
        done
    }

    fn words_event(&self, caller: Caller<'_>, text: &str, part: &Part) -> Option<NewEvent> {
        let mut salt = [0_u8; 16];
        self.random.fill(&mut salt).ok()?;
        Payload::new()
            .who(caller.principal)
            .with("text", json!(error_text(&self.firewall, text)))
            .with("bytes", json!(text.len()))
            .with("salt", json!(hex(&salt)))
            .with("commit", json!(Digest::of_parts(Tag::WORDS_COMMIT, &[&salt, text.as_bytes()])))
            .with("values", json!(part.entries.len()))
            .with("full", json!(part.full))
            .event(EventKind::UserSaid, self.now(), &caller.run.run_id, None)
    }

    /// What a call that untrusted input may have steered was told: no trusted result of the run
    /// vouches for it. Only calls that keep something, or whose results are trusted, matter.
    pub(crate) fn written(
        &self,
        ready: &Ready<'_>,
        slot: &RunSlot,
    ) -> Result<Addition, &'static str> {
        let spec = ready.target.capability.spec();
        let keeps = spec.effects.writes() || spec.output_label.integrity == Integrity::Trusted;
        if !keeps || !is_untrusted(slot) {
            return Ok(Addition::default());
        }
        let tokens = provenance::written(ready.arguments);
        let run = &ready.caller.run.run_id;
        let name = format!("{}.args", ready.call);
        self.addition(run, slot, &name, (Kind::Written, &tokens))
            .ok_or("what the call was told has no recordable form")
    }

    /// What a trusted result names, as it is shown, and the ids that its source assigned. What
    /// untrusted input may have placed in the arguments is not vouched for by being repeated.
    pub(crate) fn told(&self, ready: &Ready<'_>, slot: &RunSlot, ended: &Ended) -> Addition {
        let frame = ended.result.data.as_ref();
        let trusted = frame.filter(|frame| frame.label.integrity == Integrity::Trusted);
        let mut tokens = trusted
            .map(|frame| provenance::answered(frame, slot.masks().table()))
            .unwrap_or_default();
        if !tokens.is_empty() && is_untrusted(slot) {
            tokens = provenance::echoes(tokens, ready.arguments);
        }
        tokens.extend(assigned(ready, slot, ended));
        let (run, name) = (&ready.caller.run.run_id, ready.call.as_str());
        self.addition(run, slot, name, (Kind::Trusted, &tokens)).unwrap_or_default()
    }

    /// What a look at a stored trusted result names.
    pub(crate) fn shown_again(
        &self,
        caller: Caller<'_>,
        call: &CallId,
        slot: &RunSlot,
        frame: &Frame,
    ) -> Addition {
        if frame.label.integrity != Integrity::Trusted {
            return Addition::default();
        }
        let tokens = provenance::answered(frame, slot.masks().table());
        let run = &caller.run.run_id;
        self.addition(run, slot, call.as_str(), (Kind::Trusted, &tokens)).unwrap_or_default()
    }

    fn addition(
        &self,
        run: &RunId,
        slot: &RunSlot,
        name: &str,
        (kind, tokens): (Kind, &[Token]),
    ) -> Option<Addition> {
        if tokens.is_empty() {
            return Some(Addition::default());
        }
        let part = {
            let mut index = slot.provenance()?;
            index.ensure(self.random.as_ref())?;
            index.part(kind, tokens)?
        };
        let puts = self.puts(run, slot, name, &part)?;
        Some(Addition { puts, part: Some(part) })
    }

    fn puts(&self, run: &RunId, slot: &RunSlot, name: &str, part: &Part) -> Option<Vec<Put>> {
        let index = slot.provenance()?;
        provenance::puts((&self.settings.tenant, run), name, &index, part)
    }
}

/// The ids of records that are vouched for.
fn assigned(ready: &Ready<'_>, slot: &RunSlot, ended: &Ended) -> Vec<Token> {
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
    provenance::vouched_ids(&reply, &provenance::Origins(slot))
}

/// Whether the run has taken in untrusted data; one that cannot be read has.
fn is_untrusted(slot: &RunSlot) -> bool {
    lock(slot).is_none_or(|run| run.state().label.integrity == Integrity::Untrusted)
}
