//! The contracts document.

use std::collections::BTreeSet;

use weaver_types::{Agents, Effects, Pointer, RecordFields, Timestamp};

use super::node::Node;
use super::page::{Page, shown};
use super::{arguments, header, preconditions, validate};
use crate::contract::{Contract, Contracts, OutputLabel, Visibility};

const KEYS: [&str; 7] = ["kind", "format", "id", "version", "expires", "capabilities", "visible"];
const CONTRACT: [&str; 21] = [
    "effects",
    "rung",
    "lower_rung",
    "sink",
    "sensitivity",
    "reveal",
    "accepts_masked",
    "tags",
    "allowed_fields",
    "agents",
    "permissions",
    "upstream_digest",
    "records",
    "output",
    "clearance",
    "idempotent",
    "timeout_ms",
    "visible",
    "preconditions",
    "critical_arguments",
    "sends_to",
];
const SHORTHANDS: [(&str, Effects); 5] = [
    ("read_local", Effects::READ_LOCAL),
    ("read_open", Effects::READ_OPEN),
    ("write_local", Effects::WRITE_LOCAL),
    ("write_open", Effects::WRITE_OPEN),
    ("destructive", Effects::UNDECLARED),
];

/// Reads a contracts document.
pub(super) fn read(page: &mut Page<'_>, now: Option<Timestamp>) -> Contracts {
    let mut out = Contracts::new("");
    let Some(root) = page.root().section(page, &KEYS) else { return out };
    let header = header::read(page, &root, now);
    (out.id, out.version, out.expires) = (header.id, header.version, header.expires);
    if let Some(node) = root.get("capabilities") {
        for (name, node) in node.entries(page) {
            let contract = contract(page, &node);
            match crate::rule::Pattern::parse(name) {
                Ok(pattern) => {
                    out.capabilities.insert(pattern, contract);
                }
                Err(error) => node.wrong(page, "policy.pattern", error.to_string(), "shorten it"),
            }
        }
    }
    if let Some(node) = root.get("visible") {
        for node in node.items(page) {
            out.visible.push(visibility(page, &node));
        }
    }
    validate::note(page, validate::contracts(&out));
    out
}

fn contract(page: &mut Page<'_>, node: &Node<'_>) -> Contract {
    let mut out = Contract::default();
    let Some(section) = node.section(page, &CONTRACT) else { return out };
    out.effects = section.get("effects").and_then(|n| effects(page, &n));
    out.rung = section.get("rung").and_then(|n| n.word(page));
    out.lower_rung = section.get("lower_rung").and_then(|n| n.flag(page)).unwrap_or(false);
    out.sink = section.get("sink").and_then(|n| n.word(page));
    out.sensitivity = section.get("sensitivity").map(|n| n.words(page)).unwrap_or_default();
    out.reveal = section.get("reveal").map(|n| n.texts(page));
    out.accepts_masked = section.get("accepts_masked").map(|n| n.texts(page));
    out.tags = section.get("tags").map(|n| n.texts(page));
    out.allowed_fields = section.get("allowed_fields").map(|n| n.some_texts(page));
    out.agents = section.get("agents").and_then(|n| agents(page, &n));
    out.permissions = section.get("permissions").map(|n| n.some_texts(page)).unwrap_or_default();
    out.upstream_digest = section.get("upstream_digest").and_then(|n| n.parsed(page));
    out.records = section.get("records").and_then(|n| records(page, &n));
    out.output = section.get("output").map(|n| output(page, &n)).unwrap_or_default();
    out.clearance = section.get("clearance").and_then(|n| n.word(page));
    out.idempotent = section.get("idempotent").and_then(|n| n.flag(page));
    out.timeout_ms = section.get("timeout_ms").and_then(|n| n.count(page, 1));
    out.visible = section.get("visible").and_then(|n| n.flag(page));
    if let Some(node) = section.get("preconditions") {
        out.preconditions = preconditions::read(page, &node);
    }
    out.critical_arguments = pointers(page, section.get("critical_arguments"));
    out.sends_to = pointers(page, section.get("sends_to"));
    out
}

fn effects(page: &mut Page<'_>, node: &Node<'_>) -> Option<Effects> {
    if !node.is_text() {
        let section = node.section(page, &["impact", "world"])?;
        let impact = section.need(page, "impact").and_then(|n| n.word(page));
        let world = section.need(page, "world").and_then(|n| n.word(page));
        return Some(Effects { impact: impact?, world: world? });
    }
    let word = node.text(page)?;
    let found = SHORTHANDS.iter().find(|(name, _)| *name == word).map(|(_, effects)| *effects);
    if found.is_none() {
        let names = SHORTHANDS.map(|(name, _)| name);
        let remedy = match weaver_text::suggest::nearest(word, names) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("write one of {}", names.join(", ")),
        };
        node.wrong(page, "policy.word", format!("unknown word `{}`", shown(word)), remedy);
    }
    found
}

fn agents(page: &mut Page<'_>, node: &Node<'_>) -> Option<Agents> {
    if node.is_text() {
        return if node.text(page)? == "any" {
            Some(Agents::Any)
        } else {
            node.wrong(
                page,
                "policy.word",
                "a single word here is `any`",
                "write \"any\" or a list of agents",
            );
            None
        };
    }
    let items = node.items(page);
    Some(Agents::Only(items.iter().filter_map(|n| n.parsed(page)).collect()))
}

fn pointers(page: &mut Page<'_>, node: Option<Node<'_>>) -> BTreeSet<Pointer> {
    let nodes = node.map(|node| node.one_or_many(page)).unwrap_or_default();
    nodes.iter().filter_map(|node| arguments::pointer(page, node)).collect()
}

fn records(page: &mut Page<'_>, node: &Node<'_>) -> Option<RecordFields> {
    let section = node.section(page, &["id", "name"])?;
    let id = section.need(page, "id")?.text(page)?.to_owned();
    let name = section.get("name").and_then(|n| n.text(page).map(str::to_owned));
    Some(RecordFields { id, name })
}

fn output(page: &mut Page<'_>, node: &Node<'_>) -> OutputLabel {
    let Some(section) = node.section(page, &["confidentiality", "integrity"]) else {
        return OutputLabel::default();
    };
    OutputLabel {
        confidentiality: section.get("confidentiality").and_then(|n| n.word(page)),
        integrity: section.get("integrity").and_then(|n| n.word(page)),
    }
}

fn visibility(page: &mut Page<'_>, node: &Node<'_>) -> Visibility {
    let mut out = Visibility::default();
    let known = ["principals", "roles", "agents", "capabilities"];
    let Some(section) = node.section(page, &known) else { return out };
    if let Some(node) = section.get("principals") {
        out.principals = node.patterns(page);
    }
    if let Some(node) = section.get("roles") {
        out.roles = node.some_texts(page);
    }
    if let Some(node) = section.get("agents") {
        out.agents = node.patterns(page);
    }
    if let Some(node) = section.need(page, "capabilities") {
        out.capabilities = node.patterns(page);
    }
    out
}
