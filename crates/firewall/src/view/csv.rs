//! Views of tables in text: rows with the names of their columns.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::{Map, Number, Value, json};

use super::args::Args;
use super::registry::ViewResult;
use crate::error::HandleError;
use crate::frame::{Content, ValueRenderer};
use crate::query::{ViewRequest, wrong};

/// The names of the views.
pub(super) const NAMES: &[Cow<'static, str>] = &[
    Cow::Borrowed("columns"),
    Cow::Borrowed("head"),
    Cow::Borrowed("rows"),
    Cow::Borrowed("summary"),
    Cow::Borrowed("tail"),
];
/// The same, and those of any text that a table has too.
pub(super) const ALL_NAMES: &[Cow<'static, str>] = &[
    Cow::Borrowed("chars"),
    Cow::Borrowed("columns"),
    Cow::Borrowed("head"),
    Cow::Borrowed("lines"),
    Cow::Borrowed("rows"),
    Cow::Borrowed("search"),
    Cow::Borrowed("summary"),
    Cow::Borrowed("tail"),
];
/// The rows of a head or a tail, unless they are counted.
const ROWS: usize = 10;
/// The most rows that are read.
const MAX_ROWS: usize = 1_000_000;
/// The most columns; more are left out.
const MAX_COLUMNS: usize = 256;

/// A view of a table.
pub(super) fn render(
    text: &str,
    delimiter: u8,
    request: &ViewRequest,
    renderer: &ValueRenderer<'_>,
) -> Result<ViewResult<'static>, HandleError> {
    let counts = matches!(request.name.as_str(), "head" | "tail");
    let args = Args::of(request, if counts { &["rows"] } else { &[] })?;
    let count = args.whole("rows")?.unwrap_or(ROWS);
    let table = Table::read(text, delimiter)?;
    let rows = match request.name.as_str() {
        "columns" => return Ok(table.columns(renderer)),
        "head" => table.rows(0, count, renderer),
        "tail" => table.rows(table.rows.len().saturating_sub(count), count, renderer),
        _ => table.rows(0, usize::MAX, renderer),
    };
    let rows = Content::Json(Cow::Owned(Value::Array(rows)));
    Ok(if request.name == "summary" { ViewResult::summary(rows) } else { ViewResult::free(rows) })
}

/// All rows of a table, whatever may be seen of them.
pub(crate) fn rows(text: &str, delimiter: u8) -> Option<Vec<Value>> {
    let table = Table::read(text, delimiter).ok()?;
    let row = |row: &Vec<String>| {
        let cells = table.names.iter().cloned().zip(row.iter().map(|cell| typed(cell)));
        Value::Object(cells.collect::<Map<_, _>>())
    };
    Some(table.rows.iter().map(row).collect())
}

/// The names of the columns of a text that begins as a table does.
pub(crate) fn head(text: &str) -> Option<Vec<String>> {
    let delimiter = super::delimiter_of(text)?;
    let line = text.lines().next()?;
    let mut reader = csv::ReaderBuilder::new().delimiter(delimiter).from_reader(line.as_bytes());
    Some(distinct(reader.headers().ok()?.iter()))
}

struct Table {
    names: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    fn read(text: &str, delimiter: u8) -> Result<Self, HandleError> {
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(delimiter)
            .flexible(true)
            .from_reader(text.as_bytes());
        let unreadable = |_| wrong("the content cannot be read as a table".to_owned());
        let names = distinct(reader.headers().map_err(unreadable)?.iter());
        let mut rows = Vec::new();
        for record in reader.records() {
            if rows.len() >= MAX_ROWS {
                let detail = format!("the table has more than {MAX_ROWS} rows");
                return Err(HandleError::Constraint { detail });
            }
            let record = record.map_err(unreadable)?;
            rows.push(record.iter().take(names.len()).map(str::to_owned).collect());
        }
        Ok(Self { names, rows })
    }

    /// Rows as objects that hold only the columns that may be seen.
    fn rows(&self, from: usize, count: usize, renderer: &ValueRenderer<'_>) -> Vec<Value> {
        let seen: Vec<bool> = self.names.iter().map(|name| renderer.limits.admits(name)).collect();
        let rows = self.rows.iter().skip(from).take(count).map(|row| {
            let cells = self.names.iter().zip(row).zip(&seen).filter(|(_, seen)| **seen);
            let cells = cells.map(|((name, cell), _)| (name.clone(), typed(cell)));
            Value::Object(cells.collect::<Map<_, _>>())
        });
        rows.collect()
    }

    /// Each column that may be seen, with what its cells are.
    fn columns(&self, renderer: &ValueRenderer<'_>) -> ViewResult<'static> {
        let mut out = Vec::new();
        let mut hidden = 0;
        for (at, name) in self.names.iter().enumerate() {
            if !renderer.limits.admits(name) {
                hidden += 1;
                continue;
            }
            let cells = self.rows.iter().filter_map(|row| row.get(at));
            let filled: Vec<&String> = cells.filter(|cell| !cell.is_empty()).collect();
            let numbers = filled.iter().filter(|cell| typed(cell).is_number()).count();
            let kind = match (numbers, filled.len()) {
                (_, 0) => "empty",
                (numbers, all) if numbers == all => "number",
                (0, _) => "text",
                _ => "mixed",
            };
            out.push(json!({ "column": name, "type": kind, "filled": filled.len() }));
        }
        let content = Content::Json(Cow::Owned(Value::Array(out)));
        ViewResult { omitted: vec![("fields_not_allowed", hidden)], ..ViewResult::free(content) }
    }
}

/// Names of columns: none empty, none twice.
fn distinct<'n>(names: impl Iterator<Item = &'n str>) -> Vec<String> {
    let mut known = BTreeSet::new();
    let mut out = Vec::new();
    for (at, name) in names.take(MAX_COLUMNS).enumerate() {
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

/// A cell: a number where it is written as JSON writes numbers, with at most 15 digits.
fn typed(cell: &str) -> Value {
    let looks = cell.len() <= 20 && cell.bytes().filter(u8::is_ascii_digit).count() <= 15;
    let number = looks.then(|| serde_json::from_str::<Number>(cell).ok()).flatten();
    // What would be written otherwise than it was read stays text.
    match number.filter(|number| number.to_string() == cell) {
        Some(number) => Value::Number(number),
        None => Value::String(cell.to_owned()),
    }
}
