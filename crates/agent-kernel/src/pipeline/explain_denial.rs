//! Explains why a call would not be allowed: every failed condition, and what would change it.

use serde_json::json;
use weaver_policy::explain::{DenialExplanation, FailedCondition, explain_denial};
use weaver_policy::{PolicyQuery, PolicySet};
use weaver_types::{
    CapabilityId, CheckKind, CheckResult, Decision, PrincipalId, ReasonCode, Remedy,
};

use crate::caller::{Call, Caller};
use crate::decision_point::{Evaluation, EvaluationRequest, HypotheticalCall};
use crate::kernel::Kernel;
use crate::settings::Settings;

impl Kernel {
    /// Explains why a call would be denied, held or need clarification: the conditions of the
    /// policy, and other obstacles such as a budget, the arguments or a changed contract. Nothing
    /// is executed, recorded or charged. Unknown and hidden capabilities look the same.
    #[must_use]
    pub fn explain_denial(&self, caller: Caller<'_>, call: Call<'_>) -> DenialExplanation {
        self.decision_point.evaluate_hypothetically(caller, call, |hypothetical| {
            full_explanation(&self.context.settings, &hypothetical)
        })
    }
}

fn full_explanation(settings: &Settings, hypothetical: &HypotheticalCall<'_>) -> DenialExplanation {
    let HypotheticalCall { policy, evaluation_request, evaluation, .. } = hypothetical;
    let mut explanation = policy_explanation(settings, policy, *evaluation_request, evaluation);
    if evaluation.decision.is_allowed() {
        return explanation;
    }
    let decision = &evaluation.decision;
    // Only the kernel knows where a value came from, so its own flow check overrides the one
    // without origins.
    explanation.failed_conditions.retain(|failed| {
        failed.check != CheckKind::Flow
            || decision.obstacles().any(|check_result| is_about(failed, check_result))
    });
    let kernel_conditions: Vec<FailedCondition> = decision
        .obstacles()
        .filter(|check_result| {
            !explanation.failed_conditions.iter().any(|failed| is_about(failed, check_result))
        })
        .map(kernel_condition)
        .collect();
    explanation.failed_conditions.extend(kernel_conditions);
    let EvaluationRequest { caller, request, .. } = evaluation_request;
    with_summary(explanation, decision, &request.capability_id, &caller.principal.id)
}

/// The explanation of the policy alone.
fn policy_explanation(
    settings: &Settings,
    policy: &PolicySet,
    evaluation_request: EvaluationRequest<'_>,
    evaluation: &Evaluation,
) -> DenialExplanation {
    let EvaluationRequest { caller, request, arguments, masks, operation, .. } = evaluation_request;
    let Some(target) = &evaluation.target else {
        return DenialExplanation {
            denied: true,
            rule_name: "not-found".to_owned(),
            failed_conditions: Vec::new(),
            remediation: Vec::new(),
            narrative: String::new(),
            reason_code: None,
        };
    };
    let origin = target.entry.origin.as_ref();
    explain_denial(
        policy,
        &PolicyQuery {
            arguments,
            masked: masks.map_or(&[], |masks| &masks.values),
            as_written: masks.map(|masks| &masks.as_written),
            origin: Some(origin),
            operation,
            mode: caller.run.settings.safety_mode,
            label: &evaluation.label,
            now: evaluation_request.at.now,
            human_channel: settings.human_channel,
            run: Some(&caller.run.run_id),
            signals: &evaluation.signals,
            ..PolicyQuery::new(&target.capability, caller.principal, request)
        },
    )
}

fn is_about(failed: &FailedCondition, check_result: &CheckResult) -> bool {
    (failed.check, failed.reason_code) == (check_result.check, check_result.reason)
}

