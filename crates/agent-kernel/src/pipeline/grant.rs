//! Granting: evaluate a request and, if it may go on, mint a token for exactly one invocation.

use weaver_types::{
    CallId, CapabilityRequest, Check, Constraints, Contribution, Decision, Operation, ReasonCode,
    ResponseMode, TokenClaims, Verdict,
};

use super::evaluate::{Evaluation, EvaluationRequest, Target, denied};
use super::measure::Measure;
use crate::cached_run::RunSlot;
use crate::caller::{Call, Caller};
use crate::invocation::Grant;
use crate::kernel::Kernel;
use crate::masked_arguments;
use crate::pending_grants::PendingGrant;
use crate::telemetry::{self};
use crate::token::{Token, token_of};

impl Kernel {
    /// Decides on a request. An allowed one gets a token; any other is recorded as a refusal.
    pub async fn grant(&self, caller: Caller<'_>, call: Call<'_>) -> Grant {
        let mut measure = Measure::begin(self, telemetry::Operation::Grant, caller, call.mode);
        measure.about(&call.request.capability_id);
        let grant = self.grant_now(caller, call).await;
        measure.granted(&grant.decision, grant.call.as_str());
        grant
    }

    async fn grant_now(&self, caller: Caller<'_>, call: Call<'_>) -> Grant {
        let policy = self.policy();
        let principal = policy.granted(caller.principal);
        let caller = Caller { principal: &principal, ..caller };
        self.ingest_statements(caller).await;
        let Ok(id) = CallId::random(self.random.as_ref()) else {
            let detail = "no randomness for a call id";
            let decision = denied(&policy, Check::System, ReasonCode::InternalError, detail);
            return Grant { call: unnamed(), decision, token: None, request: None };
        };
        let Call { request, arguments, mode } = call;
        let repaired = self.repaired(&policy, request, arguments);
        let arguments = repaired.as_ref().map(|repaired| &repaired.arguments).or(arguments);
        let unmasked = self.unmasked(caller, arguments);
        let (arguments, masks) = masked_arguments::parts(unmasked.as_deref(), arguments);
        let operation = Operation::Invoke;
        let (at, facts) = (self.moment(), None);
        let mut question = EvaluationRequest {
            caller,
            request,
            arguments,
            masks,
            operation,
            at,
            facts,
            resumes: true,
        };
        let tighten = |mut evaluated: Box<Evaluation>| {
            evaluated.decision = raw_needs_admin(evaluated.decision, caller, mode);
            evaluated
        };
        let mut evaluated = self.decide_and_resolve(&policy, &mut question, &id, &tighten).await;
        if evaluated.decision.allowed()
            && !caller.run.dry_run
            && let Some(target) = &evaluated.target
        {
            if let Some(token) = self.mint(question, mode, target, &evaluated, &id) {
                let Evaluation { decision, request, .. } = *evaluated;
                return Grant { call: id, decision, token: Some(token), request };
            }
            let detail = "no token could be made";
            let reason = ReasonCode::InternalError;
            let failed = Contribution::new(Check::System, Verdict::Deny, reason, detail);
            evaluated.decision = evaluated.decision.tightened(failed);
        }
        if evaluated.decision.allowed() {
            let Evaluation { decision, request, .. } = *evaluated;
            return Grant { call: id, decision, token: None, request };
        }
        let open = evaluated.request.clone();
        let decision = self.refuse(caller, request, &id, evaluated).await;
        Grant { call: id, decision, token: None, request: open }
    }

    fn mint(
        &self,
        question: EvaluationRequest<'_>,
        mode: ResponseMode,
        target: &Target,
        evaluated: &Evaluation,
        call: &CallId,
    ) -> Option<Token> {
        // What was looked at for the decision is not taken off the life of the token.
        let latest = self.moment().latest;
        let (decision, keys) = (&evaluated.decision, self.key_ring());
        let claims = TokenClaims {
            v: 1,
            token_id: token_of(call)?,
            key_id: keys.current().clone(),
            tenant: self.settings.tenant.clone(),
            principal: question.caller.principal.id.clone(),
            capability: target.capability.id().clone(),
            fingerprint: target.capability.fingerprint(),
            run: question.caller.run.run_id.clone(),
            arguments: target.arguments.as_ref().map(|a| a.digest),
            audience: self.settings.audience.clone(),
            policy: decision.basis().policy,
            constraints: limits(question.request, decision),
            raw: mode == ResponseMode::Raw,
            issued_at: question.at.now,
            expires_at: latest.after(self.settings.token_ttl),
        };
        let token = keys.sign(&claims)?;
        self.pending.insert(PendingGrant {
            claims,
            seal: *token.seal()?,
            call: call.clone(),
            request: question.request.clone(),
            facts: evaluated.facts.clone(),
        });
        Some(token)
    }
}

/// The requester's own constraints joined with the decision's: only ever tighter.
pub(crate) fn limits(request: &CapabilityRequest, decision: &Decision) -> Constraints {
    request.constraints.clone().join(decision.constraints())
}

/// Raw results are for admins, and must be asked for at the grant.
pub(crate) fn raw_needs_admin(
    decision: Decision,
    caller: Caller<'_>,
    mode: ResponseMode,
) -> Decision {
    if mode != ResponseMode::Raw || caller.principal.has_role("admin") {
        return decision;
    }
    let detail = "raw results are only for role `admin`";
    let reason = ReasonCode::MissingRole;
    decision.tightened(Contribution::new(Check::Role, Verdict::Deny, reason, detail))
}

/// Stands in where randomness failed; such a call is denied and never executed.
pub(crate) fn unnamed() -> CallId {
    #[expect(clippy::expect_used, reason = "a constant that the test below parses")]
    CallId::parse("call_unnamed").expect("a constant")
}

/// A refusal before anything was evaluated.
pub(crate) fn early(decision: Decision, slot: Option<RunSlot>) -> Box<Evaluation> {
    Evaluation::new(decision, slot)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_stand_in_is_a_call_id() {
        assert_eq!(super::unnamed().as_str(), "call_unnamed");
    }

    #[test]
    fn what_is_asked_for_and_what_is_decided_are_joined_to_the_tighter() {
        use weaver_policy::{Contracts, Policy, PolicySet};
        use weaver_types::{
            CapabilityId, CapabilityRequest, Check, Constraints, Contribution, Decision,
            ReasonCode, Verdict,
        };
        let limit =
            |max_rows, max_fields| Constraints { max_rows, max_fields, ..Constraints::default() };
        let mut request = CapabilityRequest::new(CapabilityId::parse("a.b").unwrap(), "");
        request.constraints = limit(Some(3), None);
        let said = Contribution::new(Check::Rule, Verdict::Allow, ReasonCode::RuleAllow, "");
        let said = said.with_constraints(limit(Some(9), Some(4)));
        let policy = PolicySet::from_code(Policy::new("p"), Contracts::new("c")).unwrap();
        let decision = Decision::join(vec![said], policy.basis().clone());
        assert_eq!(super::limits(&request, &decision), limit(Some(3), Some(4)));
    }
}
