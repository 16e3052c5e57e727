//! From text to a tree: TOML with lines and columns, JSON with keys.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use weaver_policy::Finding;
use weaver_types::canonical::{self, Profile};

use super::error::whole;
use super::node::{Node, Shape, child, shown};

/// The deepest nesting of a configuration.
const MAX_DEPTH: usize = 16;

/// Reads TOML.
pub(super) fn toml(file: &str, text: &str) -> Result<Node, Box<Finding>> {
    let places = Places::new(text);
    let file: Arc<str> = Arc::from(file);
    match DeTable::parse(text) {
        Ok(root) => {
            let reader = Reader { file, places };
            Ok(reader.table(root.get_ref(), None, String::new(), 0))
        }
        Err(error) => {
            let (line, column) = error.span().map(|span| places.at(span.start)).unzip();
            let message = format!("not TOML: {}", shown(error.message()));
            let finding = whole(&file, "config.syntax", message, "correct the syntax here");
            Err(Box::new(Finding { line, column, ..finding }))
        }
    }
}

/// Reads JSON: strictly, with duplicate keys refused.
pub(super) fn json(file: &str, text: &str) -> Result<Node, Box<Finding>> {
    let value = canonical::parse(text.as_bytes(), Profile::Foreign).map_err(|error| {
        let message = format!("not JSON: {}", shown(&error.to_string()));
        Box::new(whole(file, "config.syntax", message, "correct the syntax here"))
    })?;
    Ok(from_json(&Arc::from(file), value, String::new(), 0))
}

fn from_json(file: &Arc<str>, value: Value, key: String, depth: usize) -> Node {
    let shape = match value {
        _ if depth > MAX_DEPTH => Shape::Other("nested too deeply"),
        Value::Null => Shape::Other("null"),
        Value::Bool(flag) => Shape::Flag(flag),
        Value::String(text) => Shape::Text(text),
        Value::Number(number) => number.as_i64().map_or(Shape::Other("a number"), Shape::Whole),
        Value::Array(items) => {
            let item = |(index, item)| from_json(file, item, format!("{key}[{index}]"), depth + 1);
            Shape::List(items.into_iter().enumerate().map(item).collect())
        }
        Value::Object(entries) => {
            let entry = |(name, value): (String, Value)| {
                let node = from_json(file, value, child(&key, &name), depth + 1);
                (name, node)
            };
            Shape::Table(entries.into_iter().map(entry).collect())
        }
    };
    Node { file: Arc::clone(file), place: None, key, shape }
}

struct Reader<'t> {
    file: Arc<str>,
    places: Places<'t>,
}

impl Reader<'_> {
    fn table(
        &self,
        table: &DeTable<'_>,
        place: Option<(usize, usize)>,
        key: String,
        depth: usize,
    ) -> Node {
        let mut entries = BTreeMap::new();
        for (name, value) in table {
            let at = self.places.at(name.span().start);
            let path = child(&key, name.get_ref());
            entries.insert(name.get_ref().to_string(), self.value(value, at, path, depth + 1));
        }
        Node { file: Arc::clone(&self.file), place, key, shape: Shape::Table(entries) }
    }

    fn value(
        &self,
        value: &Spanned<DeValue<'_>>,
        at: (usize, usize),
        key: String,
        depth: usize,
    ) -> Node {
        let shape = match value.get_ref() {
            _ if depth > MAX_DEPTH => Shape::Other("nested too deeply"),
            DeValue::Table(table) => return self.table(table, Some(at), key, depth),
            DeValue::String(text) => Shape::Text(text.to_string()),
            DeValue::Boolean(flag) => Shape::Flag(*flag),
            DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
                .map_or(Shape::Other("a number out of range"), Shape::Whole),
            DeValue::Float(_) => Shape::Other("a number"),
            DeValue::Datetime(_) => Shape::Other("a date"),
            DeValue::Array(items) => {
                let item = |(index, item): (usize, &Spanned<DeValue<'_>>)| {
                    let at = self.places.at(item.span().start);
                    self.value(item, at, format!("{key}[{index}]"), depth + 1)
                };
                Shape::List(items.iter().enumerate().map(item).collect())
            }
        };
        Node { file: Arc::clone(&self.file), place: Some(at), key, shape }
    }
}

/// Where lines begin, to turn offsets into lines and columns, both from 1.
struct Places<'t> {
    text: &'t str,
    lines: Vec<usize>,
}

impl<'t> Places<'t> {
    fn new(text: &'t str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(at, _)| at + 1);
        Self { text, lines: std::iter::once(0).chain(ends).collect() }
    }

    fn at(&self, offset: usize) -> (usize, usize) {
        let line = self.lines.partition_point(|start| *start <= offset).max(1);
        let start = self.lines.get(line - 1).copied().unwrap_or(0);
        let column = self.text.get(start..offset).map_or(0, |text| text.chars().count()) + 1;
        (line, column)
    }
}
