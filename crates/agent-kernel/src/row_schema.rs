//! Finds the lists of a schema that can be checked item by item.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// Keywords that do not constrain a value, or only define schemas.
const ANNOTATIONS: [&str; 9] = [
    "$comment", "$defs", "$schema", "default", "definitions", "description", "examples", "title",
    "type",
];

/// The lists that a schema constrains only item by item: any part of such a list is valid if the
/// whole list is, and the whole list is valid if all parts are.
#[derive(Debug, Default)]
pub(crate) struct RowSchemas {
    /// Whether the value itself is such a list.
    value_is_list: bool,
    /// The members of the value that are such lists.
    list_members: BTreeSet<String>,
}

impl RowSchemas {
    pub(crate) fn of(schema: &Value) -> Self {
        let Some(schema) = schema.as_object() else { return Self::default() };
        let object = ["additionalProperties", "properties", "required"];
        let is_plain = has_only_keywords(schema, &object);
        let members = schema.get("properties").and_then(Value::as_object);
        let members = members
            .into_iter()
            .flatten()
            .filter(|(_, schema)| is_plain && is_item_only_list(schema));
        Self {
            value_is_list: has_only_keywords(schema, &["items"]) && has_uniform_items(schema),
            list_members: members.map(|(name, _)| name.clone()).collect(),
        }
    }

    /// Whether the list under this key, or the value itself, can be checked item by item.
    pub(crate) fn is_checkable_by_item(&self, key: Option<&str>) -> bool {
        key.map_or(self.value_is_list, |key| self.list_members.contains(key))
    }
}

fn is_item_only_list(schema: &Value) -> bool {
    schema
        .as_object()
        .is_some_and(|schema| has_only_keywords(schema, &["items"]) && has_uniform_items(schema))
}

/// True when all items have the same schema.
fn has_uniform_items(schema: &Map<String, Value>) -> bool {
    schema.get("items").is_none_or(|items| items.is_object() || items.is_boolean())
}

fn has_only_keywords(schema: &Map<String, Value>, words: &[&str]) -> bool {
    let is_known = |word: &str| ANNOTATIONS.contains(&word) || words.contains(&word);
    schema.keys().all(|word| is_known(word) || word.starts_with("x-"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_said_of_a_list_as_a_whole_is_seen() {
        let list = |more: Value| {
            let mut list = json!({"type": "array", "items": {"$ref": "#/$defs/Row"}});
            list.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            list
        };
        let plain = json!({"type": "object", "properties": {"rows": list(json!({"title": "Rows"}))},
            "required": ["rows"], "additionalProperties": false, "x-wrapped": true});
        let schemas = RowSchemas::of(&plain);
        assert!(schemas.is_checkable_by_item(Some("rows")));
        assert!(
            !schemas.is_checkable_by_item(Some("other")) && !schemas.is_checkable_by_item(None)
        );
        assert!(RowSchemas::of(&list(json!({}))).is_checkable_by_item(None));
        for more in [
            json!({"minItems": 1}),
            json!({"uniqueItems": true}),
            json!({"contains": {}}),
            json!({"prefixItems": [{}]}),
            json!({"items": [{}]}),
            json!({"$ref": "#/$defs/Rows"}),
            json!({"allOf": []}),
            json!({"const": []}),
        ] {
            assert!(!RowSchemas::of(&list(more.clone())).is_checkable_by_item(None), "{more}");
            let around = json!({"properties": {"rows": list(more)}});
            assert!(!RowSchemas::of(&around).is_checkable_by_item(Some("rows")), "{around}");
            let mut other = plain.clone();
            other["anyOf"] = json!([]);
            assert!(!RowSchemas::of(&other).is_checkable_by_item(Some("rows")));
        }
    }
}
