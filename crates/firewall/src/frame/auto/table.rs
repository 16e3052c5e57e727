//! Rows as one compact table: the names of the columns once, then a line a row, as CSV has it but
//! for nested values, which stand as JSON.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::part::{self, Excerpt, Part};
use crate::content::{Rows, ValueRenderer};
use crate::spec::Limits;

/// Rows that are looked at to tell a table from a tree.
const SAMPLE: usize = 50;
/// The longest nested value in a cell of a table, in bytes of JSON.
const MAX_NESTED: usize = 200;
/// The most columns; a row with more is shown with these.
const MAX_COLUMNS: usize = 256;

/// True for rows whose values are plain, or nearly so: a tree is no table.
pub(super) fn is_flat(rows: Rows<'_>) -> bool {
    let is_plain = |value: &Value| match value {
        Value::Array(items) => items.len() <= 8 && value.to_string().len() <= MAX_NESTED,
        Value::Object(_) => value.to_string().len() <= MAX_NESTED,
        _ => true,
    };
    let is_flat =
        |row: &Value| row.as_object().into_iter().flatten().all(|(_, value)| is_plain(value));
    rows.iter().take(SAMPLE).all(|row| is_flat(&row))
}

/// As many rows of a part as fit, and facts about all of them at the first look.
pub(super) fn excerpt(
    rows: Rows<'_>,
    part: &Part<'_>,
    limits: &Limits,
    renderer: &mut ValueRenderer<'_>,
) -> Excerpt {
    let after = rows.after(part.offset);
    let wanted = after.len().min(part.limit).min(limits.rows);
    let facts = if part.first { part::facts(rows, part, limits, renderer) } else { Vec::new() };
    let mut left = part.space.tokens;
    for fact in &facts {
        left = left.saturating_sub(part.space.size(fact, limits));
    }
    let ordered;
    let columns = if part.columns.is_empty() {
        ordered = in_order(part.order, rows, renderer);
        &ordered
    } else {
        part.columns
    };
    let mut table = Table::of(columns);
    let mut chars = part.space.chars;
    // Rows of which nothing may be seen are passed over, and count all the same.
    let mut passed = 0;
    for row in after.iter().take(wanted) {
        let Some(shown) = renderer.row(&row, 1) else {
            passed += 1;
            continue;
        };
        let line = table.line(&shown);
        let size = part.space.size(&line, limits).saturating_add(1);
        let length = line.chars().count() + 1;
        if size > left || length > chars {
            break;
        }
        left -= size;
        chars = chars.saturating_sub(if chars == usize::MAX { 0 } else { length });
        table.lines.push((line, table.columns.len()));
        passed += 1;
    }
    let mut text = table.text();
    if !facts.is_empty() {
        text = format!("{text}\n{}", facts.join("\n"));
    }
    let end = part.offset + passed;
    let missing = rows.len().saturating_sub(end);
    if passed == 0 && wanted > 0 {
        let note = format!(
            "Row {} is too large for one answer; ask for some `fields` of it.",
            part.offset
        );
        return Excerpt { text, note: Some(note), next: None };
    }
    if missing == 0 || wanted == part.limit && passed == wanted && !part.first {
        return Excerpt { text, note: None, next: None };
    }
    Excerpt {
        text,
        note: Some(format!(
            "Shown: rows {} to {} of {}.",
            part.offset,
            end.saturating_sub(1),
            rows.len()
        )),
        next: Some(part::rows_from(end)),
    }
}

/// Those of the names, in their order, that the first row has and that are shown as they are.
fn in_order(names: &[String], rows: Rows<'_>, renderer: &mut ValueRenderer<'_>) -> Vec<String> {
    let Some(row) = rows.get(0) else { return Vec::new() };
    let Some(first) = row.as_object() else { return Vec::new() };
    let shown =
        names.iter().filter(|name| first.contains_key(*name) && renderer.is_name_visible(name));
    shown.cloned().collect()
}

/// Lines of CSV under the columns seen so far.
#[derive(Default)]
struct Table {
    columns: Vec<String>,
    known: BTreeSet<String>,
    /// Each line, and how many cells it has.
    lines: Vec<(String, usize)>,
}

impl Table {
    fn of(columns: &[String]) -> Self {
        let known = columns.iter().cloned().collect();
        Self { columns: columns.to_vec(), known, lines: Vec::new() }
    }

    fn line(&mut self, row: &Map<String, Value>) -> String {
        for name in row.keys() {
            if self.columns.len() < MAX_COLUMNS && self.known.insert(name.clone()) {
                self.columns.push(name.clone());
            }
        }
        let cells = self.columns.iter().map(|name| row.get(name).map_or_else(String::new, cell));
        cells.collect::<Vec<_>>().join(",")
    }

    fn text(&self) -> String {
        let head: Vec<String> = self.columns.iter().map(|name| quoted(name)).collect();
        let mut text = head.join(",");
        for (line, cells) in &self.lines {
            text.push('\n');
            text.push_str(line);
            // Columns that begin later are empty here.
            text.extend(std::iter::repeat_n(',', self.columns.len().saturating_sub(*cells)));
        }
        text
    }
}

/// A value as a cell; null is an empty one, and an empty text is `""`.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) if text.is_empty() => "\"\"".to_owned(),
        Value::String(text) => quoted(text),
        // JSON stands as it is: quoting each of its quotes would double its size.
        other => other.to_string(),
    }
}

/// Quoted where RFC 4180 asks for it.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
