//! Mints and verifies tokens: the MAC, then everything that a token is bound to.

use std::sync::Arc;

use weaver_policy::PolicySet;
use weaver_types::{
    CallId, CapabilityRequest, Constraints, Decision, ReasonCode, ResponseMode, TokenClaims,
};

use super::PolicyDecisionPoint;
use super::evaluation::{CallTarget, Evaluation, EvaluationRequest};
use super::pending_grants::PendingGrant;
use crate::caller::Caller;
use crate::clock_guard::ClockReading;
use crate::revocation::GrantScope;
use crate::token::{NarrowedToken, Token, token_id_of};

/// Why a token is refused: the reason and a message.
type TokenRefusal = (ReasonCode, &'static str);

/// A token that was accepted, with the grant that it was made for.
pub(crate) struct VerifiedToken {
    pending: Arc<PendingGrant>,
    narrowed: Option<TokenClaims>,
}

impl VerifiedToken {
    /// What the token says.
    pub(crate) fn claims(&self) -> &TokenClaims {
        self.narrowed.as_ref().unwrap_or(&self.pending.claims)
    }

    /// The grant.
    pub(crate) fn pending(&self) -> &PendingGrant {
        &self.pending
    }
}

/// A token whose MAC is genuine, with its grant.
struct TokenWithGrant {
    /// Its grant, while it waits for its invocation.
    pending: Option<Arc<PendingGrant>>,
    /// What the token allows, if that differs from its grant.
    narrowed: Option<NarrowedToken>,
}

impl TokenWithGrant {
    fn claims(&self) -> Option<&TokenClaims> {
        let granted = || self.pending.as_ref().map(|pending| &pending.claims);
        self.narrowed.as_ref().map(|read| &read.claims).or_else(granted)
    }
}

impl PolicyDecisionPoint {
    /// Mints the token of an allowed request; `None` when none can be made.
    pub(crate) fn mint_token(
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

    /// Verifies a token for this caller at this time.
    ///
    /// The MAC is checked before anything is read from the token. Whether the grant is still
    /// pending is asked last, so that an invalid token says nothing about which grants exist.
    pub(crate) fn verify_token(
        &self,
        policy: &PolicySet,
        caller: Caller<'_>,
        token: &Token,
        at: ClockReading,
    ) -> Result<VerifiedToken, TokenRefusal> {
        let token_with_grant = self.authenticate(token);
        let Some((token_with_grant, claims)) =
            token_with_grant.as_ref().and_then(|it| Some((it, it.claims()?)))
        else {
            let detail = "the token is malformed or not made by this kernel";
            return Err((ReasonCode::TokenInvalid, detail));
        };
        self.check_claims(policy, caller, claims, token_with_grant.narrowed.as_ref(), at)?;
        match &token_with_grant.pending {
            Some(pending) => Ok(VerifiedToken {
                pending: Arc::clone(pending),
                narrowed: token_with_grant.narrowed.as_ref().map(|read| read.claims.clone()),
            }),
            None => {
                let detail = "the token was used before, or its grant is no longer known";
                Err((ReasonCode::TokenUsed, detail))
            }
        }
    }

    fn check_claims(
        &self,
        policy: &PolicySet,
        caller: Caller<'_>,
        claims: &TokenClaims,
        narrowed: Option<&NarrowedToken>,
        ClockReading { now, expiry_time: latest }: ClockReading,
    ) -> Result<(), TokenRefusal> {
        let refused = |reason, detail| Err((reason, detail));
        if latest >= claims.expires_at || now < claims.issued_at {
            let detail = "the token is past its time; ask for a new grant";
            return refused(ReasonCode::TokenExpired, detail);
        }
        let acting = caller.principal.agent.as_ref().unwrap_or(&caller.run.agent);
        let agent = narrowed.and_then(|narrowed| narrowed.agent.as_ref());
        if claims.tenant != self.context.settings.tenant
            || claims.tenant != caller.principal.tenant
            || claims.principal != caller.principal.id
            || claims.run != caller.run.run_id
            || claims.audience != self.context.settings.audience
            || agent.is_some_and(|agent| agent != acting)
        {
            let detail = "the token was made for another principal, agent, run or audience";
            return refused(ReasonCode::TokenScope, detail);
        }
        if narrowed.is_some_and(|narrowed| narrowed.contradictory) {
            return refused(ReasonCode::TokenScope, "the caveats of the token exclude each other");
        }
        if claims.policy != policy.basis().policy {
            let detail = "the policy has changed since the grant; ask again";
            return refused(ReasonCode::PolicyChanged, detail);
        }
        if self.is_revoked(claims) {
            return refused(ReasonCode::TokenRevoked, "the grant was revoked");
        }
        Ok(())
    }

    fn authenticate(&self, token: &Token) -> Option<TokenWithGrant> {
        let keys = self.key_ring();
        let sealed = keys.authenticate(token)?;
        let pending = sealed.token_name().and_then(|name| self.pending_grants.get(name));
        // The grant was stored under this MAC, so its claims need not be parsed again.
        let has_granted_mac =
            pending.as_ref().is_some_and(|one| sealed.root_mac() == Some(&one.mac));
        let read = if has_granted_mac { None } else { Some(sealed.read()?) };
        Some(TokenWithGrant { pending, narrowed: read })
    }

    /// Checks that a retry is still authorised: nothing was revoked, the token has not expired, and
    /// policy, contracts and capability are those of the decision.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn check_still_authorized(
        &self,
        claims: &TokenClaims,
        decision: &Decision,
    ) -> Result<(), ReasonCode> {
        if self.is_revoked(claims) {
            return Err(ReasonCode::TokenRevoked);
        }
        if self.context.clock_reading().expiry_time >= claims.expires_at {
            return Err(ReasonCode::TokenExpired);
        }
        if !self.is_policy_unchanged(decision) {
            return Err(ReasonCode::PolicyChanged);
        }
        let policy = self.context.policy();
        let entry = self.context.registry.get(&claims.capability).ok_or(ReasonCode::NotFound)?;
        let capability = entry.effective(&policy).map_err(|_| ReasonCode::NotFound)?;
        if capability.fingerprint() != claims.fingerprint {
            return Err(ReasonCode::ContractChanged);
        }
        Ok(())
    }

    /// True when policy and contracts are those of the decision.
    pub(crate) fn is_policy_unchanged(&self, decision: &Decision) -> bool {
        let policy = self.context.policy();
        let (now, then) = (policy.basis(), decision.basis());
        (now.policy, now.contracts) == (then.policy, then.contracts)
    }

    /// True when the grant behind these claims was revoked.
    pub(crate) fn is_revoked(&self, claims: &TokenClaims) -> bool {
        self.is_grant_revoked(&GrantScope {
            principal: &claims.principal,
            run: &claims.run,
            token: Some(&claims.token_id),
            at: claims.issued_at,
        })
    }

    /// True when a grant was revoked according to the records or the log, or when the log cannot be
    /// read.
    pub(crate) fn is_grant_revoked(&self, grant: &GrantScope<'_>) -> bool {
        self.recorder.read_log().is_err() || self.revocations.is_revoked(grant)
    }
}

/// The requester's own constraints joined with the decision's. The result is only ever tighter.
pub(crate) fn joined_constraints(request: &CapabilityRequest, decision: &Decision) -> Constraints {
    request.constraints.clone().join(decision.constraints())
}

#[cfg(test)]
mod tests {
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
