//! Reads match conditions of a document.

use std::collections::BTreeMap;

use super::arguments;
use super::node::{Node, Section};
use super::reader::DocumentReader;
use crate::field_condition::FieldConditionMut;
use crate::match_conditions::{MatchConditions, MatchField};
use crate::name_condition::NameCondition;
use crate::pattern::Pattern;
use crate::time_window::{END_OF_DAY, TimeWindow};

/// The keys beside those of [`MatchConditions::FIELDS`].
const OTHER_KEYS: [&str; 4] = ["arguments", "any", "not", "unless"];

/// Reads match conditions. Whatever cannot be read is reported and left out.
pub(super) fn matches(reader: &mut DocumentReader<'_>, node: &Node<'_>) -> MatchConditions {
    let mut out = MatchConditions::default();
    let Some(section) = node.section(reader, &known_keys()) else { return out };
    read_fields(reader, &section, &mut out);
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

/// The keys of a match. Fields that share a table, such as `effects`, have one key together.
fn known_keys() -> Vec<&'static str> {
    let mut keys: Vec<_> = MatchConditions::FIELDS.iter().map(|field| split_key(field).0).collect();
    keys.extend(OTHER_KEYS);
    keys.dedup();
    keys
}

/// The key of a field in a match, and its key in the table below, if it is in one.
fn split_key(field: &MatchField) -> (&'static str, Option<&'static str>) {
    match field.key.split_once('.') {
        Some((table, key)) => (table, Some(key)),
        None => (field.key, None),
    }
}

fn read_fields(reader: &mut DocumentReader<'_>, section: &Section<'_>, out: &mut MatchConditions) {
    let mut tables = BTreeMap::new();
    for (field, condition) in out.fields_mut() {
        let (key, inner) = split_key(&field);
        let Some(node) = section.get(key) else { continue };
        let Some(inner) = inner else {
            read_condition(reader, &node, condition);
            continue;
        };
        let table = tables.entry(key).or_insert_with(|| {
            let inner = MatchConditions::FIELDS.iter().map(split_key);
            let inner = inner.filter(|(table, _)| *table == key).filter_map(|(_, inner)| inner);
            nonempty_section(reader, &node, &inner.collect::<Vec<_>>())
        });
        if let Some(node) = table.as_ref().and_then(|table| table.get(inner)) {
            read_condition(reader, &node, condition);
        }
    }
}

fn read_condition(
    reader: &mut DocumentReader<'_>,
    node: &Node<'_>,
    condition: FieldConditionMut<'_>,
) {
    match condition {
        FieldConditionMut::Keywords(keywords) => node.read_keywords(reader, keywords),
        FieldConditionMut::Patterns(patterns) => *patterns = node.patterns(reader),
        FieldConditionMut::Names(names) => *names = name_condition(reader, node),
        FieldConditionMut::NamedPatterns(required) => *required = attribute_patterns(reader, node),
        FieldConditionMut::Time(window) => *window = time_window(reader, node),
    }
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
