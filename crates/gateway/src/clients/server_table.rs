//! The table of servers in a client's file: parsing, and editing by spans.

mod json_edit;
mod toml_edit;
mod yaml_edit;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::error::SyntaxFault;
use super::{jsonc, toml_text, yaml_text};

/// The syntax of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Syntax {
    /// JSON, with comments and trailing commas.
    Json,
    Toml,
    Yaml,
}

/// An entry to be written to the table.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NewEntry {
    pub(super) name: String,
    pub(super) value: Value,
    /// Its text in its former file of this syntax; without one it is generated from the value.
    pub(super) text: Option<String>,
}

/// A change of the table: some entries are removed, others inserted in place of the first removed
/// one.
#[derive(Debug)]
pub(super) struct TableChange<'a> {
    /// The keys from the root to the table.
    pub(super) keys: &'a [String],
    pub(super) remove: &'a [String],
    pub(super) insert: &'a [NewEntry],
}

/// Parses the whole file. An empty file is an empty table.
pub(super) fn parse(syntax: Syntax, text: &str) -> Result<Value, SyntaxFault> {
    if text.trim_start_matches('\u{feff}').trim().is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    match syntax {
        Syntax::Json => jsonc::parse(text).map(|node| node.to_value()),
        Syntax::Toml => toml_text::parse(text),
        Syntax::Yaml => yaml_text::parse(text),
    }
}

/// The entries with their offsets and texts, in file order.
pub(super) fn entries(
    syntax: Syntax,
    text: &str,
    keys: &[String],
) -> Result<Vec<LocatedEntry>, SyntaxFault> {
    if text.trim_start_matches('\u{feff}').trim().is_empty() {
        return Ok(Vec::new());
    }
    match syntax {
        Syntax::Json => json_edit::entries(text, keys),
        Syntax::Toml => toml_edit::entries(text, keys),
        Syntax::Yaml => yaml_edit::entries(text, keys),
    }
}

/// An entry of the table and its offset.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LocatedEntry {
    pub(super) name: String,
    pub(super) value: Value,
    pub(super) offset: usize,
    /// Its text in the file, if it can be moved to another place.
    pub(super) text: Option<String>,
}

impl From<LocatedEntry> for NewEntry {
    fn from(entry: LocatedEntry) -> Self {
        Self { name: entry.name, value: entry.value, text: entry.text }
    }
}

/// Applies a change, and verifies that nothing else has changed.
pub(super) fn apply(
    syntax: Syntax,
    text: &str,
    change: &TableChange<'_>,
) -> Result<String, SyntaxFault> {
    let before = parse(syntax, text)?;
    let edited = match syntax {
        Syntax::Json => json_edit::apply(text, change)?,
        Syntax::Toml => toml_edit::apply(text, change)?,
        Syntax::Yaml => yaml_edit::apply(text, change)?,
    };
    let wanted = changed_tree(before, change).ok_or_else(|| SyntaxFault {
        offset: 0,
        message: "the servers are not a table".to_owned(),
    })?;
    match parse(syntax, &edited) {
        Ok(found) if without_empty(&found, change.keys) == without_empty(&wanted, change.keys) => {
            Ok(edited)
        }
        _ => Err(SyntaxFault {
            offset: 0,
            message: "the servers are written in a form that cannot be edited safely".to_owned(),
        }),
    }
}

/// A TOML text without these servers, and without the comments directly above their headers; `None`
/// if they cannot be taken out without changing anything else.
pub(crate) fn without_toml_servers(
    text: &str,
    keys: &[String],
    names: &[String],
) -> Option<String> {
    let mut edits = TextEdits::default();
    for header in toml_text::statements(text).ok()?.iter().filter(|one| one.is_header) {
        let name = header.path.strip_prefix(keys).and_then(<[String]>::first);
        if name.is_some_and(|name| names.contains(name)) {
            let above = text.get(..header.span.start).unwrap_or_default();
            let comments = above.split_inclusive('\n').rev();
            let comments = comments.take_while(|line| line.trim_start().starts_with('#'));
            let length: usize = comments.map(str::len).sum();
            edits.replace(header.span.start.saturating_sub(length)..header.span.start, "");
        }
    }
    let change = TableChange { keys, remove: names, insert: &[] };
    apply(Syntax::Toml, &edits.apply(text), &change).ok()
}

/// The expected tree after the change.
fn changed_tree(mut tree: Value, change: &TableChange<'_>) -> Option<Value> {
    let mut level = &mut tree;
    for key in change.keys {
        if level.is_null() {
            *level = Value::Object(Map::new());
        }
        level =
            level.as_object_mut()?.entry(key.clone()).or_insert_with(|| Value::Object(Map::new()));
    }
    if level.is_null() {
        *level = Value::Object(Map::new());
    }
    let table = level.as_object_mut()?;
    for name in change.remove {
        table.remove(name);
    }
    for entry in change.insert {
        table.insert(entry.name.clone(), entry.value.clone());
    }
    Some(tree)
}

/// The tree without an empty or null table of servers, which is equivalent to none.
fn without_empty(tree: &Value, keys: &[String]) -> Value {
    let Some((key, rest)) = keys.split_first() else { return tree.clone() };
    let mut tree = tree.clone();
    let Some(table) = tree.as_object_mut() else { return tree };
    let inner = table.get(key).map(|inner| without_empty(inner, rest));
    match inner {
        Some(Value::Object(inner)) if inner.is_empty() => drop(table.remove(key)),
        Some(Value::Null) | None => drop(table.remove(key)),
        Some(inner) => drop(table.insert(key.clone(), inner)),
    }
    tree
}

/// The line end that a text uses.
pub(super) fn line_end(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// The members of an entry in customary order: the command before its arguments.
fn in_reading_order(members: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    const FIRST: [&str; 7] = ["source", "enabled", "type", "name", "cmd", "command", "args"];
    let rank = |name: &str| FIRST.iter().position(|first| *first == name).unwrap_or(FIRST.len());
    let mut members: Vec<_> = members.iter().collect();
    members.sort_by_key(|(name, _)| rank(name));
    members.into_iter()
}

/// The value at these keys.
pub(super) fn at_keys<'v>(tree: &'v Value, keys: &[String]) -> Option<&'v Value> {
    keys.iter().try_fold(tree, |level, key| level.get(key))
}

/// Replacements of non-overlapping spans of a text.
#[derive(Debug, Default)]
struct TextEdits(Vec<(std::ops::Range<usize>, String)>);

impl TextEdits {
    fn replace(&mut self, span: std::ops::Range<usize>, text: impl Into<String>) {
        self.0.push((span, text.into()));
    }

    fn apply(mut self, text: &str) -> String {
        self.0.sort_by_key(|(span, _)| (span.start, span.end));
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for (span, new) in self.0 {
            out.push_str(text.get(at..span.start).unwrap_or_default());
            out.push_str(&new);
            at = at.max(span.end);
        }
        out.push_str(text.get(at..).unwrap_or_default());
        out
    }
}

#[cfg(test)]
mod tests;
