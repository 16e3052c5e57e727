//! Drilling down into a stored result: decided anew, redacted anew, recorded before it is shown.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::json;
use weaver_firewall::handle::{self, HandleRecord};
use weaver_firewall::{FrameSpec, HandleError, HandleQuery, ValueSource};
use weaver_types::ledger::{Batch, Durability};
use weaver_types::{
    CallId, CapabilityId, CapabilityRequest, Check, Contribution, Decision, EventKind, Frame,
    HandleId, Label, Operation, ReasonCode, ResponseMode, RunId, SafetyMode, ToolResult, Verdict,
};

use super::evaluate::{EvaluationRequest, Target, denied};
use super::grant::{early, unnamed};
use super::label;
use super::refuse::span_id;
use super::signal::CompletedCall;
use super::token_allotment::TokenAllotment;
use super::transition::{RecordingError, Step};
use crate::budget_reservation::{AttemptNeeds, BudgetReservation};
use crate::cached_run::RunSlot;
use crate::caller::Caller;
use crate::invocation::Invocation;
use crate::kernel::Kernel;
use crate::masks;
use crate::record::Payload;
use crate::revocation::RevocationScope;
use crate::run_state::RunDelta;
use crate::token::token_of;

/// A view that is allowed.
struct View<'a> {
    caller: Caller<'a>,
    call: CallId,
    record: &'a HandleRecord,
    target: &'a Target,
    decision: Decision,
    slot: RunSlot,
}

impl Kernel {
    /// Shows more of a stored result: rows or facts, under the rules of the first call and those
    /// in force now. A dry run shows nothing.
    pub async fn expand(
        &self,
        caller: Caller<'_>,
        id: &HandleId,
        query: &HandleQuery,
    ) -> Invocation {
        self.expand_apart_from(caller, id, query, &BTreeSet::new()).await
    }

    /// The same for a host that keeps apart what the same principal does at once: what one of
    /// `others` has stored is there for that run alone, and unknown to any other.
    pub async fn expand_apart_from(
        &self,
        caller: Caller<'_>,
        id: &HandleId,
        query: &HandleQuery,
        others: &BTreeSet<RunId>,
    ) -> Invocation {
        let policy = self.policy();
        let principal = policy.granted(caller.principal);
        let caller = Caller { principal: &principal, ..caller };
        let Ok(call) = CallId::random(self.random.as_ref()) else {
            let detail = "no randomness for a call id";
            let decision = denied(&policy, Check::System, ReasonCode::InternalError, detail);
            return Invocation { call: unnamed(), decision, result: None, request: None };
        };
        let record = match self.find(caller, id, others) {
            Ok(record) => record,
            Err(error) => {
                let basis = policy.basis().clone();
                let decision = Decision::join(vec![refusal(&error)], basis);
                return self.refuse_view(caller, call, id, decision).await;
            }
        };
        let request = CapabilityRequest::new(record.handle.capability_id.clone(), "");
        let operation = Operation::View;
        let question = EvaluationRequest {
            caller,
            request: &request,
            arguments: None,
            masks: None,
            operation,
            at: self.moment(),
            facts: None,
            resumes: true,
        };
        let evaluated = self.evaluate(&policy, question);
        let (Some(target), Some(slot), true) =
            (&evaluated.target, &evaluated.slot, evaluated.decision.allowed())
        else {
            let decision = self.refuse(caller, &request, &call, evaluated).await;
            return self.refused(caller, &request, call, decision);
        };
        let (decision, slot) = (evaluated.decision.clone(), slot.clone());
        let view = View { caller, call, record: &record, target, decision, slot };
        if caller.run.dry_run {
            return Invocation {
                call: view.call,
                decision: view.decision,
                result: None,
                request: None,
            };
        }
        let mut share = TokenAllotment::default();
        // Given back when the view is recorded.
        let _room = match self.room_for(&view, &mut share) {
            Ok(reservation) => reservation,
            Err(said) => {
                let decision = view.decision.tightened(*said);
                return self.refuse_view(caller, view.call, id, decision).await;
            }
        };
        match self.look(&view, query, &mut share) {
            Ok(frame) => self.show(view, frame, share).await,
            Err(error) => {
                let decision = view.decision.tightened(refusal(&error));
                self.refuse_view(caller, view.call, id, decision).await
            }
        }
    }

