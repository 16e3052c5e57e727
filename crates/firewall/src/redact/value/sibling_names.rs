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
    "content", "current", "currentvalue", "current_value", "data", "default", "defaultvalue",
    "default_value", "plaintext", "rawvalue", "raw_value", "stringvalue", "string_value", "text",
    "v", "val", "value", "values",
];
/// Endings of keys of a value and of the sibling that names it: `ParameterKey`, `ParameterValue`.
const VALUE_ENDING: &str = "value";
const NAME_ENDINGS: &[&str] = &["name", "key"];
/// The type of a parameter whose value is a secret, whatever its name is.
const SECRET_TYPE: &str = "SecureString";
/// The key of a JSON Web Key that tells its type, the members that are private (RFC 7518, section
/// 6), and a name that hides them.
const KEY_TYPE_KEY: &str = "kty";
const PRIVATE_MEMBERS: &[&str] = &["d", "dp", "dq", "k", "p", "q", "qi"];
const PRIVATE_KEY_NAME: &str = "private key";
/// Keys of column names, and of the rows they belong to.
const COLUMN_NAME_KEYS: &[&str] =
    &["column_names", "columnNames", "columns", "fields", "header", "headers"];
const ROW_KEYS: &[&str] = &["data", "records", "rows", "values"];
/// The longest name.
const MAX_NAME_BYTES: usize = 128;
/// The most values of one object with names of their own.
const MAX_PREFIXED: usize = 8;
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
    /// The name that all values have.
    name: Option<&'a str>,
    /// Keys of values with a name of their own.
    prefixed: Vec<(&'a str, &'a str)>,
    is_web_key: bool,
    columns: Vec<&'a str>,
}

impl<'a> SiblingNames<'a> {
    pub(crate) fn of_object(map: &'a Map<String, Value>) -> Self {
        // In most objects no field is named by another.
        if map.keys().all(|key| is_independent_of_siblings(key)) {
            return Self::default();
        }
        Self::of_fields(map.iter().map(|(key, value)| (key.as_str(), value)))
    }

    /// Finds the naming fields among these. Case of keys is ignored.
    pub(crate) fn of_fields(fields: impl Iterator<Item = (&'a str, &'a Value)> + Clone) -> Self {
        let mut name: Option<(usize, &str)> = None;
        let (mut is_secret, mut has_rows, mut is_web_key) = (false, false, false);
        for (key, value) in fields.clone() {
            has_rows |= ROW_KEYS.contains(&key) && value.is_array();
            is_web_key |= key == KEY_TYPE_KEY && value.is_string();
            let Some(text) = value.as_str() else { continue };
            is_secret |= key.eq_ignore_ascii_case("type") && text.eq_ignore_ascii_case(SECRET_TYPE);
            let rank = position_ignoring_case(NAMING_KEYS, key);
            if let Some(rank) = rank.filter(|rank| name.is_none_or(|(known, _)| *rank < known)) {
                name = Some((rank, text));
            }
        }
        let name = name.map(|(_, name)| name).filter(|name| name.len() <= MAX_NAME_BYTES);
        let columns = has_rows.then(|| {
            let get = |key: &str| fields.clone().find(|(name, _)| *name == key).map(|(_, v)| v);
            COLUMN_NAME_KEYS.iter().find_map(|key| columns(get(key)?))
        });
        Self {
            name: if is_secret { Some(SECRET_TYPE) } else { name },
            prefixed: prefixed_names(fields),
            is_web_key,
            columns: columns.flatten().unwrap_or_default(),
        }
    }

    /// True for a key whose value a sibling can name.
    pub(crate) fn may_be_named(key: &str) -> bool {
        position_ignoring_case(NAMED_VALUE_KEYS, key).is_some()
            || prefix_before(key, VALUE_ENDING).is_some()
            || PRIVATE_MEMBERS.contains(&key)
    }

    /// The name that a sibling gives to the value of this field.
    pub(crate) fn name_of(&self, key: &str) -> Option<&'a str> {
        if self.is_web_key && PRIVATE_MEMBERS.contains(&key) {
            return Some(PRIVATE_KEY_NAME);
        }
        let own = self.prefixed.iter().find(|(known, _)| *known == key).map(|(_, name)| *name);
        own.or_else(|| {
            self.name.filter(|_| position_ignoring_case(NAMED_VALUE_KEYS, key).is_some())
        })
    }

    pub(super) fn role(&self, key: &str) -> FieldRole<'_> {
        if !self.columns.is_empty() && ROW_KEYS.contains(&key) {
            return FieldRole::Rows(&self.columns);
        }
        self.name_of(key).map_or(FieldRole::Plain, FieldRole::Value)
    }
}

