//! Parses text in tabular formats: JSON lines, Python and SQL literals, Markdown tables, CSV.

mod column_order;
pub(crate) mod csv;
mod literal;
mod markdown;
mod text;

use serde_json::Value;
use weaver_types::RawContent;

pub(crate) use column_order::column_names_in_order as names_in_order;
pub(crate) use text::{HEAD_BYTES, detect_delimiter, printable_text};

/// The longest text that is parsed, in bytes.
const MAX_TEXT: usize = 16 * 1024 * 1024;
/// The most rows.
const MAX_ROWS: usize = 1_000_000;

/// The rows of a text that is a table of a known format from beginning to end.
pub(crate) fn rows(text: &str) -> Option<Vec<Value>> {
    if text.len() > MAX_TEXT {
        return None;
    }
    let text = text.trim();
    match text.as_bytes().first()? {
        b'{' => json_lines(text).or_else(|| literal::rows(text)),
        b'[' | b'(' => literal::rows(text),
        b'|' => markdown::rows(text),
        b'I' | b'i' => literal::insert_rows(text).or_else(|| separated_rows(text)),
        _ => separated_rows(text),
    }
}

/// The rows of a text that an excerpt may show as a table: delimited ones, and lists that a program
/// printed. JSON lines, Markdown and SQL statements are mostly files, whose text a model may want
/// to quote, so an excerpt shows their lines.
pub(crate) fn rows_of_data(text: &str) -> Option<Vec<Value>> {
    if text.len() > MAX_TEXT {
        return None;
    }
    let text = text.trim();
    match text.as_bytes().first()? {
        b'|' => None,
        b'{' | b'[' | b'(' => literal::rows(text),
        _ => separated_rows(text),
    }
}

/// One JSON object per line.
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

/// What stands between the cells where a text is shown as a table: the tab of a text that has tabs,
/// else a comma.
pub(crate) fn separator(text: &str) -> char {
    match detect_delimiter(text) {
        Some(b'\t') => '\t',
        _ => ',',
    }
}

/// The same for a stored result.
pub(crate) fn separator_of(content: &RawContent) -> char {
    match content {
        RawContent::Text(text) | RawContent::Json(Value::String(text)) => separator(text),
        RawContent::Binary { bytes, .. } => printable_text(bytes).map_or(',', separator),
        RawContent::Json(_) | RawContent::Rows(_) => ',',
    }
}

fn separated_rows(text: &str) -> Option<Vec<Value>> {
    csv::rows(text, detect_delimiter(text)?)
}

/// A row of cells under generated column names.
fn numbered_columns(cells: Vec<Value>) -> Value {
    let named = cells.into_iter().enumerate();
    Value::Object(named.map(|(at, cell)| (format!("column_{}", at + 1), cell)).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_a_line_are_rows_where_there_are_two_and_nothing_else() {
        let two = Some(vec![json!({ "a": 1 }), json!({ "a": 2 })]);
        assert_eq!(rows("{\"a\": 1}\n\n{\"a\": 2}\n"), two);
        for other in ["{\"a\": 1}", "{\"a\": 1}\n[2]", "{\"a\": 1}\n2", "{\"a\": 1}\nand more"] {
            assert_eq!(rows(other), None, "{other}");
        }
    }

    #[test]
    fn what_a_model_may_quote_is_no_table_in_an_excerpt() {
        for file in ["{\"a\": 1}\n{\"a\": 2}", "| a |\n|---|\n| 1 |", "INSERT INTO t VALUES (1);"] {
            assert_eq!(rows_of_data(file), None, "{file}");
        }
        for data in ["a,b\n1,2\n3,4", "[(1, 'a'), (2, 'b')]"] {
            assert_eq!(rows_of_data(data), rows(data), "{data}");
            assert!(rows(data).is_some(), "{data}");
        }
    }

    #[test]
    fn a_text_of_sixteen_megabytes_is_read_as_rows_and_no_longer_one() {
        let text = "a,b\n1,2\n3,4";
        let table = |bytes: usize| format!("{text}{}", " ".repeat(bytes - text.len()));
        assert_eq!(rows(&table(MAX_TEXT)).map(|rows| rows.len()), Some(2));
        assert_eq!(rows(&table(MAX_TEXT + 1)), None);
    }
}
