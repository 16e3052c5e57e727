//! Text that looks like rows: JSON lines, Python and SQL literals, Markdown tables, CSV.

pub(crate) mod csv;
mod literal;
mod markdown;
mod names;
mod text;

use serde_json::Value;

pub(crate) use names::in_order as names_in_order;
pub(crate) use text::{HEAD, delimiter, text_of};

/// The longest text that is read as rows, in bytes.
const MAX_TEXT: usize = 16 * 1024 * 1024;
/// The most rows.
const MAX_ROWS: usize = 1_000_000;

/// The rows of a text, where it is a table of a known form from its beginning to its end.
pub(crate) fn rows(text: &str) -> Option<Vec<Value>> {
    if text.len() > MAX_TEXT {
        return None;
    }
    let text = text.trim();
    match text.as_bytes().first()? {
        b'{' => json_lines(text).or_else(|| literal::rows(text)),
        b'[' | b'(' => literal::rows(text),
        b'|' => markdown::rows(text),
        b'I' | b'i' => literal::inserted(text).or_else(|| separated(text)),
        _ => separated(text),
    }
}

/// One JSON object a line.
fn json_lines(text: &str) -> Option<Vec<Value>> {
    let mut rows = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let value: Value = serde_json::from_str(line).ok()?;
        if !value.is_object() || rows.len() >= MAX_ROWS {
            return None;
        }
        rows.push(value);
    }
    (rows.len() > 1).then_some(rows)
}

fn separated(text: &str) -> Option<Vec<Value>> {
    csv::rows(text, delimiter(text)?)
}

/// Rows of values under made-up names of columns.
fn numbered(cells: Vec<Value>) -> Value {
    let named = cells.into_iter().enumerate();
    Value::Object(named.map(|(at, cell)| (format!("column_{}", at + 1), cell)).collect())
}
