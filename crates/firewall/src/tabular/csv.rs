//! Tables in delimiter-separated text.

use std::collections::BTreeSet;

use serde_json::{Map, Number, Value};

use super::detect_delimiter;
use crate::error::HandleError;

/// The most rows that are read.
const MAX_ROWS: usize = 1_000_000;
/// The most columns, as many as a spreadsheet has. A text with more is no table.
pub(super) const MAX_COLUMNS: usize = 16_384;

/// All rows of a table; visibility is not considered.
pub(crate) fn rows(text: &str, delimiter: u8) -> Option<Vec<Value>> {
    let table = Table::read(text, delimiter).ok()?;
    let row = |row: &Vec<String>| {
        let cells = table.names.iter().cloned().zip(row.iter().map(|cell| typed_cell(cell)));
        Value::Object(cells.collect::<Map<_, _>>())
    };
    Some(table.rows.iter().map(row).collect())
}

/// The column names of a text that begins like a table.
pub(crate) fn column_names(text: &str) -> Option<Vec<String>> {
    let delimiter = detect_delimiter(text)?;
    let line = text.lines().next()?;
    let mut reader = csv::ReaderBuilder::new().delimiter(delimiter).from_reader(line.as_bytes());
    Some(distinct_names(reader.headers().ok()?.iter()))
}

/// The cells and column names of a table.
pub(crate) struct Table {
    pub(crate) names: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn read(text: &str, delimiter: u8) -> Result<Self, HandleError> {
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(delimiter)
            .flexible(true)
            .from_reader(text.as_bytes());
        let unreadable =
            |_| HandleError::Query { detail: "the content cannot be read as a table".to_owned() };
        let head = reader.headers().map_err(unreadable)?.clone();
        if head.len() > MAX_COLUMNS {
            return Err(too_many_columns());
        }
        let mut rows: Vec<Vec<String>> = Vec::new();
        for record in reader.records() {
            if rows.len() >= MAX_ROWS {
                let detail = format!("the table has more than {MAX_ROWS} rows");
                return Err(HandleError::Constraint { detail });
            }
            let record = record.map_err(unreadable)?;
            if record.len() > MAX_COLUMNS {
                return Err(too_many_columns());
            }
            rows.push(record.iter().map(str::to_owned).collect());
        }
        // Cells beyond the header get unnamed columns.
        let longest = rows.iter().map(Vec::len).max().unwrap_or_default();
        let nameless = std::iter::repeat_n("", longest.saturating_sub(head.len()));
        let names = distinct_names(head.iter().chain(nameless));
        Ok(Self { names, rows })
    }
}

fn too_many_columns() -> HandleError {
    let detail = format!("the table has more than {MAX_COLUMNS} columns");
    HandleError::Constraint { detail }
}

/// Makes column names non-empty and unique.
pub(super) fn distinct_names<'n>(names: impl Iterator<Item = &'n str>) -> Vec<String> {
    let mut known = BTreeSet::new();
    let mut out = Vec::new();
    for (at, name) in names.enumerate() {
        let name = name.trim();
        let mut unique =
            if name.is_empty() { format!("column_{}", at + 1) } else { name.to_owned() };
        while !known.insert(unique.clone()) {
            unique = format!("{unique}_{}", at + 1);
        }
        out.push(unique);
    }
    out
}

/// A cell as a value: a number if it is written as in JSON, with at most 15 digits.
pub(crate) fn typed_cell(cell: &str) -> Value {
    let may_be_number = cell.len() <= 20 && cell.bytes().filter(u8::is_ascii_digit).count() <= 15;
    let number = may_be_number.then(|| serde_json::from_str::<Number>(cell).ok()).flatten();
    // A number that would be written differently than it was read stays text.
    match number.filter(|number| number.to_string() == cell) {
        Some(number) => Value::Number(number),
        None => Value::String(cell.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_cell_is_a_number_where_it_is_written_as_one() {
        for (cell, value) in [
            ("1", json!(1)),
            ("-2.5", json!(-2.5)),
            ("0", json!(0)),
            ("007", json!("007")),
            ("1.50", json!("1.50")),
            ("+1", json!("+1")),
            (" 1", json!(" 1")),
            ("", json!("")),
            ("word", json!("word")),
            ("123456789012345", json!(123_456_789_012_345_u64)),
            ("1234567890123456", json!("1234567890123456")),
        ] {
            assert_eq!(typed_cell(cell), value, "{cell}");
        }
    }

    #[test]
    fn columns_have_names_of_their_own() {
        let names = |names: &[&str]| distinct_names(names.iter().copied()).join(" ");
        assert_eq!(names(&["a", " b ", ""]), "a b column_3");
        assert_eq!(names(&["a", "a", "a"]), "a a_2 a_3");
        assert_eq!(names(&["a_2", "a", "a"]), "a_2 a a_3");
        assert_eq!(names(&["a", "a_2", "a_2"]), "a a_2 a_2_3");
        assert_eq!(distinct_names(["x"; 300].into_iter()).len(), 300);
    }

    #[test]
    fn a_text_with_more_columns_than_a_spreadsheet_is_no_table() {
        let cells = |count: usize| vec!["x"; count].join(",");
        for (head, row, is_table) in [
            (MAX_COLUMNS, MAX_COLUMNS, true),
            (MAX_COLUMNS + 1, 1, false),
            (1, MAX_COLUMNS + 1, false),
        ] {
            let text = format!("{}\n{}\n", cells(head), cells(row));
            assert_eq!(Table::read(&text, b',').is_ok(), is_table, "{head} {row}");
        }
    }

    #[test]
    fn rows_are_named_by_the_head() {
        let read = rows("id,city\n1,\"Os, lo\"\n2\n3,Lyon,more\n", b',').unwrap();
        let expected = json!([
            { "id": 1, "city": "Os, lo" }, { "id": 2 },
            { "id": 3, "city": "Lyon", "column_3": "more" },
        ]);
        assert_eq!(json!(read), expected);
        assert_eq!(column_names("id;city\n1;a\n").unwrap(), ["id", "city"]);
        assert_eq!(column_names("some words"), None);
    }
}
