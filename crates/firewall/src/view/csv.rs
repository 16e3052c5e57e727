//! Views of text tables: rows with their column names.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::args::ViewArgs;
use super::view_result::ViewResult;
use crate::content::{Content, ValueRenderer};
use crate::error::HandleError;
use crate::query::ViewRequest;
use crate::tabular::csv::{Table, typed_cell};

/// The names of the views.
pub(super) const NAMES: &[Cow<'static, str>] = &[
    Cow::Borrowed("columns"),
    Cow::Borrowed("head"),
    Cow::Borrowed("rows"),
    Cow::Borrowed("summary"),
    Cow::Borrowed("tail"),
];
/// All names, including the text views that also apply to a table.
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
/// The default number of rows of a head or tail.
const DEFAULT_ROWS: usize = 10;
/// Renders a view of a table.
pub(super) fn render(
    text: &str,
    delimiter: u8,
    request: &ViewRequest,
    renderer: &ValueRenderer<'_>,
) -> Result<ViewResult<'static>, HandleError> {
    let counts = matches!(request.name.as_str(), "head" | "tail");
    let args = ViewArgs::of(request, if counts { &["rows"] } else { &[] })?;
    let count = args.integer("rows")?.unwrap_or(DEFAULT_ROWS);
    let table = Table::read(text, delimiter)?;
    let rows = match request.name.as_str() {
        "columns" => return Ok(columns(&table, renderer)),
        "head" => visible_rows(&table, 0, count, renderer),
        "tail" => visible_rows(&table, table.rows.len().saturating_sub(count), count, renderer),
        _ => visible_rows(&table, 0, usize::MAX, renderer),
    };
    let rows = Content::Json(Cow::Owned(Value::Array(rows)));
    Ok(if request.name == "summary" {
        ViewResult::summary(rows)
    } else {
        ViewResult::unrestricted(rows)
    })
}

/// Rows as objects with only the visible columns.
fn visible_rows(
    table: &Table,
    from: usize,
    count: usize,
    renderer: &ValueRenderer<'_>,
) -> Vec<Value> {
    let seen: Vec<bool> =
        table.names.iter().map(|name| renderer.limits.may_show_field(name)).collect();
    let rows = table.rows.iter().skip(from).take(count).map(|row| {
        let cells = table.names.iter().zip(row).zip(&seen).filter(|(_, seen)| **seen);
        let cells = cells.map(|((name, cell), _)| (name.clone(), typed_cell(cell)));
        Value::Object(cells.collect::<Map<_, _>>())
    });
    rows.collect()
}

/// Each visible column with the type of its cells.
fn columns(table: &Table, renderer: &ValueRenderer<'_>) -> ViewResult<'static> {
    let mut out = Vec::new();
    let mut hidden = 0;
    for (at, name) in table.names.iter().enumerate() {
        if !renderer.limits.may_show_field(name) {
            hidden += 1;
            continue;
        }
        let cells = table.rows.iter().filter_map(|row| row.get(at));
        let filled: Vec<&String> = cells.filter(|cell| !cell.is_empty()).collect();
        let numbers = filled.iter().filter(|cell| typed_cell(cell).is_number()).count();
        let kind = match (numbers, filled.len()) {
            (_, 0) => "empty",
            (numbers, all) if numbers == all => "number",
            (0, _) => "text",
            _ => "mixed",
        };
        out.push(json!({ "column": name, "type": kind, "filled": filled.len() }));
    }
    let content = Content::Json(Cow::Owned(Value::Array(out)));
    ViewResult {
        omitted: vec![("fields_not_allowed", hidden)],
        ..ViewResult::unrestricted(content)
    }
}
