//! Matches, as documents write them.

use std::collections::BTreeMap;

use super::arguments;
use super::node::{Node, Section};
use super::reader::DocumentReader;
use crate::matching::Match;
use crate::name_condition::NameCondition;
use crate::pattern::Pattern;
use crate::time_window::{END_OF_DAY, TimeWindow};

const MATCH: [&str; 21] = [
    "capability", "effects", "class", "rung", "sink", "tags", "sensitivity", "intent", "scope",
    "mode", "label", "principal", "roles", "attributes", "agent", "time", "operation", "arguments",
    "any", "not", "unless",
];

/// Reads a match. What could not be read was noted.
pub(super) fn matches(reader: &mut DocumentReader<'_>, node: &Node<'_>) -> Match {
    let mut out = Match::default();
    let Some(section) = node.section(reader, &MATCH) else { return out };
    of_capability(reader, &section, &mut out);
    of_caller(reader, &section, &mut out);
    of_run(reader, &section, &mut out);
    if let Some(node) = section.get("arguments") {
        out.arguments = arguments::predicates(reader, &node);
    }
    if let Some(node) = section.get("any") {
        out.any = node.one_or_many(reader).iter().map(|node| inner(reader, node)).collect();
    }
    out.not = section.get("not").map(|node| Box::new(inner(reader, &node)));
    out.unless = section.get("unless").map(|node| Box::new(inner(reader, &node)));
    out
}

/// A match inside another, which must say something.
fn inner(reader: &mut DocumentReader<'_>, node: &Node<'_>) -> Match {
    if node.is_empty_table() {
        empty_table(reader, node);
    }
    matches(reader, node)
}

fn of_capability(reader: &mut DocumentReader<'_>, section: &Section<'_>, out: &mut Match) {
    if let Some(node) = section.get("capability") {
        out.capability = node.patterns(reader);
    }
    if let Some(node) = section.get("effects")
        && let Some(inner) = filled(reader, &node, &["impact", "world"])
    {
        out.impact = inner.get("impact").map(|n| n.words(reader)).unwrap_or_default();
        out.world = inner.get("world").map(|n| n.words(reader)).unwrap_or_default();
    }
    out.class = section.get("class").map(|n| n.words(reader)).unwrap_or_default();
    out.rung = section.get("rung").map(|n| n.words(reader)).unwrap_or_default();
    out.sink = section.get("sink").map(|n| n.words(reader)).unwrap_or_default();
    out.tags = section.get("tags").map(|n| roles(reader, &n)).unwrap_or_default();
    out.sensitivity = section.get("sensitivity").map(|n| n.words(reader)).unwrap_or_default();
}

fn of_caller(reader: &mut DocumentReader<'_>, section: &Section<'_>, out: &mut Match) {
    out.principal = section.get("principal").map(|n| n.patterns(reader)).unwrap_or_default();
    out.roles = section.get("roles").map(|n| roles(reader, &n)).unwrap_or_default();
    out.attributes = section.get("attributes").map(|n| fitting(reader, &n)).unwrap_or_default();
    out.agent = section.get("agent").map(|n| n.patterns(reader)).unwrap_or_default();
    out.intent = section.get("intent").map(|n| n.patterns(reader)).unwrap_or_default();
    out.scope = section.get("scope").map(|n| fitting(reader, &n)).unwrap_or_default();
    out.operation = section.get("operation").map(|n| n.words(reader)).unwrap_or_default();
}

fn of_run(reader: &mut DocumentReader<'_>, section: &Section<'_>, out: &mut Match) {
    out.mode = section.get("mode").map(|n| n.words(reader)).unwrap_or_default();
    if let Some(node) = section.get("label")
        && let Some(inner) = filled(reader, &node, &["confidentiality", "integrity"])
    {
        let node = inner.get("confidentiality");
        out.confidentiality = node.map(|n| n.words(reader)).unwrap_or_default();
        out.integrity = inner.get("integrity").map(|n| n.words(reader)).unwrap_or_default();
    }
    out.time = section.get("time").and_then(|node| time(reader, &node));
}

fn time(reader: &mut DocumentReader<'_>, node: &Node<'_>) -> Option<TimeWindow> {
    let known = ["from", "to", "days", "not_before", "not_after"];
    let before = reader.noted();
    let section = filled(reader, node, &known)?;
    let read = TimeWindow {
        from: section.get("from").and_then(|n| minute(reader, &n, END_OF_DAY - 1)),
        to: section.get("to").and_then(|n| minute(reader, &n, END_OF_DAY)),
        days: section.get("days").map(|n| n.words(reader)).unwrap_or_default(),
        not_before: section.get("not_before").and_then(|n| n.time(reader)),
        not_after: section.get("not_after").and_then(|n| n.time(reader)),
    };
    // What was noted already is not worth a second finding about what is left.
    (reader.noted() == before).then_some(read)
}

/// A time of day, `HH:MM`.
fn minute(reader: &mut DocumentReader<'_>, node: &Node<'_>, last: u16) -> Option<u16> {
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
        let message = "this is no time of day";
        node.wrong(reader, "policy.time", message, "write hours and minutes in UTC, as \"09:30\"");
    }
    read
}

/// Names that must be there, each with a pattern for its value.
pub(super) fn fitting(
    reader: &mut DocumentReader<'_>,
    node: &Node<'_>,
) -> BTreeMap<String, Pattern> {
    let entries = node.entries(reader);
    if node.is_empty_table() {
        empty_table(reader, node);
    }
    let read = entries.into_iter().filter_map(|(name, node)| {
        let pattern = node.pattern(reader)?;
        Some((name.to_owned(), pattern))
    });
    read.collect()
}

/// Names, of which one or all count.
pub(super) fn roles(reader: &mut DocumentReader<'_>, node: &Node<'_>) -> NameCondition {
    let mut out = NameCondition::default();
    let Some(section) = filled(reader, node, &["any", "all"]) else { return out };
    out.any = section.get("any").map(|n| n.some_texts(reader)).unwrap_or_default();
    out.all = section.get("all").map(|n| n.some_texts(reader)).unwrap_or_default();
    out
}

/// A table that has at least one key.
fn filled<'t>(
    reader: &mut DocumentReader<'_>,
    node: &Node<'t>,
    known: &[&str],
) -> Option<Section<'t>> {
    let section = node.section(reader, known)?;
    if section.is_empty() {
        empty_table(reader, node);
    }
    Some(section)
}

pub(super) fn empty_table(reader: &mut DocumentReader<'_>, node: &Node<'_>) {
    let message = "an empty table says nothing";
    node.wrong(reader, "policy.empty_table", message, "fill it or leave it out");
}
