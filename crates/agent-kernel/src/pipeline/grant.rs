//! Granting: evaluate a request and, if it may go on, mint a token for exactly one invocation.

use std::collections::BTreeMap;
use std::sync::Mutex;

use weaver_types::{
    CallId, CapabilityRequest, Check, Constraints, Contribution, Decision, Operation, ReasonCode,
    ResponseMode, Timestamp, TokenClaims, TokenId, Verdict,
};

use super::evaluate::{Evaluated, Target, denied};
use crate::kernel::{Call, Caller, Kernel};
use crate::token::Token;

/// How many grants may wait for their invocation; beyond it the oldest are void.
const MAX_PENDING: usize = 65_536;

/// The answer to a request.
#[derive(Debug, Clone)]
pub struct Grant {
    /// The call that the invocation will have.
    pub call: CallId,
    /// The decision.
    pub decision: Decision,
    /// The token; only when the decision allows.
    pub token: Option<Token>,
}

/// A grant that waits for its invocation.
#[derive(Debug, Clone)]
pub(crate) struct Pending {
    pub(crate) call: CallId,
    pub(crate) request: CapabilityRequest,
    expires_at: Timestamp,
}

/// The grants that wait, by token.
#[derive(Default)]
pub(crate) struct PendingGrants(Mutex<BTreeMap<TokenId, Pending>>);

impl PendingGrants {
    fn insert(&self, token: TokenId, pending: Pending, now: Timestamp) {
        let Ok(mut all) = self.0.lock() else { return };
        if all.len() >= MAX_PENDING {
            all.retain(|_, pending| pending.expires_at > now);
            while all.len() >= MAX_PENDING {
                all.pop_first();
            }
        }
        all.insert(token, pending);
    }

    pub(crate) fn get(&self, token: &TokenId) -> Option<Pending> {
        self.0.lock().ok()?.get(token).cloned()
    }

    pub(crate) fn remove(&self, token: &TokenId) {
        if let Ok(mut all) = self.0.lock() {
            all.remove(token);
        }
    }
}

impl Kernel {
    /// Decides on a request. An allowed one gets a token; any other is recorded as a refusal.
    pub async fn grant(&self, caller: Caller<'_>, call: Call<'_>) -> Grant {
        let policy = self.policy();
        let Ok(id) = CallId::random(self.random.as_ref()) else {
            let decision = denied(
                &policy,
                Check::System,
                ReasonCode::InternalError,
                "no randomness for a call id",
            );
            return Grant { call: unnamed(), decision, token: None };
        };
        let mut evaluated = self.evaluate(caller, call.request, call.arguments, Operation::Invoke);
        evaluated.decision = raw_needs_admin(evaluated.decision, caller, call.mode);
        if evaluated.decision.allowed() && !caller.run.dry_run {
            if let Some(target) = &evaluated.target {
                match self.mint(caller, call, target, &evaluated.decision, &id) {
                    Some(token) => {
                        return Grant { call: id, decision: evaluated.decision, token: Some(token) };
                    }
                    None => {
                        let detail = "no token could be made";
                        let failed = Contribution::new(
                            Check::System,
                            Verdict::Deny,
                            ReasonCode::InternalError,
                            detail,
                        );
                        evaluated.decision = evaluated.decision.tightened(failed);
                    }
                }
            }
        }
        if caller.run.dry_run {
            return Grant { call: id, decision: evaluated.decision, token: None };
        }
        let decision = self.refuse(caller, call.request, &id, evaluated).await;
        Grant { call: id, decision, token: None }
    }

    fn mint(
        &self,
        caller: Caller<'_>,
        call: Call<'_>,
        target: &Target,
        decision: &Decision,
        id: &CallId,
    ) -> Option<Token> {
        let now = self.clock.now();
        let claims = TokenClaims {
            v: 1,
            token_id: TokenId::random(self.random.as_ref()).ok()?,
            key_id: self.keys.current().clone(),
            tenant: self.settings.tenant.clone(),
            principal: caller.principal.id.clone(),
            capability: target.capability.id().clone(),
            fingerprint: target.capability.fingerprint(),
            run: caller.run.run_id.clone(),
            arguments: target.arguments.as_ref().map(|a| a.digest),
            audience: self.settings.audience.clone(),
            policy: decision.basis().policy,
            constraints: limits(call.request, decision),
            raw: call.mode == ResponseMode::Raw,
            issued_at: now,
            expires_at: now.after(self.settings.token_ttl),
        };
        let token = self.keys.sign(&claims)?;
        let pending = Pending {
            call: id.clone(),
            request: call.request.clone(),
            expires_at: claims.expires_at,
        };
        self.pending.insert(claims.token_id, pending, now);
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
    decision.tightened(Contribution::new(
        Check::Role,
        Verdict::Deny,
        ReasonCode::MissingRole,
        "raw results are only for role `admin`",
    ))
}

/// Stands in where randomness failed; such a call is denied and never executed.
pub(crate) fn unnamed() -> CallId {
    #[expect(clippy::expect_used, reason = "a constant that the test below parses")]
    CallId::parse("call_unnamed").expect("a constant")
}

/// A refusal before anything was evaluated.
pub(crate) fn early(decision: Decision, slot: Option<crate::run_state::RunSlot>) -> Evaluated {
    Evaluated { decision, target: None, slot }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_stand_in_is_a_call_id() {
        assert_eq!(super::unnamed().as_str(), "call_unnamed");
    }
}
