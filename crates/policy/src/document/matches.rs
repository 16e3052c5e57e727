//! Reads match conditions of a document.

use std::collections::BTreeMap;

use super::arguments;
use super::node::{Node, Section};
use super::reader::DocumentReader;
use crate::match_conditions::MatchConditions;
use crate::name_condition::NameCondition;
use crate::pattern::Pattern;
use crate::time_window::{END_OF_DAY, TimeWindow};

const MATCH: [&str; 21] = [
    "capability", "effects", "class", "rung", "sink", "tags", "sensitivity", "intent", "scope",
    "mode", "label", "principal", "roles", "attributes", "agent", "time", "operation", "arguments",
    "any", "not", "unless",
];

/// Reads match conditions. Whatever cannot be read is reported and left out.
pub(super) fn matches(reader: &mut DocumentReader<'_>, node: &Node<'_>) -> MatchConditions {
    let mut out = MatchConditions::default();
    let Some(section) = node.section(reader, &MATCH) else { return out };
    read_capability_conditions(reader, &section, &mut out);
    read_caller_conditions(reader, &section, &mut out);
    read_run_conditions(reader, &section, &mut out);
    if let Some(node) = section.get("arguments") {
        out.arguments = arguments::predicates(reader, &node);
    }
    if let Some(node) = section.get("any") {
        out.any = node.one_or_many(reader).iter().map(|node| nested_match(reader, node)).collect();
    }
    out.not = section.get("not").map(|node| Box::new(nested_match(reader, &node)));
    out.unless = section.get("unless").map(|node| Box::new(nested_match(reader, &node)));
    out
}

/// Reads nested conditions, which must not be empty.
fn nested_match(reader: &mut DocumentReader<'_>, node: &Node<'_>) -> MatchConditions {
    if node.is_empty_table() {
        report_empty_table(reader, node);
    }
    matches(reader, node)
}

fn read_capability_conditions(
    reader: &mut DocumentReader<'_>,
    section: &Section<'_>,
    out: &mut MatchConditions,
) {
    if let Some(node) = section.get("capability") {
        out.capability = node.patterns(reader);
    }
    if let Some(node) = section.get("effects")
        && let Some(inner) = nonempty_section(reader, &node, &["impact", "world"])
    {
        out.impact = inner.get("impact").map(|n| n.keywords(reader)).unwrap_or_default();
        out.world = inner.get("world").map(|n| n.keywords(reader)).unwrap_or_default();
    }
    out.class = section.get("class").map(|n| n.keywords(reader)).unwrap_or_default();
    out.rung = section.get("rung").map(|n| n.keywords(reader)).unwrap_or_default();
    out.sink = section.get("sink").map(|n| n.keywords(reader)).unwrap_or_default();
    out.tags = section.get("tags").map(|n| name_condition(reader, &n)).unwrap_or_default();
    out.sensitivity = section.get("sensitivity").map(|n| n.keywords(reader)).unwrap_or_default();
}

fn read_caller_conditions(
    reader: &mut DocumentReader<'_>,
    section: &Section<'_>,
    out: &mut MatchConditions,
) {
    out.principal = section.get("principal").map(|n| n.patterns(reader)).unwrap_or_default();
    out.roles = section.get("roles").map(|n| name_condition(reader, &n)).unwrap_or_default();
    out.attributes =
        section.get("attributes").map(|n| attribute_patterns(reader, &n)).unwrap_or_default();
    out.agent = section.get("agent").map(|n| n.patterns(reader)).unwrap_or_default();
    out.intent = section.get("intent").map(|n| n.patterns(reader)).unwrap_or_default();
    out.scope = section.get("scope").map(|n| attribute_patterns(reader, &n)).unwrap_or_default();
    out.operation = section.get("operation").map(|n| n.keywords(reader)).unwrap_or_default();
}

