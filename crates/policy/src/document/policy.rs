//! Reads the policy document.

use weaver_types::{AgentId, Principal, PrincipalId, Timestamp};

use super::node::Node;
use super::reader::DocumentReader;
use super::{agents, header, issuers, limits, rules, validate};
use crate::destination::TrustedDestination;
use crate::policy::Policy;

const KEYS: [&str; 17] = [
    "kind", "format", "id", "version", "expires", "principals", "trusted_hosts",
    "trusted_destinations", "issuers", "agents", "contract_enforcement", "enforcement", "lists",
    "rules", "limits", "signals", "approvals",
];
/// The most patterns of a named list, as many as a test of an argument may have.
const MAX_LIST_PATTERNS: usize = 1_000;

/// Reads a policy document.
pub(super) fn read(reader: &mut DocumentReader<'_>, now: Option<Timestamp>) -> Policy {
    let mut policy = Policy::new("");
    let Some(root) = reader.root().section(reader, &KEYS) else { return policy };
    let header = header::read(reader, &root, now);
    (policy.id, policy.version, policy.expires) = (header.id, header.version, header.expires);
    if let Some(node) = root.get("principals") {
        for (name, node) in node.entries(reader) {
            if let Some(principal) = principal(reader, name, &node) {
                policy.principals.insert(principal.id.clone(), principal);
            }
        }
    }
    if let Some(node) = root.get("trusted_hosts") {
        policy.trusted_hosts = node.texts(reader);
    }
    if let Some(node) = root.get("trusted_destinations") {
        for node in node.items(reader) {
            if let Some(text) = node.text(reader) {
                match TrustedDestination::parse(text) {
                    Ok(destination) => {
                        policy.trusted_destinations.insert(destination);
                    }
                    Err(error) => {
                        let remedy = "write a host, as in \"docs.rs\" or \"*.example.org\"";
                        node.report(reader, "policy.destination", error.to_string(), remedy);
                    }
                }
            }
        }
    }
    if let Some(node) = root.get("issuers") {
        for (name, node) in node.entries(reader) {
            if let Some(issuer) = issuers::issuer(reader, name, &node) {
                policy.issuers.insert(name.to_owned(), issuer);
            }
        }
    }
    if let Some(node) = root.get("agents") {
        for (name, node) in node.entries(reader) {
            if let Some(agent) = agents::agent(reader, name, &node) {
                policy.agents.insert(agent.agent_name.clone(), agent);
            }
        }
    }
    if let Some(node) = root.get("lists") {
        read_lists(reader, &node);
    }
    if let Some(node) = root.get("rules") {
        for node in node.items(reader) {
            policy.rules.push(rules::rule(reader, &node));
        }
    }
    if let Some(node) = root.get("limits") {
        for node in node.items(reader) {
            policy.limits.push(limits::limit(reader, &node));
        }
    }
    let enforcement = root.get("contract_enforcement").and_then(|n| n.keyword(reader));
    policy.contract_enforcement = enforcement.unwrap_or_default();
    let enforcement = root.get("enforcement").and_then(|n| n.keyword(reader));
    policy.enforcement = enforcement.unwrap_or_default();
    policy.signals = root.get("signals").map(|n| limits::signals(reader, &n)).unwrap_or_default();
    policy.approvals =
        root.get("approvals").map(|n| limits::approvals(reader, &n)).unwrap_or_default();
    validate::report_problems(reader, validate::policy_problems(&policy));
    policy
}

/// Reads the named lists, which rules and limits refer to.
fn read_lists(reader: &mut DocumentReader<'_>, node: &Node<'_>) {
    for (name, node) in node.entries(reader) {
        let patterns = node.written_patterns(reader);
        if patterns.len() > MAX_LIST_PATTERNS {
            let message = format!("a list has more than {MAX_LIST_PATTERNS} patterns");
            node.report(reader, "policy.too_many", message, "split it");
        }
        reader.define_list(name, patterns);
    }
}

fn principal(reader: &mut DocumentReader<'_>, name: &str, node: &Node<'_>) -> Option<Principal> {
    let section = node.section(reader, &["roles", "attributes", "permissions", "agent"])?;
    let id = match PrincipalId::parse(name) {
        Ok(id) => id,
        Err(error) => {
            node.report(reader, "policy.value", error.to_string(), "write another name");
            return None;
        }
    };
    let mut principal = Principal::new(id);
    if let Some(node) = section.get("roles") {
        principal.roles = node.texts(reader);
    }
    if let Some(node) = section.get("permissions") {
        principal.permissions = node.texts(reader);
    }
    if let Some(node) = section.get("attributes") {
        for (name, node) in node.entries(reader) {
            if let Some(value) = node.text(reader) {
                principal.attributes.insert(name.to_owned(), value.to_owned());
            }
        }
    }
    principal.agent = section.get("agent").and_then(|n| n.parse::<AgentId>(reader));
    Some(principal)
}
