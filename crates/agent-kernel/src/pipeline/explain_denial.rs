//! Why a call would not go on: every condition that fails, with what would change it.

use serde_json::json;
use weaver_policy::explain::{DenialExplanation, FailedCondition, explain_denial};
use weaver_policy::{PolicySet, Query};
use weaver_types::{
    CapabilityId, Check, Contribution, Decision, Discharge, PrincipalId, ReasonCode,
};

use super::evaluate::{Evaluation, EvaluationRequest};
use super::hypothetical_call::HypotheticalCall;
use crate::caller::{Call, Caller};
use crate::kernel::Kernel;

impl Kernel {
    /// Explains why a call would be denied, asked back or held: what the policy asks for, and what
    /// else stands in the way, such as a budget, the arguments or a changed contract. Nothing is
    /// executed, recorded or charged. Unknown and hidden capabilities look the same.
    #[must_use]
    pub fn explain_denial(&self, caller: Caller<'_>, call: Call<'_>) -> DenialExplanation {
        self.as_if(caller, call, |asked| self.why_not(&asked))
    }

    fn why_not(&self, asked: &HypotheticalCall<'_>) -> DenialExplanation {
        let HypotheticalCall { policy, question, evaluated, .. } = asked;
        let mut explanation = self.by_policy(policy, *question, evaluated);
        if evaluated.decision.allowed() {
            return explanation;
        }
        let decision = &evaluated.decision;
        // Where a value came from is known to the kernel alone: what flow says here counts.
        explanation.failed_conditions.retain(|one| {
            one.check != Check::Flow || decision.obstacles().any(|said| speaks(one, said))
        });
        let beside: Vec<FailedCondition> = decision
            .obstacles()
            .filter(|said| !explanation.failed_conditions.iter().any(|one| speaks(one, said)))
            .map(beside)
            .collect();
        explanation.failed_conditions.extend(beside);
        let EvaluationRequest { caller, request, .. } = question;
        finished(explanation, decision, &request.capability_id, &caller.principal.id)
    }

    /// What the policy alone says.
    fn by_policy(
        &self,
        policy: &PolicySet,
        question: EvaluationRequest<'_>,
        evaluated: &Evaluation,
    ) -> DenialExplanation {
        let EvaluationRequest { caller, request, arguments, masks, operation, .. } = question;
        let Some(target) = &evaluated.target else {
            return DenialExplanation {
                denied: true,
                rule_name: "not-found".to_owned(),
                failed_conditions: Vec::new(),
                remediation: Vec::new(),
                narrative: String::new(),
                reason_code: None,
            };
        };
        let settings = &caller.run.settings;
        let origin = target.entry.origin.as_ref();
        explain_denial(
            policy,
            &Query {
                arguments,
                masked: masks.map_or(&[], |masks| &masks.masked),
                origin: Some(origin),
                operation,
                mode: settings.safety_mode,
                label: &evaluated.label,
                now: question.at.now,
                human_channel: self.settings.human_channel,
                run: Some(&caller.run.run_id),
                signals: &evaluated.signals,
                ..Query::new(&target.capability, caller.principal, request)
            },
        )
    }
}

fn speaks(one: &FailedCondition, said: &Contribution) -> bool {
    (one.check, one.reason_code) == (said.check, said.reason)
}

/// The condition behind what the kernel says beside the policy.
fn beside(said: &Contribution) -> FailedCondition {
    let (condition, required, suggestion) = match (&said.discharge, said.reason) {
        (Discharge::Wait { retry_after_ms }, _) => {
            ("wait", json!({ "retry_after_ms": retry_after_ms }), "Try again later".to_owned())
        }
        (Discharge::Arguments, _) => {
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
        (Discharge::Approval, _) => {
            ("approval", json!(said.authority), "Have it approved".to_owned())
        }
        _ => (said.reason.as_str(), json!(null), "Nothing the requester can do".to_owned()),
    };
    FailedCondition {
        condition: condition.to_owned(),
        required,
        actual: json!(said.detail),
        suggestion,
        reason_code: said.reason,
        rule: None,
        verdict: said.verdict,
        check: said.check,
    }
}

fn finished(
    mut explanation: DenialExplanation,
    decision: &Decision,
    capability: &CapabilityId,
    principal: &PrincipalId,
) -> DenialExplanation {
    explanation.remediation.clear();
    for one in &explanation.failed_conditions {
        if !explanation.remediation.contains(&one.suggestion) {
            explanation.remediation.push(one.suggestion.clone());
        }
    }
    if !explanation.denied {
        // The policy would allow it; something else stands in the way.
        let first = explanation.failed_conditions.first();
        explanation.rule_name =
            first.map_or("denied", |one| one.condition.as_str()).replace('_', "-");
    }
    explanation.denied = true;
    explanation.reason_code = Some(decision.primary());
    let ways = explanation.remediation.join("; ");
    explanation.narrative =
        format!("Request for '{capability}' by '{principal}' would be denied: {ways}.");
    explanation
}

#[cfg(test)]
mod tests {
    use weaver_types::{Check, Verdict};

    use super::*;

    #[test]
    fn each_reason_beside_the_policy_has_its_condition_and_what_would_change_it() {
        let wait = || Discharge::Wait { retry_after_ms: 70 };
        for (reason, discharge, condition, required, suggestion) in [
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
                Discharge::Arguments,
                "arguments",
                json!("arguments that fit the schema"),
                "Mend the arguments",
            ),
            (
                ReasonCode::SessionBudgetExhausted,
                Discharge::Nothing,
                "budget",
                json!("room in the run's budget"),
                "Begin another run",
            ),
            (
                ReasonCode::ContractSuspicious,
                Discharge::Nothing,
                "contract",
                json!("the approved contract"),
                "Have the operator approve the contract again",
            ),
            (
                ReasonCode::PreconditionFailed,
                Discharge::Nothing,
                "precondition",
                json!("the world as declared"),
                "Ask again",
            ),
            (
                ReasonCode::NotFound,
                Discharge::Nothing,
                "capability",
                json!("a known capability"),
                "Look for another capability",
            ),
            (
                ReasonCode::SignalRaised,
                Discharge::Approval,
                "approval",
                json!({ "quorum": 0 }),
                "Have it approved",
            ),
            (
                ReasonCode::ClockJump,
                Discharge::Nothing,
                "clock_jump",
                json!(null),
                "Nothing the requester can do",
            ),
        ] {
            let said = Contribution::new(Check::System, Verdict::Deny, reason, "in words");
            let failed = beside(&said.discharged_by(discharge));
            assert_eq!((failed.condition.as_str(), &failed.required), (condition, &required));
            assert_eq!(
                (failed.suggestion.as_str(), &failed.actual),
                (suggestion, &json!("in words"))
            );
            assert_eq!(
                (failed.reason_code, failed.verdict, failed.check),
                (reason, Verdict::Deny, Check::System)
            );
        }
    }
}
