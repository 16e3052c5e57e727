//! Rows as a compact table: column names once, then one CSV line per row; nested values stay JSON.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::excerpt_request::{self, Excerpt, ExcerptRequest};
use crate::content::{Rows, ValueRenderer};
use crate::spec::EffectiveLimits;

/// Rows that are inspected to tell a table from a tree.
const SAMPLE_ROWS: usize = 50;
/// The longest nested value that fits into a cell, in bytes of JSON.
const MAX_NESTED_BYTES: usize = 200;
/// The most columns; further columns of a row are not shown.
const MAX_COLUMNS: usize = 256;

/// True for rows whose values are scalars or small: anything deeper is a tree, not a table.
pub(super) fn is_flat(rows: Rows<'_>) -> bool {
    let is_plain = |value: &Value| match value {
        Value::Array(items) => items.len() <= 8 && value.to_string().len() <= MAX_NESTED_BYTES,
        Value::Object(_) => value.to_string().len() <= MAX_NESTED_BYTES,
        _ => true,
    };
    let is_flat =
        |row: &Value| row.as_object().into_iter().flatten().all(|(_, value)| is_plain(value));
    rows.iter().take(SAMPLE_ROWS).all(|row| is_flat(&row))
}

/// As many rows as fit, and on the first page facts about all of them.
pub(super) fn excerpt(
    rows: Rows<'_>,
    request: &ExcerptRequest<'_>,
    limits: &EffectiveLimits,
    renderer: &mut ValueRenderer<'_>,
) -> Excerpt {
    let after = rows.skip(request.offset);
    let wanted = after.len().min(request.limit).min(limits.rows);
    let facts = if request.is_first_page {
        excerpt_request::facts(rows, request, limits, renderer)
    } else {
        Vec::new()
    };
    let mut left = request.budget.tokens;
    for fact in &facts {
        left = left.saturating_sub(request.budget.token_count(fact, limits));
    }
    let ordered;
    let columns = if request.columns.is_empty() {
        ordered = visible_columns_in_order(request.column_order, rows, renderer);
        &ordered
    } else {
        request.columns
    };
    let mut table = Table::with_columns(columns);
    let mut chars = request.budget.chars;
    // Rows of which nothing may be seen are skipped, but still count.
    let mut consumed = 0;
    for row in after.iter().take(wanted) {
        let Some(shown) = renderer.row(&row, 1) else {
            consumed += 1;
            continue;
        };
        let line = table.csv_line(&shown);
        let size = request.budget.token_count(&line, limits).saturating_add(1);
        let length = line.chars().count() + 1;
        if size > left || length > chars {
            break;
        }
        left -= size;
        chars = chars.saturating_sub(if chars == usize::MAX { 0 } else { length });
        table.lines.push((line, table.columns.len()));
        consumed += 1;
    }
    let mut text = table.to_csv();
    if !facts.is_empty() {
        text = format!("{text}\n{}", facts.join("\n"));
    }
    let end = request.offset + consumed;
    let missing = rows.len().saturating_sub(end);
    if consumed == 0 && wanted > 0 {
        let note = format!(
            "Row {} is too large for one answer; ask for some `fields` of it.",
            request.offset
        );
        return Excerpt { text, note: Some(note), next: None };
    }
    if missing == 0 || wanted == request.limit && consumed == wanted && !request.is_first_page {
        return Excerpt { text, note: None, next: None };
    }
    Excerpt {
        text,
        note: Some(format!(
            "Shown: rows {} to {} of {}.",
            request.offset,
            end.saturating_sub(1),
            rows.len()
        )),
        next: Some(excerpt_request::next_rows_query(end)),
    }
}

/// Those of the names that the first row has and that are shown unchanged, in order.
fn visible_columns_in_order(
    names: &[String],
    rows: Rows<'_>,
    renderer: &mut ValueRenderer<'_>,
) -> Vec<String> {
    let Some(row) = rows.get(0) else { return Vec::new() };
    let Some(first) = row.as_object() else { return Vec::new() };
    let shown =
        names.iter().filter(|name| first.contains_key(*name) && renderer.is_name_visible(name));
    shown.cloned().collect()
}

/// CSV lines under the columns seen so far.
#[derive(Default)]
struct Table {
    columns: Vec<String>,
    seen: BTreeSet<String>,
    /// Each line with its number of cells.
    lines: Vec<(String, usize)>,
}

impl Table {
    fn with_columns(columns: &[String]) -> Self {
        let seen = columns.iter().cloned().collect();
        Self { columns: columns.to_vec(), seen, lines: Vec::new() }
    }

    fn csv_line(&mut self, row: &Map<String, Value>) -> String {
        for name in row.keys() {
            if self.columns.len() < MAX_COLUMNS && self.seen.insert(name.clone()) {
                self.columns.push(name.clone());
            }
        }
        let cells =
            self.columns.iter().map(|name| row.get(name).map_or_else(String::new, csv_cell));
        cells.collect::<Vec<_>>().join(",")
    }

    fn to_csv(&self) -> String {
        let head: Vec<String> = self.columns.iter().map(|name| csv_quoted(name)).collect();
        let mut text = head.join(",");
        for (line, cells) in &self.lines {
            text.push('\n');
            text.push_str(line);
            // Pad rows that came before a column first appeared.
            text.extend(std::iter::repeat_n(',', self.columns.len().saturating_sub(*cells)));
        }
        text
    }
}

/// A value as a cell; null is empty, and an empty text is `""`.
fn csv_cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) if text.is_empty() => "\"\"".to_owned(),
        Value::String(text) => csv_quoted(text),
        // JSON is not quoted: escaping all its quotes would double its size.
        other => other.to_string(),
    }
}

/// Quotes the text if RFC 4180 requires it.
fn csv_quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
