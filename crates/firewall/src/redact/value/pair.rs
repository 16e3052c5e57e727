//! Names that stand beside their value: `{"name": "DB_PASSWORD", "value": "x"}`, lists of name and
//! value, and grids whose columns are named once.

use serde_json::{Map, Value};

/// Keys whose string names the value beside it.
const NAMES: &[&str] = &[
    "attribute", "field", "header", "k", "key", "kind", "label", "name", "option", "param",
    "parameter", "property", "setting", "type", "var", "variable",
];
/// Keys of the value beside such a name.
const VALUES: &[&str] = &[
    "content", "current", "currentValue", "current_value", "data", "default", "defaultValue",
    "default_value", "plaintext", "rawValue", "raw_value", "stringValue", "string_value", "text",
    "v", "val", "value", "values",
];
/// Keys of the names of columns, and of the rows below them.
const COLUMNS: &[&str] = &["column_names", "columnNames", "columns", "fields", "header", "headers"];
const ROWS: &[&str] = &["data", "records", "rows", "values"];
/// The longest name.
const MAX_NAME: usize = 128;
/// So many fields are faster looked through than looked up.
const FEW: usize = 24;
/// The most columns.
const MAX_COLUMNS: usize = 256;

/// What the names beside a field say of it.
pub(super) enum Role<'a> {
    /// Its own name says all.
    Plain,
    /// It is the value of this name.
    Value(&'a str),
    /// It holds rows with these columns.
    Rows(&'a [&'a str]),
}

/// Which fields of one object name others.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Pairing<'a> {
    name: Option<&'a str>,
    columns: Vec<&'a str>,
}

impl<'a> Pairing<'a> {
    pub(crate) fn of(map: &'a Map<String, Value>) -> Self {
        // Most objects have few fields, and none that is named by another.
        if map.len() <= FEW && map.keys().all(|key| stands_alone(key)) {
            return Self::default();
        }
        Self::among(|key| map.get(key))
    }

    /// The same for fields that are found by `get`.
    pub(crate) fn among(get: impl Fn(&str) -> Option<&'a Value>) -> Self {
        let text = |key: &&str| get(key).and_then(Value::as_str);
        let valued = VALUES.iter().any(|key| get(key).is_some());
        let name = valued.then(|| NAMES.iter().find_map(text)).flatten();
        let rows = ROWS.iter().any(|key| get(key).is_some_and(Value::is_array));
        let columns = rows.then(|| COLUMNS.iter().find_map(|key| columns(get(key)?)));
        let columns = columns.flatten().unwrap_or_default();
        Self { name: name.filter(|name| name.len() <= MAX_NAME), columns }
    }

    /// True for a field that a name beside it can be the name of.
    pub(crate) fn may_name(key: &str) -> bool {
        VALUES.contains(&key)
    }

    /// The name of the value of this field, if it stands beside it.
    pub(crate) fn name_of(&self, key: &str) -> Option<&'a str> {
        self.name.filter(|_| Self::may_name(key))
    }

    pub(super) fn role(&self, key: &str) -> Role<'_> {
        if !self.columns.is_empty() && ROWS.contains(&key) {
            return Role::Rows(&self.columns);
        }
        self.name_of(key).map_or(Role::Plain, Role::Value)
    }
}

/// The names of columns: strings, or objects with a `name`.
fn columns(value: &Value) -> Option<Vec<&str>> {
    let list = value.as_array().filter(|list| !list.is_empty() && list.len() <= MAX_COLUMNS)?;
    list.iter().map(|column| column.as_str().or_else(|| column.get("name")?.as_str())).collect()
}

/// True for a field that is never read together with a name beside it.
pub(crate) fn stands_alone(key: &str) -> bool {
    !VALUES.contains(&key) && !ROWS.contains(&key)
}

/// True for a list of lists of two, the first of each a string.
pub(super) fn of_two(items: &[Value]) -> bool {
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
            prop_assert_eq!(Pairing::of(&map), Pairing::among(|key| map.get(key)));
        }
    }
}
