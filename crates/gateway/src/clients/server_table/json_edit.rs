//! The table of servers as a JSON object.

use serde_json::Value;

use super::super::error::SyntaxFault;
use super::super::jsonc::{self, Member, Node};
use super::{LocatedEntry, NewEntry, TableChange, TextEdits, in_reading_order, line_end};

pub(super) fn entries(text: &str, keys: &[String]) -> Result<Vec<LocatedEntry>, SyntaxFault> {
    let root = jsonc::parse(text)?;
    let Some(table) = table(&root, keys)? else { return Ok(Vec::new()) };
    let members = table.members().unwrap_or_default().iter();
    let entries = members.map(|member| LocatedEntry {
        name: member.name.clone(),
        value: member.value.to_value(),
        offset: member.span.start,
        text: text.get(member.span.clone()).map(str::to_owned),
    });
    Ok(entries.collect())
}

/// The object at these keys; `None` if one of them is missing or null.
fn table<'n>(root: &'n Node, keys: &[String]) -> Result<Option<&'n Node>, SyntaxFault> {
    let mut level = root;
    for key in keys {
        let members = level.members().ok_or_else(|| no_object(level))?;
        match members.iter().find(|member| member.name == *key) {
            Some(member) => level = &member.value,
            None => return Ok(None),
        }
    }
    if matches!(&level.content, jsonc::NodeContent::Scalar(Value::Null)) {
        return Ok(None);
    }
    level.members().ok_or_else(|| no_object(level))?;
    Ok(Some(level))
}

fn no_object(node: &Node) -> SyntaxFault {
    SyntaxFault { offset: node.span.start, message: "this is not a JSON object".to_owned() }
}

pub(super) fn apply(text: &str, change: &TableChange<'_>) -> Result<String, SyntaxFault> {
    if text.trim_start_matches('\u{feff}').trim().is_empty() {
        return Ok(format!("{}\n", nested(change.keys, change.insert, &MemberLayout::standard())));
    }
    let root = jsonc::parse(text)?;
    let mut edits = TextEdits::default();
    match table(&root, change.keys)? {
        Some(table) => {
            let layout = MemberLayout::detect(text, table, &root);
            edit_table(text, table, change, &layout, &mut edits);
        }
        None if change.insert.is_empty() => {}
        None => add_table(text, &root, change, &mut edits)?,
    }
    Ok(edits.apply(text))
}

/// The layout of an object's members.
#[derive(Debug, Clone)]
struct MemberLayout {
    /// What stands before each member: a line end and blanks, or one blank.
    before: String,
    /// The text before the closing brace.
    closing: String,
    /// The indentation of one level; `None` if everything is on one line.
    indent_unit: Option<String>,
}

impl MemberLayout {
    fn standard() -> Self {
        let indent_unit = Some("  ".to_owned());
        Self { before: "\n  ".to_owned(), closing: "\n".to_owned(), indent_unit }
    }

    /// The layout of this object's members, or the one they would have next to those of the root.
    fn detect(text: &str, object: &Node, root: &Node) -> Self {
        let line_end = line_end(text);
        let first = |node: &Node| {
            let member = node.members()?.first()?;
            let before = text.get(node.span.start + 1..member.span.start)?;
            before.contains('\n').then(|| indent_of(text, member.span.start))
        };
        let brace = |node: &Node| indent_of(text, node.span.start);
        let indent_unit =
            first(root).map(|inner| inner.get(brace(root).len()..).unwrap_or("  ").to_owned());
        let many_lines = text.trim_end().contains('\n');
        let indent_unit = indent_unit
            .filter(|indent_unit| !indent_unit.is_empty())
            .or(many_lines.then(|| "  ".to_owned()));
        let single = object.members().is_some_and(|all| !all.is_empty()) && first(object).is_none();
        let (Some(indent_unit), false) = (indent_unit, single) else {
            return Self { before: " ".to_owned(), closing: " ".to_owned(), indent_unit: None };
        };
        let outer = brace(object);
        let inner = first(object).unwrap_or_else(|| format!("{outer}{indent_unit}"));
        Self {
            before: format!("{line_end}{inner}"),
            closing: format!("{line_end}{outer}"),
            indent_unit: Some(indent_unit),
        }
    }

    /// The layout of nested objects.
    fn indented(&self) -> Self {
        let Some(indent_unit) = &self.indent_unit else { return self.clone() };
        Self {
            before: format!("{}{indent_unit}", self.before),
            closing: self.before.clone(),
            indent_unit: self.indent_unit.clone(),
        }
    }
}

/// The indentation of the line that contains this offset.
fn indent_of(text: &str, at: usize) -> String {
    let before = text.get(..at).unwrap_or_default();
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    let line = before.get(start..).unwrap_or_default();
    line.chars().take_while(|c| matches!(c, ' ' | '\t')).collect()
}

fn edit_table(
    text: &str,
    table: &Node,
    change: &TableChange<'_>,
    layout: &MemberLayout,
    edits: &mut TextEdits,
) {
    let members = table.members().unwrap_or_default();
    let is_removed = |member: &Member| change.remove.contains(&member.name);
    let texts: Vec<String> = change.insert.iter().map(|entry| member_text(entry, layout)).collect();
    let joined = texts.join(&format!(",{}", layout.before));
    let index = members.iter().position(is_removed);
    let Some(index) = index.filter(|_| !joined.is_empty()) else {
        // No removed member to replace: insert after the last one.
        if !joined.is_empty() {
            insert_last(text, table, &joined, layout, edits);
        }
        remove(text, table, &|at| members.get(at).is_some_and(is_removed), edits);
        return;
    };
    if let Some(first) = members.get(index) {
        edits.replace(first.span.clone(), joined);
    }
    remove(text, table, &|at| at != index && members.get(at).is_some_and(is_removed), edits);
}

