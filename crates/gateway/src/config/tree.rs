//! Parses text to a tree: TOML with lines and columns, JSON with keys.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use weaver_policy::DocumentFinding;
use weaver_types::canonical::{self, Profile};

use super::error::file_finding;
use super::node::{Node, NodeValue, child_key, excerpt};

/// The deepest nesting of a configuration.
const MAX_DEPTH: usize = 16;

/// Reads TOML.
pub(super) fn toml(file: &str, text: &str) -> Result<Node, Box<DocumentFinding>> {
    let positions = LinePositions::new(text);
    let file: Arc<str> = Arc::from(file);
    match DeTable::parse(text) {
        Ok(root) => {
            let reader = Reader { file, positions };
            Ok(reader.table(root.get_ref(), None, String::new(), 0))
        }
        Err(error) => {
            let (line, column) = error.span().map(|span| positions.position(span.start)).unzip();
            let message = format!("not TOML: {}", excerpt(error.message()));
            let finding = file_finding(&file, "config.syntax", message, "correct the syntax here");
            Err(Box::new(DocumentFinding { line, column, ..finding }))
        }
    }
}

/// Parses JSON strictly, rejecting duplicate keys.
pub(super) fn json(file: &str, text: &str) -> Result<Node, Box<DocumentFinding>> {
    let value = canonical::parse(text.as_bytes(), Profile::Foreign).map_err(|error| {
        let message = format!("not JSON: {}", excerpt(&error.to_string()));
        Box::new(file_finding(file, "config.syntax", message, "correct the syntax here"))
    })?;
    Ok(from_json(&Arc::from(file), value, String::new(), 0))
}

fn from_json(file: &Arc<str>, value: Value, key: String, depth: usize) -> Node {
    let value = match value {
        _ if depth > MAX_DEPTH => NodeValue::Other("nested too deeply"),
        Value::Null => NodeValue::Other("null"),
        Value::Bool(flag) => NodeValue::Flag(flag),
        Value::String(text) => NodeValue::Text(text),
        Value::Number(number) => {
            number.as_i64().map_or(NodeValue::Other("a number"), NodeValue::Integer)
        }
        Value::Array(items) => {
            let item = |(index, item)| from_json(file, item, format!("{key}[{index}]"), depth + 1);
            NodeValue::List(items.into_iter().enumerate().map(item).collect())
        }
        Value::Object(entries) => {
            let entry = |(name, value): (String, Value)| {
                let node = from_json(file, value, child_key(&key, &name), depth + 1);
                (name, node)
            };
            NodeValue::Table(entries.into_iter().map(entry).collect())
        }
    };
    Node { file: Arc::clone(file), position: None, key, value }
}

struct Reader<'t> {
    file: Arc<str>,
    positions: LinePositions<'t>,
}

impl Reader<'_> {
    fn table(
        &self,
        table: &DeTable<'_>,
        position: Option<(usize, usize)>,
        key: String,
        depth: usize,
    ) -> Node {
        let mut entries = BTreeMap::new();
        for (name, value) in table {
            let position = self.positions.position(name.span().start);
            let path = child_key(&key, name.get_ref());
            entries
                .insert(name.get_ref().to_string(), self.value(value, position, path, depth + 1));
        }
        Node { file: Arc::clone(&self.file), position, key, value: NodeValue::Table(entries) }
    }

    fn value(
        &self,
        value: &Spanned<DeValue<'_>>,
        position: (usize, usize),
        key: String,
        depth: usize,
    ) -> Node {
        let value = match value.get_ref() {
            _ if depth > MAX_DEPTH => NodeValue::Other("nested too deeply"),
            DeValue::Table(table) => return self.table(table, Some(position), key, depth),
            DeValue::String(text) => NodeValue::Text(text.to_string()),
            DeValue::Boolean(flag) => NodeValue::Flag(*flag),
            DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
                .map_or(NodeValue::Other("a number out of range"), NodeValue::Integer),
            DeValue::Float(_) => NodeValue::Other("a number"),
            DeValue::Datetime(_) => NodeValue::Other("a date"),
            DeValue::Array(items) => {
                let item = |(index, item): (usize, &Spanned<DeValue<'_>>)| {
                    let position = self.positions.position(item.span().start);
                    self.value(item, position, format!("{key}[{index}]"), depth + 1)
                };
                NodeValue::List(items.iter().enumerate().map(item).collect())
            }
        };
        Node { file: Arc::clone(&self.file), position: Some(position), key, value }
    }
}

/// Converts byte offsets to lines and columns, both counted from 1.
struct LinePositions<'t> {
    text: &'t str,
    lines: Vec<usize>,
}

impl<'t> LinePositions<'t> {
    fn new(text: &'t str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(at, _)| at + 1);
        Self { text, lines: std::iter::once(0).chain(ends).collect() }
    }

    fn position(&self, offset: usize) -> (usize, usize) {
        let line = self.lines.partition_point(|start| *start <= offset).max(1);
        let start = self.lines.get(line - 1).copied().unwrap_or(0);
        let column = self.text.get(start..offset).map_or(0, |text| text.chars().count()) + 1;
        (line, column)
    }
}
