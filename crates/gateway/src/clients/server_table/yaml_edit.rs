//! The table of servers as a YAML mapping at the top level.

use std::fmt::Write as _;

use serde_json::Value;

use super::super::error::SyntaxFault;
use super::super::yaml_text;
use super::{LocatedEntry, NewEntry, TableChange, TextEdits, at_keys, in_reading_order, line_end};

pub(super) fn entries(text: &str, keys: &[String]) -> Result<Vec<LocatedEntry>, SyntaxFault> {
    let tree = yaml_text::parse(text)?;
    let [key] = keys else { return Err(deep()) };
    let found = match at_keys(&tree, keys) {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(found) => found,
    };
    let lines = yaml_text::mapping(text, key)?;
    let offset = lines.as_ref().map_or(0, |lines| lines.start);
    let no_table = || SyntaxFault { offset, message: "this is not a mapping".to_owned() };
    let table = found.as_object().ok_or_else(no_table)?;
    let lines = lines.map(|lines| lines.entries).unwrap_or_default();
    let entries = lines.iter().filter_map(|entry| {
        Some(LocatedEntry {
            name: entry.name.clone(),
            value: table.get(&entry.name)?.clone(),
            offset: entry.span.start,
            text: text.get(entry.span.clone()).map(|text| with_end(text).into_owned()),
        })
    });
    Ok(entries.collect())
}

fn deep() -> SyntaxFault {
    SyntaxFault { offset: 0, message: "the mapping is not at the top level".to_owned() }
}

fn with_end(text: &str) -> std::borrow::Cow<'_, str> {
    if text.ends_with('\n') { text.into() } else { format!("{text}\n").into() }
}

pub(super) fn apply(text: &str, change: &TableChange<'_>) -> Result<String, SyntaxFault> {
    let [key] = change.keys else { return Err(deep()) };
    let end = line_end(text);
    let mapping = if text.trim().is_empty() { None } else { yaml_text::mapping(text, key)? };
    let indent = mapping.as_ref().map_or(2, |mapping| mapping.indent);
    let joined: String = change.insert.iter().map(|entry| entry_text(entry, indent, end)).collect();
    let Some(mapping) = mapping else {
        let separator = if text.is_empty() || text.ends_with('\n') { "" } else { end };
        return Ok(format!("{text}{separator}{key}:{end}{joined}"));
    };
    let mut edits = TextEdits::default();
    let removed: Vec<_> =
        mapping.entries.iter().filter(|entry| change.remove.contains(&entry.name)).collect();
    for (at, entry) in removed.iter().enumerate() {
        edits.replace(entry.span.clone(), if at == 0 { joined.as_str() } else { "" });
    }
    if removed.is_empty() && !joined.is_empty() {
        let braces = mapping.empty_braces;
        let start = mapping.entries.last().map_or(mapping.start, |entry| entry.span.end);
        let separator =
            if text.get(..start).is_some_and(|text| text.ends_with('\n')) { "" } else { end };
        if let Some(braces) = braces {
            edits.replace(braces, "");
        }
        edits.replace(start..start, format!("{separator}{joined}"));
    }
    let mut out = edits.apply(text);
    // An empty mapping is written as `{}`, because a key without entries would be null.
    let left = mapping.entries.len() - removed.len() + change.insert.len();
    if left == 0 && !removed.is_empty() {
        let head = mapping.start.saturating_sub(1);
        let head = head - usize::from(out.get(..head).is_some_and(|text| text.ends_with('\r')));
        out.insert_str(head, " {}");
    }
    Ok(out)
}

fn entry_text(entry: &NewEntry, indent: usize, end: &str) -> String {
    if let Some(text) = &entry.text {
        return text.clone();
    }
    let mut out = String::new();
    let blanks = " ".repeat(indent);
    // Writing to a string cannot fail, here and below.
    let _ = write!(out, "{blanks}{}:{end}", scalar(&Value::from(entry.name.as_str())));
    for (name, value) in entry.value.as_object().into_iter().flat_map(in_reading_order) {
        let _ = write!(out, "{blanks}{blanks}{name}: {}{end}", scalar(value));
    }
    out
}

/// A value in flow style: JSON values are valid YAML.
fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) if is_plain(text) => text.clone(),
        other => other.to_string(),
    }
}

fn is_plain(text: &str) -> bool {
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    let reserved = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(word)
        && !reserved.contains(&text.to_ascii_lowercase().as_str())
}
