//! Names that are siblings of their value: `{"name": "DB_PASSWORD", "value": "x"}`, lists of name
//! and value, and rows whose column names are given once.

use serde_json::{Map, Value};

/// Keys whose string names the sibling value.
const NAMING_KEYS: &[&str] = &[
    "attribute", "field", "header", "k", "key", "kind", "label", "name", "option", "param",
    "parameter", "property", "setting", "type", "var", "variable",
];
/// Keys of a value that a sibling names.
const NAMED_VALUE_KEYS: &[&str] = &[
    "content", "current", "currentValue", "current_value", "data", "default", "defaultValue",
    "default_value", "plaintext", "rawValue", "raw_value", "stringValue", "string_value", "text",
    "v", "val", "value", "values",
];
/// Keys of column names, and of the rows they belong to.
const COLUMN_NAME_KEYS: &[&str] =
    &["column_names", "columnNames", "columns", "fields", "header", "headers"];
const ROW_KEYS: &[&str] = &["data", "records", "rows", "values"];
/// The longest name.
const MAX_NAME_BYTES: usize = 128;
/// Up to this many fields, scanning the keys is faster than looking them up.
const MAX_SCANNED_FIELDS: usize = 24;
/// The most columns.
const MAX_COLUMNS: usize = 256;

/// What sibling fields say about a field.
pub(super) enum FieldRole<'a> {
    /// Nothing: its own name describes it.
    Plain,
    /// It is the value of this name.
    Value(&'a str),
    /// It contains rows with these columns.
    Rows(&'a [&'a str]),
}

/// The fields of one object that name others.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct SiblingNames<'a> {
    name: Option<&'a str>,
    columns: Vec<&'a str>,
}

impl<'a> SiblingNames<'a> {
    pub(crate) fn of_object(map: &'a Map<String, Value>) -> Self {
        // Most objects have few fields, none of which is named by another.
        if map.len() <= MAX_SCANNED_FIELDS && map.keys().all(|key| is_independent_of_siblings(key))
        {
            return Self::default();
        }
        Self::from_lookup(|key| map.get(key))
    }

    /// Finds the naming fields among those that `get` returns.
    pub(crate) fn from_lookup(get: impl Fn(&str) -> Option<&'a Value>) -> Self {
        let text = |key: &&str| get(key).and_then(Value::as_str);
        let valued = NAMED_VALUE_KEYS.iter().any(|key| get(key).is_some());
        let name = valued.then(|| NAMING_KEYS.iter().find_map(text)).flatten();
        let rows = ROW_KEYS.iter().any(|key| get(key).is_some_and(Value::is_array));
        let columns = rows.then(|| COLUMN_NAME_KEYS.iter().find_map(|key| columns(get(key)?)));
        let columns = columns.flatten().unwrap_or_default();
        Self { name: name.filter(|name| name.len() <= MAX_NAME_BYTES), columns }
    }

    /// True for a key whose value a sibling can name.
    pub(crate) fn may_be_named(key: &str) -> bool {
        NAMED_VALUE_KEYS.contains(&key)
    }

    /// The name that a sibling gives to the value of this field.
    pub(crate) fn name_of(&self, key: &str) -> Option<&'a str> {
        self.name.filter(|_| Self::may_be_named(key))
    }

    pub(super) fn role(&self, key: &str) -> FieldRole<'_> {
        if !self.columns.is_empty() && ROW_KEYS.contains(&key) {
            return FieldRole::Rows(&self.columns);
        }
        self.name_of(key).map_or(FieldRole::Plain, FieldRole::Value)
    }
}

/// Column names: strings, or objects with a `name`.
fn columns(value: &Value) -> Option<Vec<&str>> {
    let list = value.as_array().filter(|list| !list.is_empty() && list.len() <= MAX_COLUMNS)?;
    list.iter().map(|column| column.as_str().or_else(|| column.get("name")?.as_str())).collect()
}

/// True for a field whose meaning never depends on its siblings.
pub(crate) fn is_independent_of_siblings(key: &str) -> bool {
    !NAMED_VALUE_KEYS.contains(&key) && !ROW_KEYS.contains(&key)
}

/// True for a list of two-item lists that each begin with a string.
pub(super) fn is_list_of_pairs(items: &[Value]) -> bool {
    let two = |item: &Value| match item {
        Value::Array(two) => matches!(two.as_slice(), [Value::String(_), _]),
        _ => false,
    };
    items.first().is_some_and(two) && items.iter().all(two)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    proptest! {
        #[test]
        fn few_fields_looked_through_are_as_many_looked_up(
            fields in prop::collection::btree_map(
                "[a-z]|value|name|data|rows|columns|text|key",
                0..4_u8,
                0..5,
            ),
        ) {
            let value = |kind| match kind {
                0 => json!("a"),
                1 => json!(["a"]),
                2 => json!([["a"]]),
                _ => json!(1),
            };
            let map: Map<String, Value> =
                fields.into_iter().map(|(key, kind)| (key, value(kind))).collect();
            prop_assert_eq!(SiblingNames::of_object(&map), SiblingNames::from_lookup(|key| map.get(key)));
        }
    }
}
