//! The short form of a call: an id and arguments.

use serde_json::Value;
use weaver_types::{
    CallId, CapabilityId, CapabilityRequest, CheckKind, Frame, ReasonCode, ResponseMode,
};

use super::evaluate::denied_decision;
use super::grant::{early_refusal, placeholder_call_id};
use crate::caller::{Call, Caller};
use crate::invocation::Invocation;
use crate::kernel::Kernel;

/// The capability name under which a call with an invalid id is recorded.
const UNKNOWN: &str = "unknown";

impl Kernel {
    /// Calls a capability by its id: grant and invoke in one, for the goal of the run, without a
    /// justification, in mode [`ResponseMode::Auto`]. [`Kernel::execute`] takes everything else. An
    /// id that no capability can have is refused like an unknown one.
    pub async fn call(&self, caller: Caller<'_>, capability: &str, arguments: Value) -> Invocation {
        let Ok(id) = CapabilityId::parse(capability) else {
            return self.refuse_unknown(caller).await;
        };
        let request = CapabilityRequest::new(id, caller.run.settings.intent.clone());
        let mode = ResponseMode::Auto;
        self.execute(caller, Call { request: &request, arguments: Some(&arguments), mode }).await
    }

    async fn refuse_unknown(&self, caller: Caller<'_>) -> Invocation {
        let policy = self.policy();
        let principal = policy.limit_to_grants(caller.principal);
        let caller = Caller { principal: &principal, ..caller };
        let detail = "no capability of that name is known here";
        let decision = denied_decision(&policy, CheckKind::System, ReasonCode::NotFound, detail);
        let (Ok(unknown), Ok(call)) =
            (CapabilityId::parse(UNKNOWN), CallId::random(self.context.random.as_ref()))
        else {
            return Invocation {
                call: placeholder_call_id(),
                decision,
                result: None,
                request: None,
            };
        };
        let request = CapabilityRequest::new(unknown, caller.run.settings.intent.clone());
        let evaluation = early_refusal(decision, self.recorder.slot_of(caller));
        let decision = self.finish_refusal(caller, &request, &call, evaluation).await;
        self.refusal_invocation(caller, &request, call, decision)
    }
}

impl Invocation {
    /// What a model may see of the result; `None` when there is none.
    #[must_use]
    pub fn frame(&self) -> Option<&Frame> {
        self.result.as_ref()?.data.as_ref()
    }
}
