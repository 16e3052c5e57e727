//! Reads agent declarations of a policy document.

use weaver_types::AgentId;

use super::node::Node;
use super::reader::DocumentReader;
use crate::agents::AgentCapabilities;

const KEYS: [&str; 6] = [
    "description", "required_packs", "tool_allowlist", "decision_keys", "safety_class_ceiling",
    "version",
];

/// Reads one agent. Its tools and its safety class ceiling are required.
pub(super) fn agent(
    reader: &mut DocumentReader<'_>,
    name: &str,
    node: &Node<'_>,
) -> Option<AgentCapabilities> {
    let section = node.section(reader, &KEYS)?;
    let id = match AgentId::parse(name) {
        Ok(id) => id,
        Err(error) => {
            node.report(reader, "policy.value", error.to_string(), "write another name");
            return None;
        }
    };
    let tools = section.required(reader, "tool_allowlist");
    let ceiling =
        section.required(reader, "safety_class_ceiling").and_then(|node| node.keyword(reader));
    let mut agent = AgentCapabilities::new(id, ceiling?);
    for node in tools?.items(reader) {
        agent.tool_allowlist.extend(node.pattern(reader));
    }
    agent.tool_allowlist.sort();
    agent.tool_allowlist.dedup();
    if let Some(node) = section.get("decision_keys") {
        agent.decision_keys = node.nonempty_texts(reader);
    }
    if let Some(node) = section.get("required_packs") {
        agent.required_packs = node.texts(reader);
    }
    for (key, place) in [("description", &mut agent.description), ("version", &mut agent.version)] {
        if let Some(text) = section.get(key).and_then(|node| node.text_or_empty(reader)) {
            *place = text.to_owned();
        }
    }
    Some(agent)
}
