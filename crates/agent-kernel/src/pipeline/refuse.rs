//! Refusals: recorded, charged to the run as a denial, and handed back as a value.

use serde_json::json;
use weaver_types::ledger::{Batch, Durability};
use weaver_types::{
    CallId, CapabilityRequest, Check, Contribution, Decision, EventKind, ReasonCode, ToolErrorCode,
    ToolResult, Verdict,
};

use super::evaluate::Evaluated;
use super::{Explanation, Invocation};
use crate::kernel::{Caller, Kernel};
use crate::record::{Payload, refusal_key};
use crate::run_state::{RunDelta, RunSlot};

impl Kernel {
    /// Records a refusal. When that fails the refusal stands all the same, and says so.
    pub(crate) async fn refuse(
        &self,
        caller: Caller<'_>,
        request: &CapabilityRequest,
        call: &CallId,
        evaluated: Evaluated,
    ) -> Decision {
        let Evaluated { decision, target, slot } = evaluated;
        let delta = RunDelta { denials: 1, ..RunDelta::default() };
        let mut payload = Payload::new()
            .key(refusal_key(decision.primary()))
            .who(caller.principal)
            .with("capability", json!(request.capability_id))
            .asked(request, &self.firewall)
            .decided(&decision)
            .run(&delta);
        if let Some(target) = &target {
            payload = payload.what(&target.capability);
        }
        let event =
            payload.event(EventKind::Refused, self.clock.now(), &caller.run.run_id, Some(call));
        let recorded = match (slot, event) {
            (Some(slot), Some(event)) => self.submit(caller, &slot, &delta, event).await,
            _ => Err("the refusal has no recordable form".to_owned()),
        };
        let decision = match recorded {
            Ok(()) => decision,
            Err(problem) => decision.tightened(Contribution::new(
                Check::System,
                Verdict::Deny,
                ReasonCode::LedgerUnavailable,
                format!("the refusal could not be recorded: {problem}"),
            )),
        };
        self.remember(Explanation {
            call: call.clone(),
            principal: caller.principal.id.clone(),
            capability: request.capability_id.clone(),
            decision: decision.clone(),
            failure: None,
        });
        decision
    }

    async fn submit(
        &self,
        caller: Caller<'_>,
        slot: &RunSlot,
        delta: &RunDelta,
        event: weaver_types::ledger::NewEvent,
    ) -> Result<(), String> {
        let batch = Batch::new(Durability::Os).with_event(event);
        let ticket = self.step(caller, slot, delta, batch).map_err(|error| error.to_string())?;
        ticket.await.map(|_| ()).map_err(|error| error.to_string())
    }

    /// The invocation that a refused call ends in.
    pub(crate) fn refused(
        &self,
        caller: Caller<'_>,
        request: &CapabilityRequest,
        call: CallId,
        decision: Decision,
    ) -> Invocation {
        let code = error_code(decision.primary());
        let message = format!("{}: {}", decision.primary(), decision.detail());
        let mut result =
            ToolResult::error(call.clone(), request.capability_id.clone(), code, message);
        result.trace_id = caller.run.trace_id.clone();
        result.span_id = span_id(&call);
        Invocation { call, decision, result: Some(result) }
    }
}

/// The span of a call: the first 16 hexadecimal digits of its id.
pub(crate) fn span_id(call: &CallId) -> String {
    call.as_str().chars().filter(char::is_ascii_hexdigit).skip(2).take(16).collect()
}

/// A reason in the eight words of the SecondBrain kernel.
pub(crate) fn error_code(reason: ReasonCode) -> ToolErrorCode {
    match reason {
        ReasonCode::NotFound
        | ReasonCode::HandleNotFound
        | ReasonCode::HandleExpired
        | ReasonCode::ToolNotAdvertised => ToolErrorCode::NotFound,
        ReasonCode::InvalidArguments
        | ReasonCode::InvalidConstraint
        | ReasonCode::ArgumentsRequired => ToolErrorCode::ValidationError,
        ReasonCode::RateLimited => ToolErrorCode::RateLimited,
        ReasonCode::BudgetExceeded | ReasonCode::SessionBudgetExhausted => {
            ToolErrorCode::BudgetExceeded
        }
        ReasonCode::Timeout | ReasonCode::ApprovalTimeout => ToolErrorCode::Timeout,
        ReasonCode::UpstreamUnavailable => ToolErrorCode::NetworkError,
        ReasonCode::InternalError | ReasonCode::LedgerUnavailable | ReasonCode::ExecutionFailed => {
            ToolErrorCode::Unexpected
        }
        _ => ToolErrorCode::PermissionDenied,
    }
}