fn read_run_conditions(
    reader: &mut DocumentReader<'_>,
    section: &Section<'_>,
    out: &mut MatchConditions,
) {
    out.mode = section.get("mode").map(|n| n.keywords(reader)).unwrap_or_default();
    if let Some(node) = section.get("label")
        && let Some(inner) = nonempty_section(reader, &node, &["confidentiality", "integrity"])
    {
        let node = inner.get("confidentiality");
        out.confidentiality = node.map(|n| n.keywords(reader)).unwrap_or_default();
        out.integrity = inner.get("integrity").map(|n| n.keywords(reader)).unwrap_or_default();
    }
    out.time = section.get("time").and_then(|node| time_window(reader, &node));
}

fn time_window(reader: &mut DocumentReader<'_>, node: &Node<'_>) -> Option<TimeWindow> {
    let known = ["from", "to", "days", "not_before", "not_after"];
    let before = reader.finding_count();
    let section = nonempty_section(reader, node, &known)?;
    let read = TimeWindow {
        from: section.get("from").and_then(|n| minute_of_day(reader, &n, END_OF_DAY - 1)),
        to: section.get("to").and_then(|n| minute_of_day(reader, &n, END_OF_DAY)),
        days: section.get("days").map(|n| n.keywords(reader)).unwrap_or_default(),
        not_before: section.get("not_before").and_then(|n| n.timestamp(reader)),
        not_after: section.get("not_after").and_then(|n| n.timestamp(reader)),
    };
    // A window with findings is dropped, so validation does not report it again.
    (reader.finding_count() == before).then_some(read)
}

/// Reads a time of day, `HH:MM`, as minutes.
fn minute_of_day(reader: &mut DocumentReader<'_>, node: &Node<'_>, last: u16) -> Option<u16> {
    let text = node.text(reader)?;
    let digits = |part: &str| {
        let plain = part.len() == 2 && part.bytes().all(|b| b.is_ascii_digit());
        plain.then(|| part.parse::<u16>().ok()).flatten()
    };
    let read = text.split_once(':').and_then(|(hour, minute)| {
        let (hour, minute) = (digits(hour)?, digits(minute)?);
        (minute < 60).then_some(hour * 60 + minute).filter(|all| *all <= last)
    });
    if read.is_none() {
        let message = "this is not a time of day";
        node.report(reader, "policy.time", message, "write hours and minutes in UTC, as \"09:30\"");
    }
    read
}

/// Reads required names, each with a pattern for its value.
pub(super) fn attribute_patterns(
    reader: &mut DocumentReader<'_>,
    node: &Node<'_>,
) -> BTreeMap<String, Pattern> {
    let entries = node.entries(reader);
    if node.is_empty_table() {
        report_empty_table(reader, node);
    }
    let read = entries.into_iter().filter_map(|(name, node)| {
        let pattern = node.pattern(reader)?;
        Some((name.to_owned(), pattern))
    });
    read.collect()
}

/// Reads a condition on names: `any`, `all` or both.
pub(super) fn name_condition(reader: &mut DocumentReader<'_>, node: &Node<'_>) -> NameCondition {
    let mut out = NameCondition::default();
    let Some(section) = nonempty_section(reader, node, &["any", "all"]) else { return out };
    out.any = section.get("any").map(|n| n.nonempty_texts(reader)).unwrap_or_default();
    out.all = section.get("all").map(|n| n.nonempty_texts(reader)).unwrap_or_default();
    out
}

/// Reads a table that must have at least one key.
fn nonempty_section<'t>(
    reader: &mut DocumentReader<'_>,
    node: &Node<'t>,
    known: &[&str],
) -> Option<Section<'t>> {
    let section = node.section(reader, known)?;
    if section.is_empty() {
        report_empty_table(reader, node);
    }
    Some(section)
}

pub(super) fn report_empty_table(reader: &mut DocumentReader<'_>, node: &Node<'_>) {
    let message = "an empty table says nothing";
    node.report(reader, "policy.empty_table", message, "fill it or leave it out");
}
