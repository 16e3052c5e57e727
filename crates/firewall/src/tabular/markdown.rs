//! Markdown tables (GitHub Flavored Markdown, section 4.10).

use serde_json::{Map, Value};

use super::csv::{MAX_COLUMNS, distinct_names, typed_cell};

/// The rows of a text that is one table.
pub(super) fn rows(text: &str) -> Option<Vec<Value>> {
    let mut lines = text.lines();
    let head = cells(lines.next()?)?;
    let rule = cells(lines.next()?)?;
    let is_rule = |cell: &String| {
        let inner = cell.trim_matches(':');
        !inner.is_empty() && inner.bytes().all(|b| b == b'-')
    };
    if rule.len() != head.len() || head.len() > MAX_COLUMNS || !rule.iter().all(is_rule) {
        return None;
    }
    let names = distinct_names(head.iter().map(String::as_str));
    let mut rows = Vec::new();
    for line in lines {
        let cells = cells(line)?;
        if cells.len() > head.len() {
            return None;
        }
        let named = names.iter().cloned().zip(cells.into_iter().map(|cell| typed_cell(&cell)));
        rows.push(Value::Object(named.collect::<Map<_, _>>()));
    }
    (!rows.is_empty()).then_some(rows)
}

/// The column names of a text that begins with a table.
pub(super) fn column_names(text: &str) -> Option<Vec<String>> {
    let head = cells(text.lines().next()?)?;
    Some(distinct_names(head.iter().map(String::as_str)))
}

/// The cells of a line; `\|` is a literal bar.
fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.trim().strip_prefix('|')?;
    let inner = inner.strip_suffix('|').unwrap_or(inner);
    let mut cells = vec![String::new()];
    let mut escaped = false;
    for c in inner.chars() {
        match c {
            '|' if !escaped => cells.push(String::new()),
            _ => {
                let cell = cells.last_mut()?;
                if escaped && c == '|' {
                    cell.pop();
                }
                cell.push(c);
            }
        }
        escaped = c == '\\' && !escaped;
    }
    Some(cells.into_iter().map(|cell| cell.trim().to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_table_has_a_head_a_rule_and_rows() {
        let row = |cell: &str| rows(&format!("| a | b |\n|---|:-:|\n| {cell} | x |\n"));
        for (cell, value) in [
            ("1", json!(1)),
            ("-2.5", json!(-2.5)),
            ("007", json!("007")),
            ("1.50", json!("1.50")),
            ("1e3", json!("1e3")),
            ("word", json!("word")),
            ("1234567890123456", json!("1234567890123456")),
            ("", json!("")),
            ("a\\|b", json!("a|b")),
            ("a\\\\", json!("a\\\\")),
        ] {
            assert_eq!(row(cell), Some(vec![json!({ "a": value, "b": "x" })]), "{cell}");
        }
        assert_eq!(rows("|a|b|\n|-|-|\n|1|"), Some(vec![json!({ "a": 1 })]));
        let same = rows("|a|a||\n|-|-|-|\n|1|2|3|");
        assert_eq!(same, Some(vec![json!({ "a": 1, "a_2": 2, "column_3": 3 })]));
        for other in [
            "",
            "| a |",
            "| a |\n|---|",
            "a\n|---|\n| 1 |",
            "| a |\n|---|---|\n| 1 |",
            "| a |\n| : |\n| 1 |",
            "| a |\n|-x-|\n| 1 |",
            "| a |\n|---|\n| 1 | 2 |",
            "| a |\n|---|\n| 1 |\nmore",
        ] {
            assert_eq!(rows(other), None, "{other}");
        }
        assert_eq!(column_names("| a | b c |\nmore"), Some(vec!["a".to_owned(), "b c".to_owned()]));
        assert_eq!(column_names("a | b"), None);
    }
}
