//! Shows more of a stored result.

use std::sync::Arc;

use weaver_firewall::handle::HandleRecord;
use weaver_firewall::{FrameSpec, HandleError, HandleQuery, ValueSource};
use weaver_types::ledger::{Batch, Durability};
use weaver_types::{
    CallId, Decision, EventKind, Frame, Label, PII_READER, ResponseMode, SafetyMode,
};

use super::ResultPipeline;
use super::result_label;
use crate::cached_run::RunSlot;
use crate::caller::Caller;
use crate::decision_point::CallTarget;
use crate::event_payload::EventPayload;
use crate::long_work;
use crate::recorder::{RecordingError, RunUpdate};
use crate::run_masks;
use crate::run_state::RunDelta;
use crate::token_allotment::TokenAllotment;

/// An expansion that was allowed.
pub(crate) struct AuthorizedExpansion<'a> {
    pub(crate) caller: Caller<'a>,
    pub(crate) call: CallId,
    pub(crate) record: &'a HandleRecord,
    pub(crate) target: &'a CallTarget,
    pub(crate) decision: Decision,
    pub(crate) slot: RunSlot,
}

impl ResultPipeline {
    /// Makes the frame of an expansion from the stored result.
    pub(crate) fn render_frame(
        &self,
        expansion: &AuthorizedExpansion<'_>,
        query: &HandleQuery,
        allotment: &mut TokenAllotment,
    ) -> Result<Frame, HandleError> {
        let record = expansion.record;
        let pii_reader = expansion.caller.principal.has_role(PII_READER);
        let limits = record.tightened_constraints(expansion.decision.constraints(), pii_reader);
        let spec = FrameSpec {
            call: &expansion.call,
            capability: &expansion.target.capability,
            mode: allotment.min_mode().max(self.context.settings.view_mode),
            budget: self.frame_budget(&expansion.decision),
            constraints: &limits,
            pii_reader,
            handle: Some(&record.handle),
            label: view_label(expansion.target, record),
            now: self.context.now(),
            strict: expansion.caller.run.settings.safety_mode == SafetyMode::Strict,
            // No goal: a page keeps the requested order.
            goal: None,
        };
        let opened = self.handles.open(record, self.blobs.as_ref())?;
        let source = ValueSource {
            origin: Arc::clone(&expansion.target.entry.origin),
            label: record.label.clone(),
        };
        let firewall = self.source_firewall(&expansion.slot, source);
        let render = || {
            let first = firewall.expand_open(&opened, query, &spec)?;
            Ok(allotment.fit(first, &spec, |spec| firewall.expand_open(&opened, query, spec).ok()))
        };
        let unprocessed = || {
            let detail = "the host did not run the rendering of the view".to_owned();
            Err(HandleError::Constraint { detail })
        };
        let host = self.context.long_work.as_ref();
        let is_long = long_work::is_long(record.handle.byte_size);
        long_work::run(host, is_long, render).unwrap_or_else(unprocessed)
    }

    /// Records an expansion before it is shown.
    pub(crate) async fn record_expansion(
        &self,
        expansion: &AuthorizedExpansion<'_>,
        frame: &Frame,
        mut delta: RunDelta,
    ) -> Result<(), RecordingError> {
        let AuthorizedExpansion { caller, call, record, decision, slot, .. } = expansion;
        let caller = *caller;
        let provenance = self.expansion_provenance(caller.run, call, record, slot, frame);
        delta.provenance = provenance.digests();
        let event = EventPayload::new()
            .with_caller(caller, &self.context.firewall)
            .with("capability", &frame.capability_id)
            .with_tags(self.context.capability(&frame.capability_id).as_deref())
            .with("handle", frame.handle.as_ref().map(|handle| &handle.handle_id))
            .with_decision(decision, &self.context.firewall)
            .with("rows", frame.table.len())
            .with("facts", frame.facts.len())
            .with("warnings", &frame.warnings)
            .with_run_delta(&delta)
            .into_event(
                EventKind::HandleResolved,
                self.context.now(),
                &caller.run.run_id,
                Some(call),
            )
            .ok_or(RecordingError::Form("the view"))?;
        let mut batch = Batch::new(Durability::Os).with_event(event);
        batch.put.extend(provenance.puts.iter().cloned());
        batch
            .put
            .extend(slot.masks().put_if_used(&self.context.settings.tenant, &caller.run.run_id));
        let counts_masks = run_masks::writes_mask_record(&batch);
        self.recorder.commit_run_update(RunUpdate::new(caller, slot, delta, batch)).await?;
        provenance.apply(slot);
        if counts_masks {
            slot.masks().mark_recorded();
        }
        Ok(())
    }
}

/// The label of a frame: never more trusted than the stored result.
pub(crate) fn view_label(target: &CallTarget, record: &HandleRecord) -> Label {
    let stored = result_label::stored_label(&target.capability, &record.call);
    let framed = result_label::frame_label(&target.capability, ResponseMode::Table, &stored);
    let source_label = &record.label;
    // A confidentiality above the capability's own comes from the source of the result, and holds
    // for what is shown too.
    let confidentiality = match source_label.confidentiality > stored.confidentiality {
        true => source_label.confidentiality,
        false => framed.confidentiality,
    };
    framed.join(&Label { confidentiality, ..source_label.clone() })
}
