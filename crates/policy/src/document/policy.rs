//! The policy document.

use weaver_types::{AgentId, Principal, PrincipalId, Timestamp};

use super::node::Node;
use super::page::Page;
use super::{agents, header, limits, rules, validate};
use crate::policy::Policy;

const KEYS: [&str; 13] = [
    "kind",
    "format",
    "id",
    "version",
    "expires",
    "principals",
    "trusted_hosts",
    "agents",
    "contract_enforcement",
    "rules",
    "limits",
    "signals",
    "approvals",
];

/// Reads a policy.
pub(super) fn read(page: &mut Page<'_>, now: Option<Timestamp>) -> Policy {
    let mut policy = Policy::new("");
    let Some(root) = page.root().section(page, &KEYS) else { return policy };
    let header = header::read(page, &root, now);
    (policy.id, policy.version, policy.expires) = (header.id, header.version, header.expires);
    if let Some(node) = root.get("principals") {
        for (name, node) in node.entries(page) {
            if let Some(principal) = principal(page, name, &node) {
                policy.principals.insert(principal.id.clone(), principal);
            }
        }
    }
    if let Some(node) = root.get("trusted_hosts") {
        policy.trusted_hosts = node.texts(page);
    }
    if let Some(node) = root.get("agents") {
        for (name, node) in node.entries(page) {
            if let Some(agent) = agents::agent(page, name, &node) {
                policy.agents.insert(agent.agent_name.clone(), agent);
            }
        }
    }
    if let Some(node) = root.get("rules") {
        for node in node.items(page) {
            policy.rules.push(rules::rule(page, &node));
        }
    }
    if let Some(node) = root.get("limits") {
        for node in node.items(page) {
            policy.limits.push(limits::limit(page, &node));
        }
    }
    let enforcement = root.get("contract_enforcement").and_then(|n| n.word(page));
    policy.contract_enforcement = enforcement.unwrap_or_default();
    policy.signals = root.get("signals").map(|n| limits::signals(page, &n)).unwrap_or_default();
    policy.approvals =
        root.get("approvals").map(|n| limits::approvals(page, &n)).unwrap_or_default();
    validate::note(page, validate::policy(&policy));
    policy
}

fn principal(page: &mut Page<'_>, name: &str, node: &Node<'_>) -> Option<Principal> {
    let section = node.section(page, &["roles", "attributes", "permissions", "agent"])?;
    let id = match PrincipalId::parse(name) {
        Ok(id) => id,
        Err(error) => {
            node.wrong(page, "policy.value", error.to_string(), "write another name");
            return None;
        }
    };
    let mut principal = Principal::new(id);
    if let Some(node) = section.get("roles") {
        principal.roles = node.texts(page);
    }
    if let Some(node) = section.get("permissions") {
        principal.permissions = node.texts(page);
    }
    if let Some(node) = section.get("attributes") {
        for (name, node) in node.entries(page) {
            if let Some(value) = node.text(page) {
                principal.attributes.insert(name.to_owned(), value.to_owned());
            }
        }
    }
    principal.agent = section.get("agent").and_then(|n| n.parsed::<AgentId>(page));
    Some(principal)
}