fn position_ignoring_case(list: &[&str], key: &str) -> Option<usize> {
    list.iter().position(|known| known.eq_ignore_ascii_case(key))
}

/// What precedes an ending of a key; `None` if nothing does.
fn prefix_before<'k>(key: &'k str, ending: &str) -> Option<&'k str> {
    let at = key.len().checked_sub(ending.len()).filter(|at| *at > 0)?;
    let (prefix, last) = key.split_at_checked(at)?;
    last.eq_ignore_ascii_case(ending).then_some(prefix)
}

/// Keys of values with the name that a sibling of the same prefix gives them.
fn prefixed_names<'a>(
    fields: impl Iterator<Item = (&'a str, &'a Value)> + Clone,
) -> Vec<(&'a str, &'a str)> {
    let values =
        fields.clone().filter_map(|(key, _)| Some((key, prefix_before(key, VALUE_ENDING)?)));
    let named = values.take(MAX_PREFIXED).filter_map(|(key, prefix)| {
        let names = |known: &str| {
            NAME_ENDINGS.iter().any(|ending| {
                prefix_before(known, ending).is_some_and(|own| own.eq_ignore_ascii_case(prefix))
            })
        };
        let name = fields.clone().find(|(known, _)| names(known))?.1.as_str()?;
        (name.len() <= MAX_NAME_BYTES).then_some((key, name))
    });
    named.collect()
}

/// Column names: strings, or objects with a `name`.
fn columns(value: &Value) -> Option<Vec<&str>> {
    let list = value.as_array().filter(|list| !list.is_empty() && list.len() <= MAX_COLUMNS)?;
    list.iter().map(|column| column.as_str().or_else(|| column.get("name")?.as_str())).collect()
}

/// True for a field whose meaning never depends on its siblings.
pub(crate) fn is_independent_of_siblings(key: &str) -> bool {
    !SiblingNames::may_be_named(key) && !ROW_KEYS.contains(&key)
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
    use serde_json::json;

    use super::*;

    fn names(value: &Value) -> SiblingNames<'_> {
        SiblingNames::of_object(value.as_object().unwrap())
    }

    #[test]
    fn a_key_is_read_in_any_case_and_with_a_prefix() {
        for (fields, key, name) in [
            (json!({ "name": "A", "value": 1 }), "value", Some("A")),
            (json!({ "Name": "A", "Value": 1 }), "Value", Some("A")),
            (json!({ "NAME": "A", "VALUE": 1 }), "VALUE", Some("A")),
            (json!({ "Key": "A", "name": "B", "Value": 1 }), "Value", Some("A")),
            (json!({ "ParameterKey": "A", "ParameterValue": 1 }), "ParameterValue", Some("A")),
            (json!({ "option_name": "A", "option_value": 1 }), "option_value", Some("A")),
            (json!({ "aName": "A", "bValue": 1 }), "bValue", None),
            (json!({ "name": "A", "marketValue": 1 }), "marketValue", None),
            (json!({ "name": "A", "size": 1 }), "size", None),
            (json!({ "Name": "A", "Type": "String", "Value": 1 }), "Value", Some("A")),
            (
                json!({ "Name": "A", "Type": "SecureString", "Value": 1 }),
                "Value",
                Some(SECRET_TYPE),
            ),
            (json!({ "kty": "EC", "d": "x", "x": "y" }), "d", Some(PRIVATE_KEY_NAME)),
            (json!({ "kty": "EC", "d": "x", "x": "y" }), "x", None),
            (json!({ "d": "x", "x": "y" }), "d", None),
        ] {
            assert_eq!(names(&fields).name_of(key), name, "{fields}");
            assert!(name.is_none() || !is_independent_of_siblings(key), "{key}");
        }
    }

    #[test]
    fn a_key_before_an_ending_is_not_empty() {
        assert_eq!(prefix_before("ParameterValue", "value"), Some("Parameter"));
        assert_eq!(prefix_before("Value", "value"), None);
        assert_eq!(prefix_before("lue", "value"), None);
        assert_eq!(prefix_before("\u{e9}alue", "value"), None);
    }
}
