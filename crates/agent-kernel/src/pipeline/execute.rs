//! Grant and invoke in one.

use serde_json::{Map, Value};
use weaver_types::{
    CallId, CapabilityId, CapabilityRequest, ProgressSink, ReasonCode, ResponseMode,
};

use super::invoke::InvokeOptions;
use super::refuse::{refusal_invocation, refuse_early};
use crate::authorized_invocation::TokenHolder;
use crate::caller::{Call, Caller};
use crate::decision_point::denied_decision;
use crate::invocation::{Grant, Invocation};
use crate::kernel::Kernel;

/// The capability name under which a call with an invalid id is recorded.
const UNKNOWN: &str = "unknown";

impl Kernel {
    /// Grant and invoke in one.
    pub async fn execute(&self, caller: Caller<'_>, call: Call<'_>) -> Invocation {
        self.execute_reporting(caller, call, None).await
    }

    /// Grant and invoke in one. While the call runs, `progress` receives its progress if the driver
    /// reports any: at most ten times a second and 1,000 times in all, in growing numbers, the last
    /// one before this returns. Messages are redacted like results and cut to one line of at most
    /// 200 characters; the modes `summary` and `handle_only` get none. The run takes on the label
    /// of the result with the intent, since messages are shown before the end is recorded.
    pub async fn execute_with_progress(
        &self,
        caller: Caller<'_>,
        call: Call<'_>,
        progress: ProgressSink,
    ) -> Invocation {
        self.execute_reporting(caller, call, Some(progress)).await
    }

    async fn execute_reporting(
        &self,
        caller: Caller<'_>,
        call: Call<'_>,
        progress: Option<ProgressSink>,
    ) -> Invocation {
        let nothing = Value::Object(Map::new());
        let arguments = call.arguments.unwrap_or(&nothing);
        let grant = self.grant(caller, Call { arguments: Some(arguments), ..call }).await;
        match &grant.token {
            Some(token) => {
                let options =
                    InvokeOptions { token_holder: TokenHolder::Kernel, stream: None, progress };
                self.invoke_with_options(caller, token, arguments, call.mode, options).await
            }
            None if grant.decision.is_allowed() => {
                let Grant { call, decision, request, .. } = grant;
                Invocation { request, ..Invocation::without_result(call, decision) }
            }
            None => Invocation {
                request: grant.request,
                ..refusal_invocation(caller, call.request, grant.call, grant.decision)
            },
        }
    }

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
        let policy = self.context.policy();
        let principal = policy.limit_to_grants(caller.principal);
        let caller = Caller { principal: &principal, ..caller };
        let detail = "no capability of that name is known here";
        let decision = denied_decision(&policy, ReasonCode::NotFound, detail);
        let (Ok(unknown), Ok(call)) =
            (CapabilityId::parse(UNKNOWN), CallId::random(self.context.random.as_ref()))
        else {
            return Invocation::unnamed(decision);
        };
        let request = CapabilityRequest::new(unknown, caller.run.settings.intent.clone());
        refuse_early(&self.recorder, caller, &request, call, decision).await
    }
}
