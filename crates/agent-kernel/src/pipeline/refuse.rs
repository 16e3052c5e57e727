//! Refusals: recorded, counted in the run as a denial, and returned as a value.

use serde_json::Value;
use weaver_types::ledger::{Batch, Durability};
use weaver_types::{
    CallId, CapabilityRequest, CheckKind, CheckResult, Decision, EventKind, ReasonCode,
    ToolErrorCode, ToolResult, Verdict,
};

use crate::caller::Caller;
use crate::decision_point::Evaluation;
use crate::decision_record::DecisionRecord;
use crate::event_payload::{record_arguments, record_event};
use crate::invocation::{Explanation, Invocation, span_id};
use crate::recorder::{RecordingError, RunRecorder, RunUpdate};
use crate::run_state::RunDelta;

/// Records a refusal. If that fails, the call is still refused, and the decision says so. A dry
/// run records nothing.
pub(super) async fn finish_refusal(
    recorder: &RunRecorder,
    caller: Caller<'_>,
    request: &CapabilityRequest,
    call: &CallId,
    evaluation: Box<Evaluation>,
) -> Decision {
    let mut decision = evaluation.decision.clone();
    if !caller.run.dry_run {
        let recorded = Box::pin(record_refusal(recorder, caller, request, call, evaluation)).await;
        let reason = ReasonCode::LedgerUnavailable;
        match recorded {
            Ok(()) => {}
            // The decision says why, and what to do.
            Err(RecordingError::RunState) if decision.primary_reason() == reason => {}
            Err(problem) => {
                let detail = format!("the refusal could not be recorded: {problem}");
                let denial = CheckResult::new(CheckKind::System, Verdict::Deny, reason, detail);
                decision = decision.joined_with(denial);
            }
        }
    }
    recorder.explanations.add(Explanation {
        call: call.clone(),
        principal: caller.principal.id.clone(),
        capability: request.capability_id.clone(),
        decision: decision.clone(),
        failure: None,
    });
    decision
}

async fn record_refusal(
    recorder: &RunRecorder,
    caller: Caller<'_>,
    request: &CapabilityRequest,
    call: &CallId,
    evaluation: Box<Evaluation>,
) -> Result<(), RecordingError> {
    let Evaluation { decision, target, slot, request: open_request, .. } = *evaluation;
    let (masked_arguments, label) = (evaluation.masked_arguments, evaluation.quoted_label);
    let slot = slot.ok_or(RecordingError::RunState)?;
    let delta = RunDelta { denials: 1, label, ..RunDelta::default() };
    let mut record =
        DecisionRecord::new(caller, request, &decision, &delta, &recorder.context.firewall);
    record.request = open_request;
    if let Some(target) = &target {
        record.describe_capability(&target.capability, &target.contract);
        if let Some(read) = &target.arguments {
            // A replay needs the arguments to decide the call again.
            let value: Value = serde_json::from_slice(&read.bytes)
                .map_err(|_| RecordingError::Form("the arguments"))?;
            let (firewall, random) = (&recorder.context.firewall, recorder.context.random.as_ref());
            record.arguments =
                record_arguments(&value, masked_arguments.as_ref(), read, firewall, random);
        }
    }
    let run = &caller.run.run_id;
    let event = record_event(&record, EventKind::Refused, recorder.context.now(), run, Some(call))
        .ok_or(RecordingError::Form("it"))?;
    let batch = Batch::new(Durability::Os).with_event(event);
    let update = RunUpdate::new(caller, &slot, delta, batch);
    Ok(recorder.commit_run_update(update).await?)
}

/// The invocation that a refused call returns.
pub(super) fn refusal_invocation(
    caller: Caller<'_>,
    request: &CapabilityRequest,
    call: CallId,
    decision: Decision,
) -> Invocation {
    let code = error_code(decision.primary_reason());
    let message = format!("{}: {}", decision.primary_reason(), decision.detail());
    let mut result = ToolResult::error(call.clone(), request.capability_id.clone(), code, message);
    result.trace_id = caller.run.trace_id.clone();
    result.span_id = span_id(&call);
    Invocation { result: Some(result), ..Invocation::without_result(call, decision) }
}

/// Refuses a call: records the refusal, and answers with it.
pub(super) async fn refuse(
    recorder: &RunRecorder,
    caller: Caller<'_>,
    request: &CapabilityRequest,
    call: CallId,
    evaluation: Box<Evaluation>,
) -> Invocation {
    let decision = finish_refusal(recorder, caller, request, &call, evaluation).await;
    refusal_invocation(caller, request, call, decision)
}

/// Refuses a call before anything was evaluated.
pub(super) async fn refuse_early(
    recorder: &RunRecorder,
    caller: Caller<'_>,
    request: &CapabilityRequest,
    call: CallId,
    decision: Decision,
) -> Invocation {
    let evaluation = Evaluation::new(decision, recorder.slot_of(caller));
    refuse(recorder, caller, request, call, evaluation).await
}

/// Maps a reason to one of the eight error codes of the SecondBrain kernel.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_one_of_the_eight_codes() {
        let of = |code: ToolErrorCode| -> Vec<&str> {
            let all = ReasonCode::ALL.iter().filter(|reason| error_code(**reason) == code);
            all.map(|reason| reason.as_str()).collect()
        };
        assert_eq!(
            of(ToolErrorCode::NotFound),
            ["handle_not_found", "handle_expired", "not_found", "tool_not_advertised"]
        );
        assert_eq!(
            of(ToolErrorCode::ValidationError),
            ["invalid_constraint", "arguments_required", "invalid_arguments"]
        );
        assert_eq!(of(ToolErrorCode::RateLimited), ["rate_limited"]);
        assert_eq!(
            of(ToolErrorCode::BudgetExceeded),
            ["budget_exceeded", "session_budget_exhausted"]
        );
        assert_eq!(of(ToolErrorCode::Timeout), ["approval_timeout", "timeout"]);
        assert_eq!(of(ToolErrorCode::NetworkError), ["upstream_unavailable"]);
        assert_eq!(
            of(ToolErrorCode::Unexpected),
            ["ledger_unavailable", "execution_failed", "internal_error"]
        );
        let denied = of(ToolErrorCode::PermissionDenied);
        assert!(denied.contains(&"missing_role") && denied.contains(&"handle_revoked"));
        assert_eq!(denied.len(), ReasonCode::ALL.len() - 16);
    }
}
