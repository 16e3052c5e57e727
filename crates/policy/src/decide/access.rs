//! Checks that the documents and the capability permit the caller.

use weaver_types::{
    CheckKind, CheckResult, Constraints, Operation, PII_READER, ReasonCode, SensitivityTag, Verdict,
};

use super::allow_with_constraints;
use crate::policy_set::PolicySet;
use crate::query::PolicyQuery;

fn denial(check: CheckKind, reason: ReasonCode, detail: &str) -> CheckResult {
    CheckResult::new(check, Verdict::Deny, reason, detail)
}

/// Denies everything once a document has expired.
pub(super) fn check_expiry(set: &PolicySet, query: &PolicyQuery<'_>, out: &mut Vec<CheckResult>) {
    let ends = [("policy", set.policy().expires), ("contracts", set.contracts().expires)];
    for (what, expires) in ends {
        if let Some(at) = expires.filter(|at| *at <= query.now) {
            let detail = format!("the {what} document expired at {at}");
            out.push(denial(CheckKind::System, ReasonCode::PolicyUnavailable, &detail));
        }
    }
}

/// Answers as if a hidden capability did not exist.
pub(super) fn check_visibility(
    set: &PolicySet,
    query: &PolicyQuery<'_>,
    out: &mut Vec<CheckResult>,
) {
    if !set.is_visible(query.principal, query.capability) {
        let detail = "there is no such capability for this principal";
        out.push(denial(CheckKind::Contract, ReasonCode::NotFound, detail));
    }
}

/// Requires all permissions that the capability itself demands.
pub(super) fn check_permissions(query: &PolicyQuery<'_>, out: &mut Vec<CheckResult>) {
    let needed = &query.capability.spec().permissions;
    let granted = &query.principal.permissions;
    if !needed.is_subset(granted) {
        let missing: Vec<_> = needed.difference(granted).cloned().collect();
        let detail = format!("the capability requires the permissions {}", missing.join(", "));
        out.push(denial(CheckKind::Permission, ReasonCode::MissingPermission, &detail));
    }
}

/// Requires an agent that the capability accepts.
pub(super) fn check_agents(query: &PolicyQuery<'_>, out: &mut Vec<CheckResult>) {
    let agent = query.principal.agent.as_ref();
    if !query.capability.spec().agents.admits(agent) {
        let detail = match agent {
            Some(agent) => format!("the capability is not meant for agent `{agent}`"),
            None => "the capability is meant for certain agents, and no agent is named".to_owned(),
        };
        out.push(denial(CheckKind::Permission, ReasonCode::AgentNotAllowed, &detail));
    }
}

/// Checks the policy's declaration of the agent: its tools, its safety class ceiling and its
/// intents.
pub(super) fn check_agent_declaration(
    set: &PolicySet,
    query: &PolicyQuery<'_>,
    out: &mut Vec<CheckResult>,
) {
    let declared = &set.policy().agents;
    let Some(name) = query.principal.agent.as_ref().filter(|_| !declared.is_empty()) else {
        return;
    };
    let mut deny = |check, reason, detail: String| out.push(denial(check, reason, &detail));
    let Some(agent) = declared.get(name) else {
        let detail = format!("agent `{name}` is not among the agents that the policy declares");
        return deny(CheckKind::Permission, ReasonCode::AgentNotAllowed, detail);
    };
    if !agent.lists_tool(query.capability.id()) {
        let detail = format!("the capability is not on the tool allow list of agent `{name}`");
        deny(CheckKind::Permission, ReasonCode::AgentNotAllowed, detail);
    }
    let (class, ceiling) = (query.capability.class(), agent.safety_class_ceiling);
    if class > ceiling {
        let detail = format!("agent `{name}` may use {ceiling:?} at most, and this is {class:?}");
        deny(CheckKind::Permission, ReasonCode::AgentCeiling, detail);
    }
    if query.operation == Operation::Invoke
        && !agent.may_state_intent(query.request.intent.as_deref())
    {
        let detail = format!("agent `{name}` may not state this intent (`decision_keys`)");
        deny(CheckKind::Rule, ReasonCode::IntentNotAllowed, detail);
    }
}

/// Whether the principal may see all fields. The role suffices only if the output has no
/// sensitivity other than personal and card data.
fn may_read_personal_data(query: &PolicyQuery<'_>) -> bool {
    let tags = &query.capability.spec().sensitivity;
    let personal = |tag: &SensitivityTag| match tag {
        SensitivityTag::Pii | SensitivityTag::Pci => true,
        SensitivityTag::Memory | SensitivityTag::Secrets => false,
    };
    !tags.is_empty() && tags.iter().all(personal) && query.principal.has_role(PII_READER)
}

/// Adds the capability's allowed fields, and the constraints that the request imposes on itself.
pub(super) fn add_constraints(query: &PolicyQuery<'_>, out: &mut Vec<CheckResult>) {
    let fields = &query.capability.spec().allowed_fields;
    if !fields.is_empty() && !may_read_personal_data(query) {
        let constraints =
            Constraints { allowed_fields: Some(fields.clone()), ..Constraints::default() };
        out.push(allow_with_constraints(
            CheckKind::Contract,
            "the capability shows only these fields",
            constraints,
        ));
    }
    let own = &query.request.constraints;
    if *own != Constraints::default() {
        out.push(allow_with_constraints(
            CheckKind::Limit,
            "the request limits itself",
            own.clone(),
        ));
    }
}
