//! Whether the text of a table shows cells that its rows hide by the names of their columns.
//!
//! A text is redacted by what it looks like. As rows, its cells are hidden by their columns too, so
//! lines and characters of the same text could show what the rows hide.

use serde_json::Value;

use crate::redact::field_names::FieldNameClassifier;
use crate::redact::value::FieldName;
use crate::tabular;

/// True if a cell of the original text that its column hides stands in the redacted text.
pub(super) fn are_shown(original: &str, redacted: &str, names: &mut FieldNameClassifier) -> bool {
    let Some(rows) = tabular::rows_of_data(original) else { return false };
    let Some(columns) = rows.first().and_then(Value::as_object) else { return false };
    let any_text = Value::from("text");
    let hiding: Vec<FieldName<'_>> = columns
        .keys()
        .map(|name| FieldName::classify(name, names))
        .filter(|column| column.hides_value(&any_text).is_some())
        .collect();
    if hiding.is_empty() {
        return false;
    }
    let shown = tabular::rows_of_data(redacted).filter(|shown| shown.len() == rows.len());
    let Some(shown) = shown else { return true };
    rows.iter().zip(&shown).any(|(row, shown)| {
        hiding.iter().any(|column| {
            let cell = row.get(column.name);
            let hides = cell.is_some_and(|cell| column.hides_value(cell).is_some());
            hides && cell == shown.get(column.name)
        })
    })
}
