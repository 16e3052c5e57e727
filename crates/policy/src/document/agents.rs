//! What a policy document declares of agents.

use weaver_types::AgentId;

use super::node::Node;
use super::page::Page;
use crate::agents::AgentCapabilities;

const KEYS: [&str; 6] = [
    "description",
    "required_packs",
    "tool_allowlist",
    "decision_keys",
    "safety_class_ceiling",
    "version",
];

/// Reads one agent. Its tools and its ceiling must be said.
pub(super) fn agent(page: &mut Page<'_>, name: &str, node: &Node<'_>) -> Option<AgentCapabilities> {
    let section = node.section(page, &KEYS)?;
    let id = match AgentId::parse(name) {
        Ok(id) => id,
        Err(error) => {
            node.wrong(page, "policy.value", error.to_string(), "write another name");
            return None;
        }
    };
    let tools = section.need(page, "tool_allowlist");
    let ceiling = section.need(page, "safety_class_ceiling").and_then(|node| node.word(page));
    let mut agent = AgentCapabilities::new(id, ceiling?);
    for node in tools?.items(page) {
        agent.tool_allowlist.extend(node.pattern(page));
    }
    agent.tool_allowlist.sort();
    agent.tool_allowlist.dedup();
    if let Some(node) = section.get("decision_keys") {
        agent.decision_keys = node.some_texts(page);
    }
    if let Some(node) = section.get("required_packs") {
        agent.required_packs = node.texts(page);
    }
    for (key, place) in [("description", &mut agent.description), ("version", &mut agent.version)] {
        if let Some(text) = section.get(key).and_then(|node| node.any_text(page)) {
            *place = text.to_owned();
        }
    }
    Some(agent)
}
