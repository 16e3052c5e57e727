//! Redacts many rows in batches, so that no tree of all of them is built.

use serde_json::{Map, Value};
use weaver_types::JsonRows;

use crate::redact::field_names::FieldNameClassifier;
use crate::redact::value::SiblingNames;
use crate::redact::{Counts, Redactor};

/// Rows per batch.
const ROWS_PER_PART: usize = 1_000;
/// The most values that one walk visits. A result that may have more is redacted as a whole.
const MAX_VALUES: usize = 4_000_000;

/// The rows, redacted exactly as the whole value would be. `None` if that cannot be guaranteed: the
/// fields around the rows might change how rows are redacted, or the rows are masked as one value.
/// Then the whole value has to be redacted.
pub(super) fn redact_rows(
    rows: &JsonRows,
    redactor: &Redactor,
    names: impl Fn() -> FieldNameClassifier,
) -> Option<JsonRows> {
    let redact = |redactor: &Redactor, value: &Value| {
        redactor.redact_value_with_names(value, names(), &mut Counts::new())
    };
    if rows.key().is_some_and(SiblingNames::may_be_named)
        || max_value_count(rows.text()) > MAX_VALUES
    {
        return None;
    }
    let wrap_list = |list: Vec<Value>| match rows.key() {
        None => Value::Array(list),
        Some(key) => Value::Object(Map::from_iter([(key.to_owned(), Value::Array(list))])),
    };
    // A dry run must not assign mask numbers.
    let without_masks = redactor.without_masks();
    inner_list(redact(&without_masks, &wrap_list(rows.row(0).into_iter().collect())))?;
    // Mask numbers follow the order of the text, so fields after the rows must not need any.
    let after = fields_after_list(rows);
    if redact(&without_masks, &after) != after {
        return None;
    }
    let frame = redact(redactor, &rows.with_list(Vec::new()));
    let parts = (0..rows.len()).step_by(ROWS_PER_PART).flat_map(|from| {
        let to = from.saturating_add(ROWS_PER_PART).min(rows.len());
        let part: Vec<Value> = (from..to).filter_map(|number| rows.row(number)).collect();
        let length = part.len();
        let redacted =
            inner_list(redact(redactor, &wrap_list(part))).filter(|list| list.len() == length);
        // Null is not a row, so collecting fails and the caller falls back to the whole value.
        redacted.unwrap_or_else(|| vec![Value::Null])
    });
    JsonRows::from_rows(&frame, parts, rows.text().len())
}

fn inner_list(value: Value) -> Option<Vec<Value>> {
    match value {
        Value::Array(list) => Some(list),
        Value::Object(fields) => fields.into_iter().find_map(|(_, value)| match value {
            Value::Array(list) => Some(list),
            _ => None,
        }),
        _ => None,
    }
}

/// The fields that sort after the list.
fn fields_after_list(rows: &JsonRows) -> Value {
    let around = rows.siblings().into_iter().flatten();
    let after = around.filter(|(name, _)| rows.key().is_some_and(|key| name.as_str() > key));
    Value::Object(after.map(|(name, value)| (name.clone(), value.clone())).collect())
}

/// An upper bound for the values in a JSON text: commas plus one, with containers counted twice, as
/// a walk counts them.
fn max_value_count(text: &str) -> usize {
    let count = |wanted: &[u8]| text.bytes().filter(|byte| wanted.contains(byte)).count();
    count(b",").saturating_add(count(b"[{").saturating_mul(2)).saturating_add(1)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// What comes of an object around ten rows, in parts.
    fn in_parts(around: Value, key: &str) -> Option<Value> {
        let all = (0..10).map(|id| json!({ "id": id, "mail": "ann@corp.com" }));
        let mut frame = around;
        frame[key] = json!([]);
        let all = JsonRows::from_rows(&frame, all, 10_000).unwrap();
        redact_rows(&all, &Redactor::builtin(), FieldNameClassifier::default)
            .map(|rows| rows.to_value())
    }

    #[test]
    fn rows_are_redacted_in_parts_unless_what_stands_beside_them_matters() {
        let row = |id: usize| json!({ "id": id, "mail": "[REDACTED]" });
        let redacted: Value = (0..10).map(row).collect();
        assert_eq!(in_parts(json!({ "a": 1 }), "rows"), Some(json!({ "a": 1, "rows": redacted })));
        assert_eq!(in_parts(json!({ "name": "a" }), "value"), None, "a name beside its value");
        assert_eq!(in_parts(json!({ "z": "eve@corp.com" }), "rows"), None, "a value after them");
        assert_eq!(in_parts(json!({ "a": 1 }), "password"), None, "hidden as one");
    }

    #[test]
    fn values_are_counted_by_their_signs() {
        assert_eq!(max_value_count(r#"[{"a":1,"b":[2,3]},4]"#), 1 + 3 + 2 * 3);
    }
}
