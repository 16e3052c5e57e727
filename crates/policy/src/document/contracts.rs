//! Reads the contracts document.

use std::collections::BTreeSet;

use weaver_types::{AllowedAgents, Effects, JsonPointer, RecordIdentity, Timestamp};

use super::node::Node;
use super::reader::DocumentReader;
use super::{arguments, header, preconditions, validate};
use crate::contract::{Contract, Contracts, OutputLabel, VisibilityRule};

const KEYS: [&str; 7] = ["kind", "format", "id", "version", "expires", "capabilities", "visible"];
const CONTRACT: [&str; 21] = [
    "effects", "rung", "lower_rung", "sink", "sensitivity", "reveal", "accepts_masked", "tags",
    "allowed_fields", "agents", "permissions", "upstream_digest", "records", "output", "clearance",
    "idempotent", "timeout_ms", "visible", "preconditions", "critical_arguments", "sends_to",
];

/// Reads a contracts document.
pub(super) fn read(reader: &mut DocumentReader<'_>, now: Option<Timestamp>) -> Contracts {
    let mut out = Contracts::new("");
    let Some(root) = reader.root().section(reader, &KEYS) else { return out };
    let header = header::read(reader, &root, now);
    (out.id, out.version, out.expires) = (header.id, header.version, header.expires);
    if let Some(node) = root.get("capabilities") {
        for (name, node) in node.entries(reader) {
            let contract = contract(reader, &node);
            match crate::pattern::Pattern::parse(name) {
                Ok(pattern) => {
                    out.capabilities.insert(pattern, contract);
                }
                Err(error) => {
                    node.report(reader, "policy.pattern", error.to_string(), "shorten it")
                }
            }
        }
    }
    if let Some(node) = root.get("visible") {
        for node in node.items(reader) {
            out.visible.push(visibility(reader, &node));
        }
    }
    validate::report_problems(reader, validate::contract_problems(&out));
    out
}

fn contract(reader: &mut DocumentReader<'_>, node: &Node<'_>) -> Contract {
    let mut out = Contract::default();
    let Some(section) = node.section(reader, &CONTRACT) else { return out };
    out.effects = section.get("effects").and_then(|n| effects(reader, &n));
    out.rung = section.get("rung").and_then(|n| n.keyword(reader));
    out.lower_rung = section.get("lower_rung").and_then(|n| n.boolean(reader)).unwrap_or(false);
    out.sink = section.get("sink").and_then(|n| n.keyword(reader));
    out.sensitivity = section.get("sensitivity").map(|n| n.keywords(reader)).unwrap_or_default();
    out.reveal = section.get("reveal").map(|n| n.texts(reader));
    out.accepts_masked = section.get("accepts_masked").map(|n| n.texts(reader));
    out.tags = section.get("tags").map(|n| n.texts(reader));
    out.allowed_fields = section.get("allowed_fields").map(|n| n.nonempty_texts(reader));
    out.agents = section.get("agents").and_then(|n| agents(reader, &n));
    out.permissions =
        section.get("permissions").map(|n| n.nonempty_texts(reader)).unwrap_or_default();
    out.upstream_digest = section.get("upstream_digest").and_then(|n| n.parse(reader));
    out.records = section.get("records").and_then(|n| records(reader, &n));
    out.output = section.get("output").map(|n| output(reader, &n)).unwrap_or_default();
    out.clearance = section.get("clearance").and_then(|n| n.keyword(reader));
    out.idempotent = section.get("idempotent").and_then(|n| n.boolean(reader));
    out.timeout_ms = section.get("timeout_ms").and_then(|n| n.count(reader, 1));
    out.visible = section.get("visible").and_then(|n| n.boolean(reader));
    if let Some(node) = section.get("preconditions") {
        out.preconditions = preconditions::read(reader, &node);
    }
    out.critical_arguments = pointers(reader, section.get("critical_arguments"));
    out.sends_to = pointers(reader, section.get("sends_to"));
    out
}

fn effects(reader: &mut DocumentReader<'_>, node: &Node<'_>) -> Option<Effects> {
    if !node.is_text() {
        let section = node.section(reader, &["impact", "world"])?;
        let impact = section.required(reader, "impact").and_then(|n| n.keyword(reader));
        let world = section.required(reader, "world").and_then(|n| n.keyword(reader));
        return Some(Effects { impact: impact?, world: world? });
    }
    node.known_text(reader, &Effects::SHORTHANDS.map(|(name, _)| name), Effects::parse_shorthand)
}

fn agents(reader: &mut DocumentReader<'_>, node: &Node<'_>) -> Option<AllowedAgents> {
    if node.is_text() {
        return if node.text(reader)? == "any" {
            Some(AllowedAgents::Any)
        } else {
            node.report(
                reader,
                "policy.word",
                "a single word here is `any`",
                "write \"any\" or a list of agents",
            );
            None
        };
    }
    let items = node.items(reader);
    Some(AllowedAgents::Only(items.iter().filter_map(|n| n.parse(reader)).collect()))
}

fn pointers(reader: &mut DocumentReader<'_>, node: Option<Node<'_>>) -> BTreeSet<JsonPointer> {
    let nodes = node.map(|node| node.one_or_many(reader)).unwrap_or_default();
    nodes.iter().filter_map(|node| arguments::pointer(reader, node)).collect()
}

fn records(reader: &mut DocumentReader<'_>, node: &Node<'_>) -> Option<RecordIdentity> {
    let section = node.section(reader, &["id", "name"])?;
    let id = section.required(reader, "id")?.text(reader)?.to_owned();
    let name = section.get("name").and_then(|n| n.text(reader).map(str::to_owned));
    Some(RecordIdentity { id, name })
}

fn output(reader: &mut DocumentReader<'_>, node: &Node<'_>) -> OutputLabel {
    let Some(section) = node.section(reader, &["confidentiality", "integrity"]) else {
        return OutputLabel::default();
    };
    OutputLabel {
        confidentiality: section.get("confidentiality").and_then(|n| n.keyword(reader)),
        integrity: section.get("integrity").and_then(|n| n.keyword(reader)),
    }
}

fn visibility(reader: &mut DocumentReader<'_>, node: &Node<'_>) -> VisibilityRule {
    let mut out = VisibilityRule::default();
    let known = ["principals", "roles", "agents", "capabilities"];
    let Some(section) = node.section(reader, &known) else { return out };
    if let Some(node) = section.get("principals") {
        out.principals = node.patterns(reader);
    }
    if let Some(node) = section.get("roles") {
        out.roles = node.nonempty_texts(reader);
    }
    if let Some(node) = section.get("agents") {
        out.agents = node.patterns(reader);
    }
    if let Some(node) = section.required(reader, "capabilities") {
        out.capabilities = node.patterns(reader);
    }
    out
}
