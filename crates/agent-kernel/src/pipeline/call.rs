//! The short way to call: an id and arguments.

use serde_json::Value;
use weaver_types::{
    CallId, CapabilityId, CapabilityRequest, Check, Frame, ReasonCode, ResponseMode,
};

use super::evaluate::denied;
use super::grant::{early, unnamed};
use crate::caller::{Call, Caller};
use crate::invocation::Invocation;
use crate::kernel::Kernel;

/// Under which name a call to what cannot be one is recorded.
const UNKNOWN: &str = "unknown";

impl Kernel {
    /// Calls a capability by its id: grant and invoke in one, for the goal of the run, without a
    /// justification, with the result as it is where it fits. Everything else is
    /// [`Kernel::execute`]'s. An id that no capability can have is refused like an unknown one.
    pub async fn call(&self, caller: Caller<'_>, capability: &str, arguments: Value) -> Invocation {
        let Ok(id) = CapabilityId::parse(capability) else {
            return self.no_such(caller).await;
        };
        let request = CapabilityRequest::new(id, caller.run.settings.intent.clone());
        let mode = ResponseMode::Auto;
        self.execute(caller, Call { request: &request, arguments: Some(&arguments), mode }).await
    }

    async fn no_such(&self, caller: Caller<'_>) -> Invocation {
        let policy = self.policy();
        let principal = policy.granted(caller.principal);
        let caller = Caller { principal: &principal, ..caller };
        let detail = "no capability of that name is known here";
        let decision = denied(&policy, Check::System, ReasonCode::NotFound, detail);
        let (Ok(unknown), Ok(call)) =
            (CapabilityId::parse(UNKNOWN), CallId::random(self.random.as_ref()))
        else {
            return Invocation { call: unnamed(), decision, result: None, request: None };
        };
        let request = CapabilityRequest::new(unknown, caller.run.settings.intent.clone());
        let evaluated = early(decision, self.slot_of(caller));
        let decision = self.refuse(caller, &request, &call, evaluated).await;
        self.refused(caller, &request, call, decision)
    }
}

impl Invocation {
    /// What a model may see of the result; `None` when there is none.
    #[must_use]
    pub fn frame(&self) -> Option<&Frame> {
        self.result.as_ref()?.data.as_ref()
    }
}