/// The condition behind an obstacle that comes from the kernel, not from the policy.
fn kernel_condition(check_result: &CheckResult) -> FailedCondition {
    let (condition, required, suggestion) = match (&check_result.discharge, check_result.reason) {
        (Remedy::Wait { retry_after_ms }, _) => {
            ("wait", json!({ "retry_after_ms": retry_after_ms }), "Try again later".to_owned())
        }
        (Remedy::Arguments, _) => {
            ("arguments", json!("arguments that fit the schema"), "Mend the arguments".to_owned())
        }
        (_, ReasonCode::BudgetExceeded | ReasonCode::SessionBudgetExhausted) => {
            ("budget", json!("room in the run's budget"), "Begin another run".to_owned())
        }
        (
            _,
            ReasonCode::ContractChanged
            | ReasonCode::ContractUnknown
            | ReasonCode::ContractSuspicious,
        ) => (
            "contract",
            json!("the approved contract"),
            "Have the operator approve the contract again".to_owned(),
        ),
        (_, ReasonCode::PreconditionFailed) => {
            ("precondition", json!("the world as declared"), "Ask again".to_owned())
        }
        (_, ReasonCode::NotFound) => {
            ("capability", json!("a known capability"), "Look for another capability".to_owned())
        }
        (Remedy::Approval, _) => {
            ("approval", json!(check_result.authority), "Have it approved".to_owned())
        }
        _ => (check_result.reason.as_str(), json!(null), "Nothing the requester can do".to_owned()),
    };
    FailedCondition {
        condition: condition.to_owned(),
        required,
        actual: json!(check_result.detail),
        suggestion,
        reason_code: check_result.reason,
        rule: None,
        verdict: check_result.verdict,
        check: check_result.check,
    }
}

fn with_summary(
    mut explanation: DenialExplanation,
    decision: &Decision,
    capability: &CapabilityId,
    principal: &PrincipalId,
) -> DenialExplanation {
    explanation.remediation.clear();
    for failed in &explanation.failed_conditions {
        if !explanation.remediation.contains(&failed.suggestion) {
            explanation.remediation.push(failed.suggestion.clone());
        }
    }
    if !explanation.denied {
        // The policy would allow it; the obstacle is another one.
        let first = explanation.failed_conditions.first();
        explanation.rule_name =
            first.map_or("denied", |failed| failed.condition.as_str()).replace('_', "-");
    }
    explanation.denied = true;
    explanation.reason_code = Some(decision.primary_reason());
    let ways = explanation.remediation.join("; ");
    explanation.narrative =
        format!("Request for '{capability}' by '{principal}' would be denied: {ways}.");
    explanation
}

#[cfg(test)]
mod tests {
    use weaver_types::{CheckKind, Verdict};

    use super::*;

    #[test]
    fn each_reason_beside_the_policy_has_its_condition_and_what_would_change_it() {
        let wait = || Remedy::Wait { retry_after_ms: 70 };
        for (reason, remedy, condition, required, suggestion) in [
            (
                ReasonCode::RateLimited,
                wait(),
                "wait",
                json!({ "retry_after_ms": 70 }),
                "Try again later",
            ),
            (
                ReasonCode::BudgetExceeded,
                wait(),
                "wait",
                json!({ "retry_after_ms": 70 }),
                "Try again later",
            ),
            (
                ReasonCode::InvalidArguments,
                Remedy::Arguments,
                "arguments",
                json!("arguments that fit the schema"),
                "Mend the arguments",
            ),
            (
                ReasonCode::SessionBudgetExhausted,
                Remedy::Nothing,
                "budget",
                json!("room in the run's budget"),
                "Begin another run",
            ),
            (
                ReasonCode::ContractSuspicious,
                Remedy::Nothing,
                "contract",
                json!("the approved contract"),
                "Have the operator approve the contract again",
            ),
            (
                ReasonCode::PreconditionFailed,
                Remedy::Nothing,
                "precondition",
                json!("the world as declared"),
                "Ask again",
            ),
            (
                ReasonCode::NotFound,
                Remedy::Nothing,
                "capability",
                json!("a known capability"),
                "Look for another capability",
            ),
            (
                ReasonCode::SignalRaised,
                Remedy::Approval,
                "approval",
                json!({ "quorum": 0 }),
                "Have it approved",
            ),
            (
                ReasonCode::ClockJump,
                Remedy::Nothing,
                "clock_jump",
                json!(null),
                "Nothing the requester can do",
            ),
        ] {
            let check_result =
                CheckResult::new(CheckKind::System, Verdict::Deny, reason, "in words");
            let failed = kernel_condition(&check_result.with_remedy(remedy));
            assert_eq!((failed.condition.as_str(), &failed.required), (condition, &required));
            assert_eq!(
                (failed.suggestion.as_str(), &failed.actual),
                (suggestion, &json!("in words"))
            );
            assert_eq!(
                (failed.reason_code, failed.verdict, failed.check),
                (reason, Verdict::Deny, CheckKind::System)
            );
        }
    }
}
