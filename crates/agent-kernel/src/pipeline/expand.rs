//! Expands a stored result: decided and redacted again, and recorded before it is shown.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::json;
use weaver_firewall::handle::{self, HandleRecord};
use weaver_firewall::{FrameSpec, HandleError, HandleQuery, ValueSource};
use weaver_types::ledger::{Batch, Durability};
use weaver_types::{
    CallId, CapabilityId, CapabilityRequest, CheckKind, CheckResult, Decision, EventKind, Frame,
    HandleId, Label, Operation, PII_READER, ReasonCode, ResponseMode, RunId, SafetyMode,
    ToolResult, Verdict,
};

use super::evaluate::{CallTarget, EvaluationRequest, denied_decision};
use super::grant::{early_refusal, placeholder_call_id};
use super::refuse::span_id;
use super::result_label;
use super::token_allotment::TokenAllotment;
use crate::budget_reservation::{AttemptNeeds, BudgetReservation};
use crate::cached_run::RunSlot;
use crate::caller::Caller;
use crate::event_payload::EventPayload;
use crate::invocation::Invocation;
use crate::kernel::Kernel;
use crate::recorder::CallSummary;
use crate::recorder::{RecordingError, RunUpdate};
use crate::revocation::GrantScope;
use crate::run_masks;
use crate::run_state::RunDelta;
use crate::token::token_id_of;

/// An expansion that was allowed.
struct AuthorizedExpansion<'a> {
    caller: Caller<'a>,
    call: CallId,
    record: &'a HandleRecord,
    target: &'a CallTarget,
    decision: Decision,
    slot: RunSlot,
}

impl Kernel {
    /// Shows more of a stored result, rows or facts, under the rules of the first call and those in
    /// force now. A dry run shows nothing.
    pub async fn expand(
        &self,
        caller: Caller<'_>,
        id: &HandleId,
        query: &HandleQuery,
    ) -> Invocation {
        self.expand_isolated(caller, id, query, &BTreeSet::new()).await
    }

    /// Like [`Kernel::expand`], for a host that isolates concurrent runs of one principal: a result
    /// that one of `isolated_runs` has stored is visible only to that run, and unknown to any
    /// other.
    pub async fn expand_isolated(
        &self,
        caller: Caller<'_>,
        id: &HandleId,
        query: &HandleQuery,
        isolated_runs: &BTreeSet<RunId>,
    ) -> Invocation {
        let policy = self.policy();
        let principal = policy.limit_to_grants(caller.principal);
        let caller = Caller { principal: &principal, ..caller };
        let Ok(call) = CallId::random(self.context.random.as_ref()) else {
            let detail = "no randomness for a call id";
            let decision =
                denied_decision(&policy, CheckKind::System, ReasonCode::InternalError, detail);
            return Invocation {
                call: placeholder_call_id(),
                decision,
                result: None,
                request: None,
            };
        };
        let record = match self.find_handle(caller, id, isolated_runs) {
            Ok(record) => record,
            Err(error) => {
                let basis = policy.basis().clone();
                let decision = Decision::join(vec![handle_denial(&error)], basis);
                return self.refuse_expansion(caller, call, id, decision).await;
            }
        };
        let request = CapabilityRequest::new(record.handle.capability_id.clone(), "");
        let operation = Operation::View;
        let evaluation_request = EvaluationRequest {
            caller,
            request: &request,
            arguments: None,
            masks: None,
            operation,
            at: self.context.clock_reading(),
            preconditions: None,
            may_resume: true,
        };
        let evaluation = self.evaluate(&policy, evaluation_request);
        let (Some(target), Some(slot), true) =
            (&evaluation.target, &evaluation.slot, evaluation.decision.is_allowed())
        else {
            let decision = self.finish_refusal(caller, &request, &call, evaluation).await;
            return self.refusal_invocation(caller, &request, call, decision);
        };
        let (decision, slot) = (evaluation.decision.clone(), slot.clone());
        let expansion =
            AuthorizedExpansion { caller, call, record: &record, target, decision, slot };
        if caller.run.dry_run {
            return Invocation {
                call: expansion.call,
                decision: expansion.decision,
                result: None,
                request: None,
            };
        }
        let mut allotment = TokenAllotment::default();
        // Released when the expansion is recorded.
        let _room = match self.reserve_tokens(&expansion, &mut allotment) {
            Ok(reservation) => reservation,
            Err(check_result) => {
                let decision = expansion.decision.joined_with(*check_result);
                return self.refuse_expansion(caller, expansion.call, id, decision).await;
            }
        };
        match self.render_frame(&expansion, query, &mut allotment) {
            Ok(frame) => self.record_and_return(expansion, frame, allotment).await,
            Err(error) => {
                let decision = expansion.decision.joined_with(handle_denial(&error));
                self.refuse_expansion(caller, expansion.call, id, decision).await
            }
        }
    }

