//! The table of servers as TOML tables: `[mcp_servers.NAME]`.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::super::error::SyntaxFault;
use super::super::toml_text::{self, Statement};
use super::{LocatedEntry, NewEntry, TableChange, TextEdits, at_keys, in_reading_order, line_end};

pub(super) fn entries(text: &str, keys: &[String]) -> Result<Vec<LocatedEntry>, SyntaxFault> {
    let tree = toml_text::parse(text)?;
    let statements = toml_text::statements(text)?;
    let Some(table) = at_keys(&tree, keys) else { return Ok(Vec::new()) };
    let offset = statements.iter().find(|one| one.path.starts_with(keys));
    let offset = offset.map_or(0, |one| one.span.start);
    let no_table = || SyntaxFault { offset, message: "this is not a table".to_owned() };
    let table = table.as_object().ok_or_else(no_table)?;
    let mut out: Vec<LocatedEntry> = Vec::new();
    for statement in &statements {
        let Some(name) = name_below(statement, keys) else { continue };
        if !out.iter().any(|entry| entry.name == *name)
            && let Some(value) = table.get(name)
        {
            let own: Vec<&Statement> =
                statements.iter().filter(|one| name_below(one, keys) == Some(name)).collect();
            out.push(LocatedEntry {
                name: name.clone(),
                value: value.clone(),
                offset: statement.span.start,
                text: movable(text, &own),
            });
        }
    }
    // Entries of an inline table have no location of their own.
    let rest = table.iter().filter(|(name, _)| !out.iter().any(|one| one.name == **name));
    let rest: Vec<LocatedEntry> = rest
        .map(|(name, value)| LocatedEntry {
            name: name.clone(),
            value: value.clone(),
            offset,
            text: None,
        })
        .collect();
    out.extend(rest);
    Ok(out)
}

/// The name of the entry that a statement belongs to.
fn name_below<'s>(statement: &'s Statement, keys: &[String]) -> Option<&'s String> {
    statement.path.strip_prefix(keys)?.first()
}

/// The text of the statements, if it has the same meaning anywhere at the top level.
fn movable(text: &str, own: &[&Statement]) -> Option<String> {
    own.first().filter(|first| first.is_header)?;
    let mut out = String::new();
    for statement in own {
        let lines = text.get(statement.span.clone())?;
        out.push_str(lines);
        if !lines.ends_with('\n') {
            out.push_str(line_end(text));
        }
    }
    Some(out)
}

pub(super) fn apply(text: &str, change: &TableChange<'_>) -> Result<String, SyntaxFault> {
    let statements = toml_text::statements(text)?;
    let end = line_end(text);
    let mut edits = TextEdits::default();
    let is_removed = |one: &&Statement| {
        name_below(one, change.keys).is_some_and(|name| change.remove.contains(name))
    };
    let removed: Vec<&Statement> = statements.iter().filter(is_removed).collect();
    let blocks: Vec<String> =
        change.insert.iter().map(|entry| block(entry, change.keys, end)).collect();
    let joined = blocks.join(end);
    // A header in the middle of another table would capture the keys after it.
    let place = removed.first().filter(|first| first.is_header && !joined.is_empty());
    for one in &removed {
        let here = place.is_some_and(|place| place.span == one.span);
        edits.replace(one.span.clone(), if here { joined.as_str() } else { "" });
    }
    let mut out = edits.apply(text);
    if place.is_none() && !joined.is_empty() {
        if !out.is_empty() && !out.ends_with('\n') {
            out.push_str(end);
        }
        if !out.trim_start_matches('\u{feff}').trim().is_empty() {
            out.push_str(end);
        }
        out.push_str(&joined);
    }
    Ok(out)
}

fn block(entry: &NewEntry, keys: &[String], end: &str) -> String {
    if let Some(text) = &entry.text {
        return text.clone();
    }
    let mut path: Vec<String> = keys.to_vec();
    path.push(entry.name.clone());
    let mut out = String::new();
    write_table(&mut out, &path, entry.value.as_object(), end);
    out
}

/// Writes a table: plain keys first, then nested tables.
fn write_table(out: &mut String, path: &[String], table: Option<&Map<String, Value>>, end: &str) {
    let path_text: Vec<String> = path.iter().map(|key| key_text(key)).collect();
    // Writing to a string cannot fail, here and below.
    let _ = write!(out, "[{}]{end}", path_text.join("."));
    let (tables, plain): (Vec<_>, Vec<_>) =
        table.into_iter().flat_map(in_reading_order).partition(|(_, value)| value.is_object());
    for (name, value) in plain.into_iter().filter(|(_, value)| !value.is_null()) {
        let _ = write!(out, "{} = {}{end}", key_text(name), value_text(value));
    }
    for (name, value) in tables {
        let mut deeper = path.to_vec();
        deeper.push(name.clone());
        out.push_str(end);
        write_table(out, &deeper, value.as_object(), end);
    }
}

fn key_text(key: &str) -> String {
    let bare = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    if !key.is_empty() && key.bytes().all(bare) { key.to_owned() } else { string(key) }
}

fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => string(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(value_text).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(members) => {
            let members: Vec<String> = members
                .iter()
                .map(|(name, value)| format!("{} = {}", key_text(name), value_text(value)))
                .collect();
            format!("{{ {} }}", members.join(", "))
        }
        other => other.to_string(),
    }
}

fn string(text: &str) -> String {
    toml::Value::from(text).to_string()
}
