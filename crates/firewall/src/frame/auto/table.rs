//! Rows as a compact table: column names once, then one CSV line per row; nested values stay JSON.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::RenderBudget;
use super::excerpt_request::{self, Continuation, Excerpt, ExcerptRequest};
use crate::content::{Rows, ValueRenderer};
use crate::spec::EffectiveLimits;

/// Rows that are inspected to tell a table from a tree.
const SAMPLE_ROWS: usize = 50;
/// The longest nested value that fits into a cell, in bytes of JSON.
const MAX_NESTED_BYTES: usize = 200;
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

/// As many rows as fit, and on the first page facts about all of them. `None` if not even the first
/// one fits.
pub(super) fn excerpt(
    rows: Rows<'_>,
    request: &ExcerptRequest<'_>,
    limits: &EffectiveLimits,
    renderer: &mut ValueRenderer<'_>,
) -> Option<Excerpt> {
    let after = rows.skip(request.offset);
    let wanted = after.len().min(request.limit.unwrap_or(usize::MAX)).min(limits.rows);
    let facts = if request.is_first_page {
        excerpt_request::facts(rows, request, limits, renderer)
    } else {
        Vec::new()
    };
    let mut left = request.budget.tokens;
    for fact in &facts {
        left = left.saturating_sub(request.budget.token_count(fact, limits).saturating_add(1));
    }
    let ordered;
    let columns = if request.columns.is_empty() {
        ordered = visible_columns_in_order(request.column_order, rows, renderer);
        &ordered
    } else {
        request.columns
    };
    let budget = RenderBudget { tokens: left, ..request.budget };
    let mut table = Table::with_columns(columns, request.separator);
    let mut chars = request.budget.chars;
    // Rows of which nothing may be seen are skipped, but still count.
    let mut consumed = 0;
    for row in after.iter().take(wanted) {
        let Some(shown) = renderer.row(&row, 1) else {
            consumed += 1;
            continue;
        };
        let Some(length) = table.push_fitting(&shown, chars, budget, limits) else { break };
        chars = chars.saturating_sub(if chars == usize::MAX { 0 } else { length });
        consumed += 1;
    }
    if consumed == 0 && wanted > 0 {
        return None;
    }
    let mut text = table.to_text();
    if !facts.is_empty() {
        text = format!("{text}\n{}", facts.join("\n"));
    }
    let end = request.offset + consumed;
    let is_all = end >= rows.len() || request.limit.is_some_and(|limit| consumed >= limit);
    // Where a rule allows no row at all, no page would ever advance.
    if is_all || consumed == 0 {
        return Some(Excerpt::whole(text));
    }
    let note =
        format!("Shown: rows {} to {} of {}.", request.offset, end.saturating_sub(1), rows.len());
    let rest = Some(Continuation::Rows { offset: end, char_offset: 0 });
    Some(Excerpt { text, note: Some(note), rest })
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

/// Lines of delimited text under the columns seen so far.
#[derive(Default)]
struct Table {
    /// What stands between two cells.
    separator: char,
    columns: Vec<String>,
    seen: BTreeSet<String>,
    /// Each line with its number of cells.
    lines: Vec<(String, usize)>,
    /// Tokens of the lines, with their line ends.
    line_tokens: usize,
    /// Tokens of the column names.
    head_tokens: usize,
    /// Tokens of the separators that pad lines with fewer cells.
    padding_tokens: usize,
}

impl Table {
    fn with_columns(columns: &[String], separator: char) -> Self {
        let seen = columns.iter().cloned().collect();
        Self { separator, columns: columns.to_vec(), seen, ..Self::default() }
    }

    /// Adds a row if the whole table still fits, and at most `chars` characters are new beside the
    /// column names; the characters of its line.
    fn push_fitting(
        &mut self,
        row: &Map<String, Value>,
        chars: usize,
        budget: RenderBudget,
        limits: &EffectiveLimits,
    ) -> Option<usize> {
        let new: Vec<&String> = row.keys().filter(|name| !self.seen.contains(*name)).collect();
        let columns = self.columns.iter().chain(new.iter().copied());
        let (separator, between) = (self.separator, self.separator.to_string());
        let cell = |name| row.get(name).map_or_else(String::new, |value| cell(value, separator));
        let line = columns.clone().map(cell).collect::<Vec<_>>().join(&between);
        let (mut head_tokens, mut padding_tokens) = (self.head_tokens, self.padding_tokens);
        if !new.is_empty() || self.lines.is_empty() {
            let names: Vec<String> = columns.map(|name| quoted(name, separator)).collect();
            head_tokens = budget.token_count(&names.join(&between), limits).saturating_add(1);
            let padding = budget.token_count(&between.repeat(new.len()), limits);
            let padding = padding.saturating_mul(self.lines.len());
            padding_tokens = padding_tokens.saturating_add(padding);
        }
        let line_tokens = budget.token_count(&line, limits).saturating_add(1);
        let line_tokens = self.line_tokens.saturating_add(line_tokens);
        let length = line.chars().count() + 1;
        let tokens = head_tokens.saturating_add(padding_tokens).saturating_add(line_tokens);
        if tokens > budget.tokens || length > chars {
            return None;
        }
        let new: Vec<String> = new.into_iter().cloned().collect();
        self.seen.extend(new.iter().cloned());
        self.columns.extend(new);
        (self.head_tokens, self.padding_tokens) = (head_tokens, padding_tokens);
        self.line_tokens = line_tokens;
        self.lines.push((line, self.columns.len()));
        Some(length)
    }

    fn to_text(&self) -> String {
        let separator = self.separator;
        let head: Vec<String> = self.columns.iter().map(|name| quoted(name, separator)).collect();
        let mut text = head.join(&separator.to_string());
        for (line, cells) in &self.lines {
            text.push('\n');
            text.push_str(line);
            // Pad rows that came before a column first appeared.
            text.extend(std::iter::repeat_n(separator, self.columns.len().saturating_sub(*cells)));
        }
        text
    }
}

/// A value as a cell; null is empty, and an empty text is `""`.
fn cell(value: &Value, separator: char) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) if text.is_empty() => "\"\"".to_owned(),
        Value::String(text) => quoted(text, separator),
        // JSON is not quoted: escaping all its quotes would double its size.
        other => other.to_string(),
    }
}

/// Quotes the text if RFC 4180 requires it, with this separator.
fn quoted(text: &str, separator: char) -> String {
    if text.contains([separator, '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
