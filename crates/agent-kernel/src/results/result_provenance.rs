//! Updates the provenance index from the arguments of calls and from results.

use weaver_firewall::handle::HandleRecord;
use weaver_text::values::ValueToken;
use weaver_types::{CallId, Frame, Integrity, RunContext};

use super::ResultPipeline;
use super::call_end::CallEnd;
use crate::authorized_invocation::AuthorizedInvocation;
use crate::cached_run::{RunSlot, lock_run};
use crate::provenance::{self, Payment, PaymentReservation, ProvenanceIndex, Voucher};
use crate::recorder::{ProvenanceUpdate, RecordingError};

/// The payment was made, or is being made, by another call.
pub(crate) struct RepeatedPayment;

impl ResultPipeline {
    /// Reserves the payment that a call makes, until it is noted with the intent. An error if it must
    /// be new and another call has made it since the decision, or is making it.
    pub(crate) fn reserve_payment(
        &self,
        invocation: &AuthorizedInvocation<'_>,
        slot: &RunSlot,
        may_repeat: bool,
    ) -> Result<Option<PaymentReservation>, RepeatedPayment> {
        let payment = Payment::of(&invocation.target.capability, invocation.arguments);
        let Some(payment) = payment else { return Ok(None) };
        let must_be_new = !may_repeat && is_untrusted(slot);
        let Some(mut index) = slot.provenance() else { return Ok(None) };
        if index.ensure_key(self.context.random.as_ref()).is_none() {
            return Ok(None);
        }
        if must_be_new && index.has_payment(&payment) {
            return Err(RepeatedPayment);
        }
        Ok(PaymentReservation::new(slot, &mut index, payment))
    }

    /// Indexes the arguments of a call that untrusted input may have steered, so that no trusted
    /// result vouches for them later. If not all arguments are vouched for, neither the result of
    /// the call nor any later result of a server that it writes to vouches for anything. Calls that
    /// store nothing and whose results are untrusted are skipped. A payment is noted in any case: a
    /// run without untrusted data may take some in before the model asks for it again.
    pub(crate) fn argument_provenance(
        &self,
        invocation: &AuthorizedInvocation<'_>,
        slot: &RunSlot,
        payment: Option<PaymentReservation>,
    ) -> Result<ProvenanceUpdate, RecordingError> {
        let spec = invocation.target.capability.spec();
        let writes = spec.effects.writes();
        let trusted = spec.output_label.integrity == Integrity::Trusted;
        let noted = payment.as_ref().map_or(&[][..], |payment| &payment.sources);
        if !(writes || trusted) || !is_untrusted(slot) {
            return match payment {
                Some(_) => self.note_arguments(invocation, slot, &[], &[], noted),
                None => Ok(ProvenanceUpdate::default()),
            }
            .map(|update| update.with_payment(payment));
        }
        let origin = &invocation.target.entry.origin;
        let mut void: Vec<&str> = Vec::new();
        let schema = spec.input_schema.as_deref();
        let declared = provenance::declared_names(schema);
        let tokens = provenance::argument_tokens(invocation.arguments, &declared);
        let vouched = provenance::are_vouched_for(
            invocation.arguments,
            schema,
            &self.context.value_origins(slot),
        );
        if writes && !vouched {
            void.push(origin);
        }
        let is_void = || slot.provenance().is_none_or(|index| index.is_void(origin));
        if trusted && (!vouched || is_void()) {
            void.push(invocation.call.as_str());
        }
        self.note_arguments(invocation, slot, &tokens, &void, noted)
            .map(|update| update.with_payment(payment))
    }

    /// The update that adds tokens, void sources and the note of a payment.
    fn note_arguments(
        &self,
        invocation: &AuthorizedInvocation<'_>,
        slot: &RunSlot,
        tokens: &[ValueToken],
        void: &[&str],
        payment: &[String],
    ) -> Result<ProvenanceUpdate, RecordingError> {
        let name = format!("{}.args", invocation.call);
        let entries = |index: &ProvenanceIndex| {
            index.with_payment(index.untrusted_entries(tokens, void)?, payment)
        };
        self.recorder
            .build_provenance_update(&invocation.caller.run.run_id, slot, &name, entries)
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
                    .recorder
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
        Ok(self.recorder.build_provenance_update(run, slot, call, entries).unwrap_or_default())
    }

    /// Indexes the values that an expansion of a stored trusted result shows. If the call that
    /// stored the result vouches for nothing in its own run, no expansion of it does, in any run.
    pub(super) fn expansion_provenance(
        &self,
        run: &RunContext,
        call: &CallId,
        record: &HandleRecord,
        slot: &RunSlot,
        frame: &Frame,
    ) -> ProvenanceUpdate {
        let stored_in = self.recorder.slot(&record.run).ok();
        let is_void = || {
            let index = stored_in.as_ref().and_then(|slot| slot.provenance());
            index.is_none_or(|index| index.is_void(record.call.as_str()))
        };
        if frame.label.integrity != Integrity::Trusted || is_void() {
            return ProvenanceUpdate::default();
        }
        let tokens = provenance::frame_tokens(frame, slot.masks().table());
        let entries = |index: &ProvenanceIndex| index.new_entries(Voucher::Trusted, &tokens);
        self.recorder
            .build_provenance_update(&run.run_id, slot, call.as_str(), entries)
            .unwrap_or_default()
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
        provenance::vouched_ids(&reply, &self.context.value_origins(slot))
    }
}

/// Whether the run has seen untrusted data. A run that cannot be read counts as if it had.
fn is_untrusted(slot: &RunSlot) -> bool {
    lock_run(slot).is_none_or(|run| run.state().label.integrity == Integrity::Untrusted)
}
