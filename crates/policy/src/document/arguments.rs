//! Reads argument predicates of a document.

use serde_json::{Number, Value};
use weaver_types::JsonPointer;

use super::node::{Node, Section};
use super::reader::DocumentReader;
use crate::argument::ArgumentPredicate;
use crate::pattern::Pattern;

const PREDICATE: [&str; 26] = [
    "at", "present", "equals", "in", "min", "max", "prefix", "suffix", "glob", "glob_any_case",
    "inside", "holds_paths", "paths_inside", "any_path", "harmless_sql", "reading_sql",
    "reading_query", "reading_action", "plain_expression", "holds_changes", "holds_options",
    "only_members", "domains", "min_length", "max_length", "provenance",
];

/// Reads one predicate or a list of them.
pub(super) fn predicates(
    reader: &mut DocumentReader<'_>,
    node: &Node<'_>,
) -> Vec<ArgumentPredicate> {
    node.one_or_many(reader).iter().filter_map(|node| predicate(reader, node)).collect()
}

fn predicate(reader: &mut DocumentReader<'_>, node: &Node<'_>) -> Option<ArgumentPredicate> {
    let before = reader.finding_count();
    let section = node.section(reader, &PREDICATE)?;
    let at = section.required(reader, "at").and_then(|node| pointer(reader, &node));
    let mut out = ArgumentPredicate::at(at?);
    out.present = section.get("present").and_then(|n| n.boolean(reader));
    out.equals = section.get("equals").and_then(|n| n.json(reader));
    if let Some(node) = section.get("in") {
        out.one_of = node.one_or_many(reader).iter().filter_map(|n| n.json(reader)).collect();
    }
    out.min = section.get("min").and_then(|n| decimal(reader, &n));
    out.max = section.get("max").and_then(|n| decimal(reader, &n));
    out.prefix = texts(reader, &section, "prefix");
    out.suffix = texts(reader, &section, "suffix");
    out.inside = texts(reader, &section, "inside");
    out.holds_paths = section.get("holds_paths").and_then(|n| n.boolean(reader));
    out.paths_inside = texts(reader, &section, "paths_inside");
    out.harmless_sql = section.get("harmless_sql").and_then(|n| n.boolean(reader));
    out.reading_sql = section.get("reading_sql").and_then(|n| n.boolean(reader));
    out.reading_query = section.get("reading_query").and_then(|n| n.boolean(reader));
    out.reading_action = section.get("reading_action").and_then(|n| n.boolean(reader));
    out.plain_expression = section.get("plain_expression").and_then(|n| n.boolean(reader));
    out.holds_changes = section.get("holds_changes").and_then(|n| n.boolean(reader));
    out.holds_options = section.get("holds_options").and_then(|n| n.boolean(reader));
    out.only_members = texts(reader, &section, "only_members");
    out.domains = texts(reader, &section, "domains");
    out.glob = patterns(reader, &section, "glob");
    out.glob_any_case = patterns(reader, &section, "glob_any_case");
    out.any_path = patterns(reader, &section, "any_path");
    out.min_length = section.get("min_length").and_then(|n| n.count(reader, 0));
    out.max_length = section.get("max_length").and_then(|n| n.count(reader, 0));
    if let Some(node) = section.get("provenance") {
        let words = node.keywords(reader);
        out.provenance = words.into_iter().collect();
    }
    // A predicate with findings is dropped, so validation does not report it again.
    (reader.finding_count() == before).then_some(out)
}

fn patterns(reader: &mut DocumentReader<'_>, section: &Section<'_>, name: &str) -> Vec<Pattern> {
    section.get(name).map(|node| node.patterns(reader)).unwrap_or_default()
}

fn texts(reader: &mut DocumentReader<'_>, section: &Section<'_>, name: &str) -> Vec<String> {
    let Some(node) = section.get(name) else { return Vec::new() };
    let nodes = node.one_or_many(reader);
    nodes.iter().filter_map(|node| node.text(reader)).map(str::to_owned).collect()
}

fn decimal(reader: &mut DocumentReader<'_>, node: &Node<'_>) -> Option<Number> {
    match node.json(reader)? {
        Value::Number(number) => Some(number),
        _ => {
            node.report(reader, "policy.type", "this is not a number", "write a number");
            None
        }
    }
}

/// Reads a JSON pointer, which may be empty.
pub(super) fn pointer(reader: &mut DocumentReader<'_>, node: &Node<'_>) -> Option<JsonPointer> {
    let text = node.text_or_empty(reader)?;
    match JsonPointer::parse(text) {
        Ok(pointer) => Some(pointer),
        Err(error) => {
            node.report(reader, "policy.value", error.to_string(), "write it as \"/name/0\"");
            None
        }
    }
}
