//! Checks what the documents and the capability require of the caller.

use weaver_types::{
    Check, Constraints, Contribution, Operation, ReasonCode, SensitivityTag, Verdict,
};

use super::limit;
use crate::query::Query;
use crate::set::PolicySet;

/// Documents that have expired allow nothing.
pub(super) fn expiry(set: &PolicySet, query: &Query<'_>, out: &mut Vec<Contribution>) {
    let ends = [("policy", set.policy().expires), ("contracts", set.contracts().expires)];
    for (what, expires) in ends {
        if let Some(at) = expires.filter(|at| *at <= query.now) {
            let detail = format!("the {what} document expired at {at}");
            let reason = ReasonCode::PolicyUnavailable;
            out.push(Contribution::new(Check::System, Verdict::Deny, reason, detail));
        }
    }
}

/// What is hidden is not there.
pub(super) fn visibility(set: &PolicySet, query: &Query<'_>, out: &mut Vec<Contribution>) {
    if !set.visible(query.principal, query.capability) {
        let detail = "there is no such capability for this principal";
        out.push(Contribution::new(Check::Contract, Verdict::Deny, ReasonCode::NotFound, detail));
    }
}

/// The capability's own permissions, all of them.
pub(super) fn permissions(query: &Query<'_>, out: &mut Vec<Contribution>) {
    let needed = &query.capability.spec().permissions;
    let held = &query.principal.permissions;
    if !needed.is_subset(held) {
        let missing: Vec<_> = needed.difference(held).cloned().collect();
        let detail = format!("the capability requires the permissions {}", missing.join(", "));
        let reason = ReasonCode::MissingPermission;
        out.push(Contribution::new(Check::Permission, Verdict::Deny, reason, detail));
    }
}

/// The capability's agents.
pub(super) fn agents(query: &Query<'_>, out: &mut Vec<Contribution>) {
    let agent = query.principal.agent.as_ref();
    if !query.capability.spec().agents.admits(agent) {
        let detail = match agent {
            Some(agent) => format!("the capability is not meant for agent `{agent}`"),
            None => "the capability is meant for certain agents, and no agent is named".to_owned(),
        };
        let reason = ReasonCode::AgentNotAllowed;
        out.push(Contribution::new(Check::Permission, Verdict::Deny, reason, detail));
    }
}

/// What the policy declares of the agent: its tools, its ceiling, and what it may be about.
pub(super) fn declared(set: &PolicySet, query: &Query<'_>, out: &mut Vec<Contribution>) {
    let declared = &set.policy().agents;
    let Some(name) = query.principal.agent.as_ref().filter(|_| !declared.is_empty()) else {
        return;
    };
    let mut deny = |check, reason, detail| {
        out.push(Contribution::new(check, Verdict::Deny, reason, detail));
    };
    let Some(agent) = declared.get(name) else {
        let detail = format!("the policy declares its agents, and `{name}` is none of them");
        return deny(Check::Permission, ReasonCode::AgentNotAllowed, detail);
    };
    if !agent.lists(query.capability.id()) {
        let detail = format!("the capability is not on the tool allow list of agent `{name}`");
        deny(Check::Permission, ReasonCode::AgentNotAllowed, detail);
    }
    let (class, ceiling) = (query.capability.class(), agent.safety_class_ceiling);
    if class > ceiling {
        let detail = format!("agent `{name}` may use {ceiling:?} at most, and this is {class:?}");
        deny(Check::Permission, ReasonCode::AgentCeiling, detail);
    }
    if query.operation == Operation::Invoke && !agent.intends(query.request.intent.as_deref()) {
        let detail = format!("the intent is none of the decision keys of agent `{name}`");
        deny(Check::Rule, ReasonCode::IntentNotAllowed, detail);
    }
}

/// The role that sees every field of personal and card data.
const PII_READER: &str = "pii_reader";

/// Whether the principal may see every field of data that is personal and nothing else.
fn reads_personal_data(query: &Query<'_>) -> bool {
    let tags = &query.capability.spec().sensitivity;
    let personal = |tag: &SensitivityTag| match tag {
        SensitivityTag::Pii | SensitivityTag::Pci => true,
        SensitivityTag::Memory | SensitivityTag::Secrets => false,
    };
    !tags.is_empty() && tags.iter().all(personal) && query.principal.has_role(PII_READER)
}

/// The fields that the capability may show, and what the requester puts on itself.
pub(super) fn limits(query: &Query<'_>, out: &mut Vec<Contribution>) {
    let fields = &query.capability.spec().allowed_fields;
    if !fields.is_empty() && !reads_personal_data(query) {
        let constraints =
            Constraints { allowed_fields: Some(fields.clone()), ..Constraints::default() };
        out.push(limit(Check::Contract, "the capability shows only these fields", constraints));
    }
    let own = &query.request.constraints;
    if *own != Constraints::default() {
        out.push(limit(Check::Limit, "the request limits itself", own.clone()));
    }
}
