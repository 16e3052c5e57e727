//! Conditions on arguments, as documents write them.

use serde_json::{Number, Value};
use weaver_types::Pointer;

use super::node::{Node, Section};
use super::page::Page;
use crate::argument::ArgumentPredicate;

const PREDICATE: [&str; 14] = [
    "at",
    "present",
    "equals",
    "in",
    "min",
    "max",
    "prefix",
    "suffix",
    "glob",
    "inside",
    "domains",
    "min_length",
    "max_length",
    "provenance",
];

/// Reads one predicate or a list of them.
pub(super) fn predicates(page: &mut Page<'_>, node: &Node<'_>) -> Vec<ArgumentPredicate> {
    node.one_or_many(page).iter().filter_map(|node| predicate(page, node)).collect()
}

fn predicate(page: &mut Page<'_>, node: &Node<'_>) -> Option<ArgumentPredicate> {
    let before = page.noted();
    let section = node.section(page, &PREDICATE)?;
    let at = section.need(page, "at").and_then(|node| pointer(page, &node));
    let mut out = ArgumentPredicate::at(at?);
    out.present = section.get("present").and_then(|n| n.flag(page));
    out.equals = section.get("equals").and_then(|n| n.json(page));
    if let Some(node) = section.get("in") {
        out.one_of = node.one_or_many(page).iter().filter_map(|n| n.json(page)).collect();
    }
    out.min = section.get("min").and_then(|n| decimal(page, &n));
    out.max = section.get("max").and_then(|n| decimal(page, &n));
    out.prefix = texts(page, &section, "prefix");
    out.suffix = texts(page, &section, "suffix");
    out.inside = texts(page, &section, "inside");
    out.domains = texts(page, &section, "domains");
    out.glob = section.get("glob").map(|n| n.patterns(page)).unwrap_or_default();
    out.min_length = section.get("min_length").and_then(|n| n.count(page, 0));
    out.max_length = section.get("max_length").and_then(|n| n.count(page, 0));
    if let Some(node) = section.get("provenance") {
        let words = node.words(page);
        out.provenance = words.into_iter().collect();
    }
    // What was noted already is not worth a second finding about what is left.
    (page.noted() == before).then_some(out)
}

fn texts(page: &mut Page<'_>, section: &Section<'_>, name: &str) -> Vec<String> {
    let Some(node) = section.get(name) else { return Vec::new() };
    let nodes = node.one_or_many(page);
    nodes.iter().filter_map(|node| node.text(page)).map(str::to_owned).collect()
}

fn decimal(page: &mut Page<'_>, node: &Node<'_>) -> Option<Number> {
    match node.json(page)? {
        Value::Number(number) => Some(number),
        _ => {
            node.wrong(page, "policy.type", "this is no number", "write a number");
            None
        }
    }
}

/// A JSON pointer, which may be empty.
pub(super) fn pointer(page: &mut Page<'_>, node: &Node<'_>) -> Option<Pointer> {
    let text = node.any_text(page)?;
    match Pointer::parse(text) {
        Ok(pointer) => Some(pointer),
        Err(error) => {
            node.wrong(page, "policy.value", error.to_string(), "write it as \"/name/0\"");
            None
        }
    }
}
