//! Derives unmet conditions from the results of a decision.

use serde_json::{Value, json};
use weaver_types::{CheckResult, Decision, ReasonCode, Remedy, Verdict};

use super::{FailedCondition, rules};
use crate::policy_set::PolicySet;
use crate::query::PolicyQuery;

/// An unmet condition behind a result.
pub(super) fn failed_condition(
    result: &CheckResult,
    condition: &str,
    required: Value,
    actual: Value,
    suggestion: String,
) -> FailedCondition {
    FailedCondition {
        condition: condition.to_owned(),
        required,
        actual,
        suggestion,
        reason_code: result.reason,
        rule: None,
        verdict: result.verdict,
        check: result.check,
    }
}

/// All unmet conditions, strictest first.
pub(super) fn failed_conditions(
    set: &PolicySet,
    query: &PolicyQuery<'_>,
    decision: &Decision,
) -> Vec<FailedCondition> {
    let mut out: Vec<FailedCondition> = Vec::new();
    for check_result in decision.obstacles() {
        let found = rules::rule_conditions(set, query, check_result)
            .unwrap_or_else(|| vec![condition_without_rule(set, query, check_result)]);
        for one in found {
            if !out.contains(&one) {
                out.push(one);
            }
        }
    }
    out
}

/// The condition behind a result that does not come from a rule.
fn condition_without_rule(
    set: &PolicySet,
    query: &PolicyQuery<'_>,
    result: &CheckResult,
) -> FailedCondition {
    let spec = query.capability.spec();
    let id = &query.principal.id;
    match result.reason {
        ReasonCode::MissingPermission => {
            let missing: Vec<_> =
                spec.permissions.difference(&query.principal.permissions).collect();
            let words = missing.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>();
            failed_condition(
                result,
                "permissions",
                json!(spec.permissions),
                json!(query.principal.permissions),
                format!("Add permission {} to principal '{id}'", words.join(" and ")),
            )
        }
        ReasonCode::AgentNotAllowed => failed_condition(
            result,
            "agent",
            json!(spec.agents),
            json!(query.principal.agent),
            "Act through an agent that the contract admits, or admit this one there".to_owned(),
        ),
        ReasonCode::NotFound => failed_condition(
            result,
            "visible",
            json!(true),
            json!(false),
            format!("Let the contracts show the capability to principal '{id}'"),
        ),
        ReasonCode::PolicyUnavailable => failed_condition(
            result,
            "expires",
            json!({ "policy": set.policy().expires.map(|at| at.rfc3339()),
                "contracts": set.contracts().expires.map(|at| at.rfc3339()) }),
            json!(query.now.rfc3339()),
            "Renew the document: set `expires` later, raise `version`, sign it again".to_owned(),
        ),
        ReasonCode::NoMatchingRule => failed_condition(
            result,
            "rule",
            json!("an allow rule that matches"),
            json!("none"),
            rules::suggest_nearest_rules(set, query),
        ),
        _ => run_condition(query, result),
    }
}

fn run_condition(query: &PolicyQuery<'_>, result: &CheckResult) -> FailedCondition {
    let (capability, label) = (query.capability, query.label);
    let approval =
        || format!("Have somebody with the authority release it: {}", describe_authority(result));
    match result.reason {
        ReasonCode::Prohibited => failed_condition(
            result,
            "rung",
            json!("L4 or lower"),
            json!(capability.rung()),
            "Nothing releases it; the contracts prohibit the capability".to_owned(),
        ),
        ReasonCode::ModeForbids => failed_condition(
            result,
            "mode",
            json!("NORMAL"),
            json!(query.mode),
            "Do it in a run of mode NORMAL, or use a tool that only reads on this machine"
                .to_owned(),
        ),
        ReasonCode::ClearanceExceeded => failed_condition(
            result,
            "clearance",
            json!(capability.spec().clearance),
            json!(label.confidentiality),
            format!("Begin a new run without such data, or: {}", approval()),
        ),
        ReasonCode::UntrustedInfluence => failed_condition(
            result,
            "integrity",
            json!("trusted"),
            json!({ "integrity": label.integrity, "taints": label.taints }),
            format!("Begin a new run without untrusted data, or: {}", approval()),
        ),
        _ => condition_by_remedy(result),
    }
}

/// The condition that follows from the remedy, which every result has.
fn condition_by_remedy(result: &CheckResult) -> FailedCondition {
    let word = result.reason.as_str();
    match &result.discharge {
        Remedy::Approval => failed_condition(
            result,
            "approval",
            json!(result.authority),
            json!("none"),
            format!("Have somebody with the authority release it: {}", describe_authority(result)),
        ),
        Remedy::Wait { retry_after_ms } => failed_condition(
            result,
            word,
            json!({ "after_ms": retry_after_ms }),
            json!(result.detail),
            format!("Try again in {retry_after_ms} ms"),
        ),
        Remedy::Justification { min_chars, sources } => failed_condition(
            result,
            "min_justification",
            json!({ "min_chars": min_chars, "sources": sources }),
            json!(result.detail),
            format!("Provide justification with at least {min_chars} characters"),
        ),
        Remedy::Arguments => failed_condition(
            result,
            "arguments",
            json!("present"),
            json!("absent"),
            "Ask again with the arguments of the call".to_owned(),
        ),
        Remedy::Nothing => failed_condition(
            result,
            word,
            json!("that this does not hold"),
            json!(result.detail),
            match result.verdict {
                Verdict::Deny => "Nothing in the request can change it".to_owned(),
                Verdict::Allow | Verdict::Ask | Verdict::Hold => result.reason.meaning().to_owned(),
            },
        ),
    }
}

/// Describes an authority for people.
pub(super) fn describe_authority(result: &CheckResult) -> String {
    let authority = &result.authority;
    let mut parts = vec![match authority.quorum {
        0 | 1 => "one approver".to_owned(),
        many => format!("{many} different approvers"),
    }];
    if let Some(trust) = authority.min_trust {
        parts.push(format!("trust of at least {trust}"));
    }
    if let Some(clearance) = authority.clearance {
        parts.push(format!("clearance {}", json!(clearance).as_str().unwrap_or_default()));
    }
    if !authority.scopes.is_empty() {
        let scopes = authority.scopes.iter().map(|scope| format!("'{scope}'"));
        parts.push(format!("scope {}", scopes.collect::<Vec<_>>().join(" and ")));
    }
    if let Some(roles) = authority.roles_in_words() {
        parts.push(format!("role {roles}"));
    }
    parts.join(", ")
}
