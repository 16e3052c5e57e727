//! Invoking: verify, decide again on the exact arguments, commit, execute, finish.

use serde_json::Value;
use weaver_types::{
    CallId, CapabilityId, CapabilityRequest, Check, Contribution, Decision, Frame, Operation,
    ReasonCode, ResponseMode, TokenClaims, ToolResult, Verdict,
};

use super::evaluate::{Evaluated, Target, denied};
use super::grant::{early, limits, raw_needs_admin, unnamed};
use crate::kernel::{Call, Caller, Kernel};
use crate::token::Token;

/// What an invocation came to.
#[derive(Debug, Clone)]
pub struct Invocation {
    /// The call, by which the log is searched.
    pub call: CallId,
    /// The decision.
    pub decision: Decision,
    /// The result or the refusal; `None` in a dry run that would have gone on.
    pub result: Option<ToolResult<Frame>>,
}

/// A call that has passed every check and waits for its commit.
pub(crate) struct Ready<'a> {
    pub(crate) caller: Caller<'a>,
    pub(crate) request: &'a CapabilityRequest,
    pub(crate) call: CallId,
    pub(crate) claims: &'a TokenClaims,
    pub(crate) target: Target,
    pub(crate) decision: Decision,
    pub(crate) mode: ResponseMode,
}

impl Kernel {
    /// Executes what a token stands for, once.
    pub async fn invoke(
        &self,
        caller: Caller<'_>,
        token: &Token,
        arguments: &Value,
        mode: ResponseMode,
    ) -> Invocation {
        let policy = self.policy();
        let (claims, pending) = match self.verify(&policy, caller, token) {
            Ok(verified) => verified,
            Err((reason, detail)) => {
                let decision = denied(&policy, Check::System, reason, detail);
                return self.refuse_token(caller, token, decision).await;
            }
        };
        let request = &pending.request;
        let mut evaluated = self.evaluate(caller, request, Some(arguments), Operation::Invoke);
        evaluated.decision = bound(evaluated.decision, &claims, evaluated.target.as_ref());
        evaluated.decision = raw_needs_admin(evaluated.decision, caller, mode);
        if mode == ResponseMode::Raw && !claims.raw {
            let detail = "raw results must be asked for at the grant";
            evaluated.decision = evaluated.decision.tightened(Contribution::new(
                Check::System,
                Verdict::Deny,
                ReasonCode::TokenScope,
                detail,
            ));
        }
        let Evaluated { decision, target, slot } = evaluated;
        let (target, slot) = match (target, slot) {
            (Some(target), Some(slot)) if decision.allowed() => (target, slot),
            (target, slot) => {
                let decision = self
                    .refuse(caller, request, &pending.call, Evaluated { decision, target, slot })
                    .await;
                return self.refused(caller, request, pending.call.clone(), decision);
            }
        };
        let ready = Ready {
            caller,
            request,
            call: pending.call.clone(),
            claims: &claims,
            target,
            decision,
            mode,
        };
        match self.commit_intent(&ready, &slot).await {
            Ok(()) => self.run_to_end(ready, slot).await,
            Err(decision) => {
                let evaluated =
                    Evaluated { decision, target: Some(ready.target), slot: Some(slot) };
                let decision = self.refuse(caller, request, &ready.call, evaluated).await;
                self.refused(caller, request, pending.call.clone(), decision)
            }
        }
    }

    /// Grant and invoke in one.
    pub async fn execute(&self, caller: Caller<'_>, call: Call<'_>) -> Invocation {
        let nothing = Value::Object(serde_json::Map::new());
        let arguments = call.arguments.unwrap_or(&nothing);
        let grant = self.grant(caller, Call { arguments: Some(arguments), ..call }).await;
        match &grant.token {
            Some(token) => self.invoke(caller, token, arguments, call.mode).await,
            None if grant.decision.allowed() => {
                Invocation { call: grant.call, decision: grant.decision, result: None }
            }
            None => self.refused(caller, call.request, grant.call, grant.decision),
        }
    }

    async fn refuse_token(
        &self,
        caller: Caller<'_>,
        token: &Token,
        decision: Decision,
    ) -> Invocation {
        // What the token claims is worth naming only when its signature holds.
        let known = self.keys.verify(token).ok();
        let capability = known
            .as_ref()
            .map(|claims| claims.capability.clone())
            .or_else(|| CapabilityId::parse("unknown").ok());
        let (Some(capability), Ok(call)) = (capability, CallId::random(self.random.as_ref()))
        else {
            return Invocation { call: unnamed(), decision, result: None };
        };
        let request = CapabilityRequest::new(capability, "");
        let slot =
            self.runs.slot(&self.settings.tenant, &caller.run.run_id, self.ledger.as_ref()).ok();
        let decision = self.refuse(caller, &request, &call, early(decision, slot)).await;
        self.refused(caller, &request, call, decision)
    }
}

/// The evaluated call must be the granted one.
fn bound(decision: Decision, claims: &TokenClaims, target: Option<&Target>) -> Decision {
    let Some(target) = target else { return decision };
    let problem = if target.capability.fingerprint() != claims.fingerprint {
        (ReasonCode::ContractChanged, "the capability has changed since the grant; ask again")
    } else if claims.arguments.is_some()
        && claims.arguments != target.arguments.as_ref().map(|a| a.digest)
    {
        (ReasonCode::TokenScope, "the token was made for other arguments")
    } else {
        return decision;
    };
    decision.tightened(Contribution::new(Check::System, Verdict::Deny, problem.0, problem.1))
}

impl Ready<'_> {
    /// How much may be shown: the mode asked for, or the stricter one of a constraint.
    pub(crate) fn effective_mode(&self) -> ResponseMode {
        let limits = self.limits();
        limits.mode.map_or(self.mode, |mode| mode.max(self.mode))
    }

    /// The limits of this call: the token's and the decision's.
    pub(crate) fn limits(&self) -> weaver_types::Constraints {
        limits(self.request, &self.decision).join(&self.claims.constraints)
    }
}