    /// The record of a handle, if this principal may use it in this run.
    ///
    /// A handle is not a credential: its principal, its expiry, its run and the revocations since
    /// it was stored are all checked before its record is used.
    fn find_handle(
        &self,
        caller: Caller<'_>,
        id: &HandleId,
        isolated_runs: &BTreeSet<RunId>,
    ) -> Result<HandleRecord, HandleError> {
        let stored =
            self.context.ledger.read(&handle::record_key(&self.context.settings.tenant, id))?;
        let access = handle::HandleAccess {
            tenant: &caller.principal.tenant,
            principal: &caller.principal.id,
            now: self.context.now(),
        };
        let record = handle::authorized_record(id, stored.as_ref(), access)?;
        if record.run != caller.run.run_id && isolated_runs.contains(&record.run) {
            return Err(HandleError::NotFound { id: id.clone() });
        }
        let token = token_id_of(&record.call);
        let granted = GrantScope {
            principal: &record.principal,
            run: &record.run,
            token: token.as_ref(),
            at: record.handle.created_at,
        };
        if self.is_grant_revoked(&granted) {
            return Err(HandleError::Revoked { id: id.clone() });
        }
        Ok(record)
    }

    /// Reserves the tokens that the expansion may show.
    fn reserve_tokens(
        &self,
        expansion: &AuthorizedExpansion<'_>,
        allotment: &mut TokenAllotment,
    ) -> Result<BudgetReservation, Box<CheckResult>> {
        let mode = self.context.settings.view_mode;
        let tokens = self.max_frame_tokens(&expansion.slot, mode);
        let budget = &expansion.caller.run.settings.budget;
        let reservation = BudgetReservation::for_first_attempt(
            &expansion.slot,
            budget,
            tokens,
            AttemptNeeds::default(),
        )?;
        allotment.reserve(self, &expansion.slot, mode, reservation.tokens())?;
        Ok(reservation)
    }

    fn render_frame(
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
        let first = firewall.expand_open(&opened, query, &spec)?;
        Ok(allotment.fit(first, &spec, |spec| firewall.expand_open(&opened, query, spec).ok()))
    }

    async fn record_and_return(
        &self,
        expansion: AuthorizedExpansion<'_>,
        frame: Frame,
        allotment: TokenAllotment,
    ) -> Invocation {
        let capability = frame.capability_id.clone();
        let delta = RunDelta {
            label: Some(frame.label.clone()),
            prompt_tokens: allotment.shown_tokens(),
            ..RunDelta::default()
        };
        let recorded = self.record_expansion(&expansion, &frame, delta).await;
        let AuthorizedExpansion { caller, call, decision, slot, target, .. } = expansion;
        if let Err(problem) = recorded {
            let reason = ReasonCode::LedgerUnavailable;
            let problem = problem.to_string();
            let check_result = CheckResult::new(CheckKind::System, Verdict::Deny, reason, problem);
            let request = CapabilityRequest::new(capability, "");
            return self.refusal_invocation(
                caller,
                &request,
                call,
                decision.joined_with(check_result),
            );
        }
        allotment.charge();
        let summary = CallSummary {
            run: &caller.run.run_id,
            call: &call,
            capability: &capability,
            effects: target.capability.spec().effects,
            label: &frame.label,
            operation: Operation::View,
        };
        self.recorder.notify_signal_sources(&slot, &summary);
        let mut result = ToolResult::ok(call.clone(), capability, frame);
        result.trace_id = caller.run.trace_id.clone();
        result.span_id = span_id(&call);
        Invocation { call, decision, result: Some(result), request: None }
    }

    async fn record_expansion(
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
            .with("capability", json!(frame.capability_id))
            .with_tags(self.context.capability(&frame.capability_id).as_deref())
            .with("handle", json!(frame.handle.as_ref().map(|handle| &handle.handle_id)))
            .with_decision(decision, &self.context.firewall)
            .with("rows", json!(frame.table.len()))
            .with("facts", json!(frame.facts.len()))
            .with("warnings", json!(frame.warnings))
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

    async fn refuse_expansion(
        &self,
        caller: Caller<'_>,
        call: CallId,
        id: &HandleId,
        decision: Decision,
    ) -> Invocation {
        let Ok(name) = CapabilityId::parse(format!("handle:{id}")) else {
            return Invocation { call, decision, result: None, request: None };
        };
        let request = CapabilityRequest::new(name, "");
        let evaluation = early_refusal(decision, self.recorder.slot_of(caller));
        let decision = self.finish_refusal(caller, &request, &call, evaluation).await;
        self.refusal_invocation(caller, &request, call, decision)
    }
}

fn handle_denial(error: &HandleError) -> CheckResult {
    CheckResult::new(CheckKind::System, Verdict::Deny, error.reason(), error.to_string())
}

/// The label of a frame: never more trusted than the stored result.
fn view_label(target: &CallTarget, record: &HandleRecord) -> Label {
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
