//! Expands a stored result: decided and redacted again, and recorded before it is shown.

use std::collections::BTreeSet;

use weaver_firewall::handle::{self, HandleRecord};
use weaver_firewall::{HandleError, HandleQuery};
use weaver_types::{
    CallId, CapabilityId, CapabilityRequest, CheckKind, CheckResult, Decision, Frame, HandleId,
    Label, Operation, ReasonCode, Remedy, RunId, ToolResult, Verdict,
};

use super::refuse::{refusal_invocation, refuse};
use crate::budget_reservation::{AttemptNeeds, BudgetReservation};
use crate::caller::Caller;
use crate::decision_point::{Evaluation, EvaluationRequest, denied_decision};
use crate::invocation::{Invocation, span_id};
use crate::kernel::Kernel;
use crate::recorder::CallSummary;
use crate::results::{AuthorizedExpansion, view_label};
use crate::revocation::GrantScope;
use crate::run_state::RunDelta;
use crate::token::token_id_of;
use crate::token_allotment::{TokenAllotment, max_frame_tokens};

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
        let policy = self.context.policy();
        let principal = policy.limit_to_grants(caller.principal);
        let caller = Caller { principal: &principal, ..caller };
        let Ok(call) = CallId::random(self.context.random.as_ref()) else {
            let detail = "no randomness for a call id";
            let decision = denied_decision(&policy, ReasonCode::InternalError, detail);
            return Invocation::unnamed(decision);
        };
        let record = match self.find_handle(caller, id, isolated_runs) {
            Ok(record) => record,
            Err(error) => {
                let basis = policy.basis().clone();
                let decision = Decision::join(vec![handle_refusal(&error)], basis);
                return self.refuse_expansion(caller, call, id, decision).await;
            }
        };
        let request = CapabilityRequest::new(record.handle.capability_id.clone(), "");
        let at = self.context.clock_reading();
        let evaluation_request = EvaluationRequest::new(caller, &request, Operation::View, at);
        let evaluation = self.decision_point.evaluate(&policy, evaluation_request);
        let (Some(target), Some(slot), true) =
            (&evaluation.target, &evaluation.slot, evaluation.decision.is_allowed())
        else {
            return refuse(&self.recorder, caller, &request, call, evaluation).await;
        };
        let (decision, slot) = (evaluation.decision.clone(), slot.clone());
        let expansion =
            AuthorizedExpansion { caller, call, record: &record, target, decision, slot };
        if caller.run.dry_run {
            return Invocation::without_result(expansion.call, expansion.decision);
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
        match self.results.render_frame(&expansion, query, &mut allotment) {
            Ok(frame) => self.record_and_return(expansion, frame, allotment).await,
            Err(error) => {
                let decision = expansion.decision.joined_with(handle_refusal(&error));
                // An error in a query names fields of the result, which others may have written.
                let quotes =
                    matches!(error, HandleError::Query { .. } | HandleError::Constraint { .. });
                let label = quotes.then(|| view_label(expansion.target, expansion.record));
                self.refuse_quoting(caller, expansion.call, id, decision, label).await
            }
        }
    }

    /// The capability whose result the caller could expand by this handle; `None` where it is
    /// refused. [`Kernel::expand_isolated`] decides.
    #[must_use]
    pub fn handle_capability(
        &self,
        caller: Caller<'_>,
        id: &HandleId,
        isolated_runs: &BTreeSet<RunId>,
    ) -> Option<CapabilityId> {
        let record = self.find_handle(caller, id, isolated_runs).ok()?;
        Some(record.handle.capability_id.clone())
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
        if self.decision_point.is_grant_revoked(&granted) {
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
        let settings = &self.context.settings;
        let mode = settings.view_mode;
        let tokens = max_frame_tokens(settings, &expansion.slot, mode);
        let budget = &expansion.caller.run.settings.budget;
        let reservation = BudgetReservation::for_first_attempt(
            &expansion.slot,
            budget,
            tokens,
            AttemptNeeds::default(),
        )?;
        allotment.reserve(settings, &expansion.slot, mode, reservation.tokens())?;
        Ok(reservation)
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
        let recorded = self.results.record_expansion(&expansion, &frame, delta).await;
        let AuthorizedExpansion { caller, call, decision, slot, target, .. } = expansion;
        if let Err(problem) = recorded {
            let reason = ReasonCode::LedgerUnavailable;
            let problem = problem.to_string();
            let check_result = CheckResult::new(CheckKind::System, Verdict::Deny, reason, problem);
            let request = CapabilityRequest::new(capability, "");
            return refusal_invocation(caller, &request, call, decision.joined_with(check_result));
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
        Invocation { result: Some(result), ..Invocation::without_result(call, decision) }
    }

    async fn refuse_expansion(
        &self,
        caller: Caller<'_>,
        call: CallId,
        id: &HandleId,
        decision: Decision,
    ) -> Invocation {
        self.refuse_quoting(caller, call, id, decision, None).await
    }

    /// Refuses an expansion. The run takes on the label of what the refusal quotes.
    async fn refuse_quoting(
        &self,
        caller: Caller<'_>,
        call: CallId,
        id: &HandleId,
        decision: Decision,
        quoted_label: Option<Label>,
    ) -> Invocation {
        let Ok(name) = CapabilityId::parse(format!("handle:{id}")) else {
            return Invocation::without_result(call, decision);
        };
        let request = CapabilityRequest::new(name, "");
        let evaluation = Evaluation::new(decision, self.recorder.slot_of(caller));
        let evaluation = Box::new(Evaluation { quoted_label, ..*evaluation });
        refuse(&self.recorder, caller, &request, call, evaluation).await
    }
}

/// What keeps a result from being shown: a denial, or an error in the query, which another query
/// avoids.
fn handle_refusal(error: &HandleError) -> CheckResult {
    let refusal =
        |verdict| CheckResult::new(CheckKind::System, verdict, error.reason(), error.to_string());
    match error {
        HandleError::Query { .. } => refusal(Verdict::Ask).with_remedy(Remedy::Arguments),
        _ => refusal(Verdict::Deny),
    }
}
