//! Grants: evaluates a request and, if it is allowed, mints a token for exactly one invocation.

use weaver_types::{
    CallId, CapabilityRequest, CheckKind, CheckResult, Constraints, Decision, Operation,
    ReasonCode, ResponseMode, TokenClaims, Verdict,
};

use super::evaluate::{CallTarget, Evaluation, EvaluationRequest, denied_decision};
use super::operation_timer::OperationTimer;
use crate::cached_run::RunSlot;
use crate::caller::{Call, Caller};
use crate::invocation::Grant;
use crate::kernel::Kernel;
use crate::masked_arguments;
use crate::pending_grants::PendingGrant;
use crate::telemetry::{self};
use crate::token::{Token, token_id_of};

impl Kernel {
    /// Decides on a request. An allowed one gets a token; any other is recorded as a refusal.
    pub async fn grant(&self, caller: Caller<'_>, call: Call<'_>) -> Grant {
        let mut timer =
            OperationTimer::begin(&self.recorder, telemetry::Operation::Grant, caller, call.mode);
        timer.set_capability(&call.request.capability_id);
        let grant = self.grant_unmeasured(caller, call).await;
        timer.finish_grant(&grant.decision, grant.call.as_str());
        grant
    }

    async fn grant_unmeasured(&self, caller: Caller<'_>, call: Call<'_>) -> Grant {
        let policy = self.policy();
        let principal = policy.limit_to_grants(caller.principal);
        let caller = Caller { principal: &principal, ..caller };
        self.recorder.ingest_statements(caller).await;
        let Ok(id) = CallId::random(self.context.random.as_ref()) else {
            let detail = "no randomness for a call id";
            let decision =
                denied_decision(&policy, CheckKind::System, ReasonCode::InternalError, detail);
            return Grant { call: placeholder_call_id(), decision, token: None, request: None };
        };
        let Call { request, arguments, mode } = call;
        let repaired = self.repair_arguments(&policy, request, arguments);
        let arguments = repaired.as_ref().map(|repaired| &repaired.arguments).or(arguments);
        let unmasked = self.unmask_arguments(caller, arguments);
        let (arguments, masks) =
            masked_arguments::arguments_and_masks(unmasked.as_deref(), arguments);
        let operation = Operation::Invoke;
        let (at, preconditions) = (self.context.clock_reading(), None);
        let mut evaluation_request = EvaluationRequest {
            caller,
            request,
            arguments,
            masks,
            operation,
            at,
            preconditions,
            may_resume: true,
        };
        let tighten = |mut evaluation: Box<Evaluation>| {
            evaluation.decision = deny_raw_without_admin(evaluation.decision, caller, mode);
            evaluation
        };
        let mut evaluation =
            self.decide_and_resolve(&policy, &mut evaluation_request, &id, &tighten).await;
        if evaluation.decision.is_allowed()
            && !caller.run.dry_run
            && let Some(target) = &evaluation.target
        {
            if let Some(token) = self.mint_token(evaluation_request, mode, target, &evaluation, &id)
            {
                let Evaluation { decision, request, .. } = *evaluation;
                return Grant { call: id, decision, token: Some(token), request };
            }
            let detail = "no token could be made";
            let reason = ReasonCode::InternalError;
            let failed = CheckResult::new(CheckKind::System, Verdict::Deny, reason, detail);
            evaluation.decision = evaluation.decision.joined_with(failed);
        }
        if evaluation.decision.is_allowed() {
            let Evaluation { decision, request, .. } = *evaluation;
            return Grant { call: id, decision, token: None, request };
        }
        let open_request = evaluation.request.clone();
        let decision = self.finish_refusal(caller, request, &id, evaluation).await;
        Grant { call: id, decision, token: None, request: open_request }
    }

    fn mint_token(
        &self,
        evaluation_request: EvaluationRequest<'_>,
        mode: ResponseMode,
        target: &CallTarget,
        evaluation: &Evaluation,
        call: &CallId,
    ) -> Option<Token> {
        // Read again, so that the time the decision took does not shorten the token's life.
        let latest = self.context.clock_reading().expiry_time;
        let (decision, keys) = (&evaluation.decision, self.key_ring());
        let claims = TokenClaims {
            v: 1,
            token_id: token_id_of(call)?,
            key_id: keys.current().clone(),
            tenant: self.context.settings.tenant.clone(),
            principal: evaluation_request.caller.principal.id.clone(),
            capability: target.capability.id().clone(),
            fingerprint: target.capability.fingerprint(),
            run: evaluation_request.caller.run.run_id.clone(),
            arguments: target.arguments.as_ref().map(|a| a.digest),
            audience: self.context.settings.audience.clone(),
            policy: decision.basis().policy,
            constraints: joined_constraints(evaluation_request.request, decision),
            raw: mode == ResponseMode::Raw,
            issued_at: evaluation_request.at.now,
            expires_at: latest.after(self.context.settings.token_ttl),
        };
        let token = keys.sign(&claims)?;
        self.pending_grants.insert(PendingGrant {
            claims,
            mac: *token.mac()?,
            call: call.clone(),
            request: evaluation_request.request.clone(),
            preconditions: evaluation.preconditions.clone(),
        });
        Some(token)
    }
}

/// The requester's own constraints joined with the decision's. The result is only ever tighter.
pub(crate) fn joined_constraints(request: &CapabilityRequest, decision: &Decision) -> Constraints {
    request.constraints.clone().join(decision.constraints())
}

/// Raw results are for admins, and must be asked for at the grant.
pub(crate) fn deny_raw_without_admin(
    decision: Decision,
    caller: Caller<'_>,
    mode: ResponseMode,
) -> Decision {
    if mode != ResponseMode::Raw || caller.principal.has_role("admin") {
        return decision;
    }
    let detail = "raw results are only for role `admin`";
    let reason = ReasonCode::MissingRole;
    decision.joined_with(CheckResult::new(CheckKind::Role, Verdict::Deny, reason, detail))
}

/// A placeholder id for when randomness fails. Such a call is denied and never executed.
pub(crate) fn placeholder_call_id() -> CallId {
    #[expect(clippy::expect_used, reason = "a constant that the test below parses")]
    CallId::parse("call_unnamed").expect("a constant")
}

/// A refusal before anything was evaluated.
pub(crate) fn early_refusal(decision: Decision, slot: Option<RunSlot>) -> Box<Evaluation> {
    Evaluation::new(decision, slot)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_stand_in_is_a_call_id() {
        assert_eq!(super::placeholder_call_id().as_str(), "call_unnamed");
    }

    #[test]
    fn what_is_asked_for_and_what_is_decided_are_joined_to_the_tighter() {
        use weaver_policy::{Contracts, Policy, PolicySet};
        use weaver_types::{
            CapabilityId, CapabilityRequest, CheckKind, CheckResult, Constraints, Decision,
            ReasonCode, Verdict,
        };
        let limit =
            |max_rows, max_fields| Constraints { max_rows, max_fields, ..Constraints::default() };
        let mut request = CapabilityRequest::new(CapabilityId::parse("a.b").unwrap(), "");
        request.constraints = limit(Some(3), None);
        let said = CheckResult::new(CheckKind::Rule, Verdict::Allow, ReasonCode::RuleAllow, "");
        let said = said.with_constraints(limit(Some(9), Some(4)));
        let policy = PolicySet::from_code(Policy::new("p"), Contracts::new("c")).unwrap();
        let decision = Decision::join(vec![said], policy.basis().clone());
        assert_eq!(super::joined_constraints(&request, &decision), limit(Some(3), Some(4)));
    }
}
