//! The conditions behind the contributions of a decision.

use serde_json::{Value, json};
use weaver_types::{Contribution, Decision, Discharge, ReasonCode, Verdict};

use super::{FailedCondition, rules};
use crate::query::Query;
use crate::set::PolicySet;

/// A condition of the contribution.
pub(super) fn failed_condition(
    of: &Contribution,
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
        reason_code: of.reason,
        rule: None,
        verdict: of.verdict,
        check: of.check,
    }
}

/// Everything in the way, strictest first.
pub(super) fn all(set: &PolicySet, query: &Query<'_>, decision: &Decision) -> Vec<FailedCondition> {
    let mut out: Vec<FailedCondition> = Vec::new();
    for contribution in decision.obstacles() {
        let found = rules::conditions(set, query, contribution)
            .unwrap_or_else(|| vec![condition_without_rule(set, query, contribution)]);
        for one in found {
            if !out.contains(&one) {
                out.push(one);
            }
        }
    }
    out
}

/// The condition behind what no rule says.
fn condition_without_rule(
    set: &PolicySet,
    query: &Query<'_>,
    of: &Contribution,
) -> FailedCondition {
    let spec = query.capability.spec();
    let id = &query.principal.id;
    match of.reason {
        ReasonCode::MissingPermission => {
            let missing: Vec<_> =
                spec.permissions.difference(&query.principal.permissions).collect();
            let words = missing.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>();
            failed_condition(
                of,
                "permissions",
                json!(spec.permissions),
                json!(query.principal.permissions),
                format!("Add permission {} to principal '{id}'", words.join(" and ")),
            )
        }
        ReasonCode::AgentNotAllowed => failed_condition(
            of,
            "agent",
            json!(spec.agents),
            json!(query.principal.agent),
            "Act through an agent that the contract admits, or admit this one there".to_owned(),
        ),
        ReasonCode::NotFound => failed_condition(
            of,
            "visible",
            json!(true),
            json!(false),
            format!("Let the contracts show the capability to principal '{id}'"),
        ),
        ReasonCode::PolicyUnavailable => failed_condition(
            of,
            "expires",
            json!({ "policy": set.policy().expires.map(|at| at.rfc3339()),
                "contracts": set.contracts().expires.map(|at| at.rfc3339()) }),
            json!(query.now.rfc3339()),
            "Renew the document: set `expires` later, raise `version`, sign it again".to_owned(),
        ),
        ReasonCode::NoMatchingRule => failed_condition(
            of,
            "rule",
            json!("an allow rule that matches"),
            json!("none"),
            rules::nearest(set, query),
        ),
        _ => about_run(query, of),
    }
}

fn about_run(query: &Query<'_>, of: &Contribution) -> FailedCondition {
    let (capability, label) = (query.capability, query.label);
    let approval =
        || format!("Have somebody with the authority release it: {}", required_people(of));
    match of.reason {
        ReasonCode::Prohibited => failed_condition(
            of,
            "rung",
            json!("L4 or lower"),
            json!(capability.rung()),
            "Nothing releases it; the contracts prohibit the capability".to_owned(),
        ),
        ReasonCode::ModeForbids => failed_condition(
            of,
            "mode",
            json!("NORMAL"),
            json!(query.mode),
            "Do it in a run of mode NORMAL, or use a local read on rung L0".to_owned(),
        ),
        ReasonCode::ClearanceExceeded => failed_condition(
            of,
            "clearance",
            json!(capability.spec().clearance),
            json!(label.confidentiality),
            format!("Begin a new run without such data, or: {}", approval()),
        ),
        ReasonCode::UntrustedInfluence => failed_condition(
            of,
            "integrity",
            json!("trusted"),
            json!({ "integrity": label.integrity, "taints": label.taints }),
            format!("Begin a new run without untrusted data, or: {}", approval()),
        ),
        _ => by_discharge(of),
    }
}

/// What is known of any contribution: what would take it away.
fn by_discharge(of: &Contribution) -> FailedCondition {
    let word = of.reason.as_str();
    match &of.discharge {
        Discharge::Approval => failed_condition(
            of,
            "approval",
            json!(of.authority),
            json!("none"),
            format!("Have somebody with the authority release it: {}", required_people(of)),
        ),
        Discharge::Wait { retry_after_ms } => failed_condition(
            of,
            word,
            json!({ "after_ms": retry_after_ms }),
            json!(of.detail),
            format!("Try again in {retry_after_ms} ms"),
        ),
        Discharge::Justification { min_chars, sources } => failed_condition(
            of,
            "min_justification",
            json!({ "min_chars": min_chars, "sources": sources }),
            json!(of.detail),
            format!("Provide justification with at least {min_chars} characters"),
        ),
        Discharge::Arguments => failed_condition(
            of,
            "arguments",
            json!("present"),
            json!("absent"),
            "Ask again with the arguments of the call".to_owned(),
        ),
        Discharge::Nothing => failed_condition(
            of,
            word,
            json!("that this does not hold"),
            json!(of.detail),
            match of.verdict {
                Verdict::Deny => "Nothing in the request can change it".to_owned(),
                Verdict::Allow | Verdict::Ask | Verdict::Hold => of.reason.meaning().to_owned(),
            },
        ),
    }
}

/// The authority in words.
pub(super) fn required_people(of: &Contribution) -> String {
    let authority = &of.authority;
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