/// Removes members, each with its comma and, if it has a line of its own, with its line.
fn remove(text: &str, table: &Node, is_removed: &dyn Fn(usize) -> bool, edits: &mut TextEdits) {
    let members = table.members().unwrap_or_default();
    let last_kept = (0..members.len()).rev().find(|at| !is_removed(*at));
    for (at, member) in members.iter().enumerate().filter(|(at, _)| is_removed(*at)) {
        let floor = at.checked_sub(1).and_then(|at| members.get(at));
        let floor =
            floor.map_or(table.span.start + 1, |one| one.comma.map_or(one.span.end, |at| at + 1));
        let before = text.get(floor..member.span.start).unwrap_or_default();
        let blank = before.len() - before.trim_end_matches([' ', '\t', '\r', '\n']).len();
        let blanks = before.get(before.len() - blank..).unwrap_or_default();
        let end = member.comma.map_or(member.span.end, |at| at + 1);
        let rest = text.get(end..).unwrap_or_default();
        let alone = rest.split(['\n', '\r']).next().is_none_or(|line| line.trim().is_empty());
        // Remove from the end of the previous line if nothing else is on this line; otherwise the
        // rest of the line could become part of a comment above.
        let start = match blanks.rfind('\n') {
            Some(newline) if alone => {
                let newline = member.span.start - blank + newline;
                newline - usize::from(text.get(..newline).is_some_and(|text| text.ends_with('\r')))
            }
            Some(_) => member.span.start,
            None => member.span.start - blank,
        };
        edits.replace(start..end, "");
    }
    // The new last member has a comma, although the old last one had none.
    let trailing = members.last().is_some_and(|member| member.comma.is_some());
    let shortened = last_kept.is_some_and(|at| at + 1 < members.len());
    if let Some(comma) =
        last_kept.and_then(|at| members.get(at)?.comma).filter(|_| shortened && !trailing)
    {
        edits.replace(comma..comma + 1, "");
    }
}

fn insert_last(
    text: &str,
    object: &Node,
    joined: &str,
    layout: &MemberLayout,
    edits: &mut TextEdits,
) {
    let before = &layout.before;
    match object.members().and_then(<[Member]>::last) {
        Some(Member { comma: Some(comma), .. }) => {
            edits.replace(comma + 1..comma + 1, format!("{before}{joined},"));
        }
        Some(member) => {
            edits.replace(member.span.end..member.span.end, format!(",{before}{joined}"));
        }
        None => {
            let inside = object.span.start + 1..object.span.end.saturating_sub(1);
            let blank = text.get(inside.clone()).is_none_or(|inner| inner.trim().is_empty());
            if blank {
                edits.replace(inside, format!("{before}{joined}{}", layout.closing));
            } else {
                // Comments in the object stay, after the new member.
                edits.replace(inside.start..inside.start, format!("{before}{joined}"));
            }
        }
    }
}

/// Adds the table to the deepest existing object on its path.
fn add_table(
    text: &str,
    root: &Node,
    change: &TableChange<'_>,
    edits: &mut TextEdits,
) -> Result<(), SyntaxFault> {
    let mut level = root;
    let mut keys = change.keys;
    while let Some((key, rest)) = keys.split_first() {
        let members = level.members().ok_or_else(|| no_object(level))?;
        let Some(member) = members.iter().find(|member| member.name == *key) else { break };
        if matches!(&member.value.content, jsonc::NodeContent::Scalar(Value::Null)) {
            let layout = MemberLayout::detect(text, level, root);
            edits.replace(
                member.value.span.clone(),
                nested(rest, change.insert, &layout.indented()),
            );
            return Ok(());
        }
        level = &member.value;
        keys = rest;
    }
    level.members().ok_or_else(|| no_object(level))?;
    let Some((key, rest)) = keys.split_first() else { return Ok(()) };
    let layout = MemberLayout::detect(text, level, root);
    let member = format!(
        "{}: {}",
        Value::from(key.as_str()),
        nested(rest, change.insert, &layout.indented())
    );
    insert_last(text, level, &member, &layout, edits);
    Ok(())
}

/// The entries inside objects with these names.
fn nested(keys: &[String], insert: &[NewEntry], layout: &MemberLayout) -> String {
    let inner = match keys.split_first() {
        Some((key, rest)) => {
            format!("{}: {}", Value::from(key.as_str()), nested(rest, insert, &layout.indented()))
        }
        None => {
            let texts = insert.iter().map(|entry| member_text(entry, layout));
            texts.collect::<Vec<_>>().join(&format!(",{}", layout.before))
        }
    };
    format!("{{{}{inner}{}}}", layout.before, layout.closing)
}

fn member_text(entry: &NewEntry, layout: &MemberLayout) -> String {
    if let Some(text) = &entry.text {
        return text.clone();
    }
    let name = Value::from(entry.name.as_str());
    format!("{name}: {}", value_text(&entry.value, &layout.indented()))
}

/// A value in the file's indentation; lists on one line, as arguments are usually written.
fn value_text(value: &Value, layout: &MemberLayout) -> String {
    match value {
        Value::Object(members) if !members.is_empty() => {
            let member = |(name, value): (&String, &Value)| {
                let name = Value::from(name.as_str());
                format!("{name}: {}", value_text(value, &layout.indented()))
            };
            let members: Vec<String> = in_reading_order(members).map(member).collect();
            let joined = members.join(&format!(",{}", layout.before));
            format!("{{{}{joined}{}}}", layout.before, layout.closing)
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| value_text(item, layout)).collect();
            format!("[{}]", items.join(", "))
        }
        other => other.to_string(),
    }
}
