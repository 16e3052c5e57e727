//! Finds the lists of a schema that can be checked item by item.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// Words that say nothing of a value, or only which schemas there are.
const ANNOTATIONS: [&str; 9] = [
    "$comment", "$defs", "$schema", "default", "definitions", "description", "examples", "title",
    "type",
];

/// The lists of which a schema says no more than what each item is: a part of such a list fits
/// wherever the whole does, and the whole fits where all parts do.
#[derive(Debug, Default)]
pub(crate) struct RowSchemas {
    /// The value itself is such a list.
    whole: bool,
    /// The members of the value that are.
    members: BTreeSet<String>,
}

impl RowSchemas {
    pub(crate) fn of(schema: &Value) -> Self {
        let Some(schema) = schema.as_object() else { return Self::default() };
        let object = ["additionalProperties", "properties", "required"];
        let is_plain = holds_only(schema, &object);
        let members = schema.get("properties").and_then(Value::as_object);
        let members =
            members.into_iter().flatten().filter(|(_, schema)| is_plain && is_list(schema));
        Self {
            whole: holds_only(schema, &["items"]) && has_one_schema(schema),
            members: members.map(|(name, _)| name.clone()).collect(),
        }
    }

    /// True for the list under this key, or for the value itself as a list.
    pub(crate) fn speak_of_items_alone(&self, key: Option<&str>) -> bool {
        key.map_or(self.whole, |key| self.members.contains(key))
    }
}

fn is_list(schema: &Value) -> bool {
    schema
        .as_object()
        .is_some_and(|schema| holds_only(schema, &["items"]) && has_one_schema(schema))
}

/// True where all items have the same schema.
fn has_one_schema(schema: &Map<String, Value>) -> bool {
    schema.get("items").is_none_or(|items| items.is_object() || items.is_boolean())
}

fn holds_only(schema: &Map<String, Value>, words: &[&str]) -> bool {
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
        assert!(schemas.speak_of_items_alone(Some("rows")));
        assert!(
            !schemas.speak_of_items_alone(Some("other")) && !schemas.speak_of_items_alone(None)
        );
        assert!(RowSchemas::of(&list(json!({}))).speak_of_items_alone(None));
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
            assert!(!RowSchemas::of(&list(more.clone())).speak_of_items_alone(None), "{more}");
            let around = json!({"properties": {"rows": list(more)}});
            assert!(!RowSchemas::of(&around).speak_of_items_alone(Some("rows")), "{around}");
            let mut other = plain.clone();
            other["anyOf"] = json!([]);
            assert!(!RowSchemas::of(&other).speak_of_items_alone(Some("rows")));
        }
    }
}
