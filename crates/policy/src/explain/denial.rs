//! Denial explanations in the format of agent-kernel (Python).

use serde::Serialize;
use weaver_types::{Impact, ReasonCode, Verdict};

use super::{FailedCondition, explain};
use crate::policy_set::PolicySet;
use crate::query::PolicyQuery;

/// Why a request would not go on, for the requester, in the format of `explain_denial` in
/// agent-kernel (Python). There, holds and asks count as denied.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DenialExplanation {
    /// Whether it would not go on.
    pub denied: bool,
    /// The impact and the first unmet condition, for example `write-roles`; `allowed` if there is
    /// none.
    pub rule_name: String,
    /// All unmet conditions.
    pub failed_conditions: Vec<FailedCondition>,
    /// What would meet them, in the same order.
    pub remediation: Vec<String>,
    /// One sentence.
    pub narrative: String,
    /// The primary reason; `None` if the request would be allowed.
    pub reason_code: Option<ReasonCode>,
}

/// Removes conditions that differ only in their rule, and sorts them like the reference: roles and
/// permissions, justification, attributes, everything else.
fn deduplicate_in_order(conditions: &[FailedCondition]) -> Vec<FailedCondition> {
    let mut out: Vec<FailedCondition> = Vec::new();
    for one in conditions {
        let same = |other: &FailedCondition| {
            (&other.condition, &other.required, &other.actual, other.reason_code)
                == (&one.condition, &one.required, &one.actual, one.reason_code)
        };
        if !out.iter().any(same) {
            out.push(one.clone());
        }
    }
    out.sort_by_key(|one| match one.condition.as_str() {
        "roles" => 0,
        "permissions" => 1,
        "min_justification" | "justification_source" => 2,
        name if name.ends_with("_attribute") => 3,
        _ => 4,
    });
    out
}

/// Explains a denial. Rate limits are left out, because they pass by themselves.
#[must_use]
pub fn explain_denial(set: &PolicySet, query: &PolicyQuery<'_>) -> DenialExplanation {
    let query = PolicyQuery { windows: None, ..*query };
    let explanation = explain(set, &query);
    let (capability, principal) = (query.capability.id(), &query.principal.id);
    let subject = format!("Request for '{capability}' by '{principal}'");
    let decision = explanation.decision();
    if decision.verdict() == Verdict::Allow {
        return DenialExplanation {
            denied: false,
            rule_name: "allowed".to_owned(),
            failed_conditions: Vec::new(),
            remediation: Vec::new(),
            narrative: format!("{subject} would be allowed by policy '{}'.", set.policy().id),
            reason_code: None,
        };
    }
    let failed_conditions = deduplicate_in_order(explanation.conditions());
    let mut remediation: Vec<String> = Vec::new();
    for one in &failed_conditions {
        if !remediation.contains(&one.suggestion) {
            remediation.push(one.suggestion.clone());
        }
    }
    let word = match query.capability.spec().effects.impact {
        Impact::Read => "read",
        Impact::Write => "write",
        Impact::Destroy => "destructive",
    };
    let first = failed_conditions.first().map_or("denied", |one| one.condition.as_str());
    DenialExplanation {
        denied: true,
        rule_name: format!("{word}-{}", first.replace(['_', ' '], "-")),
        narrative: format!("{subject} would be denied: {}.", remediation.join("; ")),
        failed_conditions,
        remediation,
        reason_code: Some(decision.primary_reason()),
    }
}
