//! Many rows redacted in parts, so that no tree of all of them is made.

use serde_json::{Map, Value};
use weaver_types::JsonRows;

use crate::redact::field::Names;
use crate::redact::value::Pairing;
use crate::redact::{Counts, Redactor};

/// The rows of one part.
const PART: usize = 1_000;
/// The most values that a walk over a whole value looks at. What may have more is redacted whole.
const MAX_VALUES: usize = 4_000_000;

/// The rows, redacted as the whole value would be. None where what stands beside them might matter
/// to them, or where the rows are masked as one: then the whole value has to be redacted.
pub(super) fn rows(
    rows: &JsonRows,
    redactor: &Redactor,
    names: impl Fn() -> Names,
) -> Option<JsonRows> {
    let redact = |redactor: &Redactor, value: &Value| {
        redactor.value_named(value, names(), &mut Counts::new())
    };
    if rows.key().is_some_and(Pairing::may_name) || values_at_most(rows.text()) > MAX_VALUES {
        return None;
    }
    let alone = |list: Vec<Value>| match rows.key() {
        None => Value::Array(list),
        Some(key) => Value::Object(Map::from_iter([(key.to_owned(), Value::Array(list))])),
    };
    // No mask is given out for what is only looked at.
    let without_masks = redactor.without_masks();
    list_in(redact(&without_masks, &alone(rows.row(0).into_iter().collect())))?;
    // Masks are numbered in the order of the text: what comes after the rows must have none.
    let after = after_list(rows);
    if redact(&without_masks, &after) != after {
        return None;
    }
    let frame = redact(redactor, &rows.with_list(Vec::new()));
    let parts = (0..rows.len()).step_by(PART).flat_map(|from| {
        let to = from.saturating_add(PART).min(rows.len());
        let part: Vec<Value> = (from..to).filter_map(|number| rows.row(number)).collect();
        let length = part.len();
        let redacted = list_in(redact(redactor, &alone(part))).filter(|list| list.len() == length);
        // Null is no row and refused.
        redacted.unwrap_or_else(|| vec![Value::Null])
    });
    JsonRows::collect(&frame, parts, rows.text().len())
}

fn list_in(value: Value) -> Option<Vec<Value>> {
    match value {
        Value::Array(list) => Some(list),
        Value::Object(fields) => fields.into_iter().find_map(|(_, value)| match value {
            Value::Array(list) => Some(list),
            _ => None,
        }),
        _ => None,
    }
}

/// The values that stand after the list, under their names.
fn after_list(rows: &JsonRows) -> Value {
    let around = rows.around().into_iter().flatten();
    let after = around.filter(|(name, _)| rows.key().is_some_and(|key| name.as_str() > key));
    Value::Object(after.map(|(name, value)| (name.clone(), value.clone())).collect())
}

/// No fewer values than a text of JSON has: one more than commas, and those that hold others twice,
/// as a walk counts them.
fn values_at_most(text: &str) -> usize {
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
        let all = JsonRows::collect(&frame, all, 10_000).unwrap();
        rows(&all, &Redactor::builtin(), Names::default).map(|rows| rows.to_value())
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
        assert_eq!(values_at_most(r#"[{"a":1,"b":[2,3]},4]"#), 1 + 3 + 2 * 3);
    }
}