    /// The record of a handle that this principal may use in this run.
    fn find(
        &self,
        caller: Caller<'_>,
        id: &HandleId,
        others: &BTreeSet<RunId>,
    ) -> Result<HandleRecord, HandleError> {
        let stored = self.ledger.read(&handle::key(&self.settings.tenant, id))?;
        let access = handle::Access {
            tenant: &caller.principal.tenant,
            principal: &caller.principal.id,
            now: self.now(),
        };
        let record = handle::load(id, stored.as_ref(), access)?;
        if record.run != caller.run.run_id && others.contains(&record.run) {
            return Err(HandleError::NotFound { id: id.clone() });
        }
        let token = token_of(&record.call);
        let granted = RevocationScope {
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

    /// Sets aside the tokens that a view may show.
    fn room_for(
        &self,
        view: &View<'_>,
        share: &mut TokenAllotment,
    ) -> Result<BudgetReservation, Box<Contribution>> {
        let mode = self.settings.view_mode;
        let tokens = self.tokens_of_a_frame(&view.slot, mode);
        let budget = &view.caller.run.settings.budget;
        let reservation =
            BudgetReservation::take(&view.slot, budget, tokens, AttemptNeeds::default())?;
        share.reserve(self, &view.slot, mode, reservation.tokens())?;
        Ok(reservation)
    }

    fn look(
        &self,
        view: &View<'_>,
        query: &HandleQuery,
        share: &mut TokenAllotment,
    ) -> Result<Frame, HandleError> {
        let record = view.record;
        let pii_reader = view.caller.principal.has_role("pii_reader");
        let limits = record.tighten(view.decision.constraints(), pii_reader);
        let spec = FrameSpec {
            call: &view.call,
            capability: &view.target.capability,
            mode: share.floor().max(self.settings.view_mode),
            budget: self.frame_budget(&view.decision),
            constraints: &limits,
            pii_reader,
            handle: Some(&record.handle),
            label: view_label(view.target, record),
            now: self.now(),
            strict: view.caller.run.settings.safety_mode == SafetyMode::Strict,
            // A page is in the order that was asked for.
            goal: None,
        };
        let opened = self.handles.open(record, self.blobs.as_ref())?;
        let source = ValueSource {
            origin: Arc::clone(&view.target.entry.origin),
            label: record.label.clone(),
        };
        let firewall = self.firewall_of(&view.slot, source);
        let first = firewall.look(&opened, query, &spec)?;
        Ok(share.fit(first, &spec, |spec| firewall.look(&opened, query, spec).ok()))
    }

    async fn show(&self, view: View<'_>, frame: Frame, share: TokenAllotment) -> Invocation {
        let capability = frame.capability_id.clone();
        let delta = RunDelta {
            label: Some(frame.label.clone()),
            prompt_tokens: share.tokens(),
            ..RunDelta::default()
        };
        let recorded = self.record_view(&view, &frame, delta).await;
        let View { caller, call, decision, slot, target, .. } = view;
        if let Err(problem) = recorded {
            let reason = ReasonCode::LedgerUnavailable;
            let problem = problem.to_string();
            let said = Contribution::new(Check::System, Verdict::Deny, reason, problem);
            let request = CapabilityRequest::new(capability, "");
            return self.refused(caller, &request, call, decision.tightened(said));
        }
        share.settle();
        let over = CompletedCall {
            run: &caller.run.run_id,
            call: &call,
            capability: &capability,
            effects: target.capability.spec().effects,
            label: &frame.label,
            operation: Operation::View,
        };
        self.observed(&slot, &over);
        let mut result = ToolResult::ok(call.clone(), capability, frame);
        result.trace_id = caller.run.trace_id.clone();
        result.span_id = span_id(&call);
        Invocation { call, decision, result: Some(result), request: None }
    }

    async fn record_view(
        &self,
        view: &View<'_>,
        frame: &Frame,
        mut delta: RunDelta,
    ) -> Result<(), RecordingError> {
        let View { caller, call, record, decision, slot, .. } = view;
        let caller = *caller;
        let provenance = self.view_provenance(caller.run, call, record, slot, frame);
        delta.provenance = provenance.digests();
        let event = Payload::new()
            .caller(caller, &self.firewall)
            .with("capability", json!(frame.capability_id))
            .tagged(self.known(&frame.capability_id).as_deref())
            .with("handle", json!(frame.handle.as_ref().map(|handle| &handle.handle_id)))
            .decided(decision, &self.firewall)
            .with("rows", json!(frame.table.len()))
            .with("facts", json!(frame.facts.len()))
            .with("warnings", json!(frame.warnings))
            .run(&delta)
            .event(EventKind::HandleResolved, self.now(), &caller.run.run_id, Some(call))
            .ok_or(RecordingError::Form("the view"))?;
        let mut batch = Batch::new(Durability::Os).with_event(event);
        batch.put.extend(provenance.puts.iter().cloned());
        batch.put.extend(slot.masks().put(&self.settings.tenant, &caller.run.run_id));
        let counts_masks = masks::are_counted_by(&batch);
        self.step(Step::new(caller, slot, delta, batch)).await?;
        provenance.take(slot);
        if counts_masks {
            slot.masks().stored();
        }
        Ok(())
    }

    async fn refuse_view(
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
        let evaluated = early(decision, self.slot_of(caller));
        let decision = self.refuse(caller, &request, &call, evaluated).await;
        self.refused(caller, &request, call, decision)
    }
}

fn refusal(error: &HandleError) -> Contribution {
    Contribution::new(Check::System, Verdict::Deny, error.reason(), error.to_string())
}

/// The label of a frame of the capability, as little to be trusted as what is stored.
fn view_label(target: &Target, record: &HandleRecord) -> Label {
    let stored = label::stored(&target.capability, &record.call);
    let framed = label::framed(&target.capability, ResponseMode::Table, &stored);
    let kept = &record.label;
    // Above what the capability stores by itself, it is the source that said so, of what is shown too.
    let confidentiality = match kept.confidentiality > stored.confidentiality {
        true => kept.confidentiality,
        false => framed.confidentiality,
    };
    framed.join(&Label { confidentiality, ..kept.clone() })
}
