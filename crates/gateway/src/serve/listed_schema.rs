//! Gives a tool's schema the form that every client can read.
//!
//! A client may check the list of tools as a whole, as the TypeScript SDK does: one schema that it
//! does not take for that of an object makes the tools of all servers unavailable. So a server's
//! mistake is corrected in the list. Calls are still checked against the schema as the server wrote
//! it.

use serde_json::{Map, Value, json};

/// The schema as that of an object: with `type`, with an object for each property, and with names
/// as `required`. A schema that is no object becomes one that admits every object.
pub(super) fn as_object(schema: Option<&Value>) -> Value {
    let mut fields = schema.and_then(Value::as_object).cloned().unwrap_or_default();
    fields.insert("type".to_owned(), json!("object"));
    if let Some(Value::Object(properties)) = fields.remove("properties") {
        let properties: Map<String, Value> =
            properties.into_iter().map(|(name, schema)| (name, property(schema))).collect();
        fields.insert("properties".to_owned(), Value::Object(properties));
    }
    let are_names = |names: &Vec<Value>| names.iter().all(Value::is_string);
    if !fields.get("required").and_then(Value::as_array).is_some_and(are_names) {
        fields.remove("required");
    }
    Value::Object(fields)
}

/// The schema of a property, which JSON Schema may write as `true` or `false`.
fn property(schema: Value) -> Value {
    match schema {
        Value::Object(_) => schema,
        Value::Bool(false) => json!({ "not": {} }),
        _ => json!({}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_good_schema_stays_as_it_is() {
        let good = json!({
            "$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
            "properties": { "a": { "type": "string" } }, "required": ["a"],
            "additionalProperties": false,
        });
        assert_eq!(as_object(Some(&good)), good);
    }

    #[test]
    fn a_schema_that_clients_refuse_becomes_one_that_they_read() {
        let object = json!({ "type": "object" });
        for (given, listed) in [
            (json!({}), &object),
            (json!({ "type": ["object", "null"] }), &object),
            (json!({ "type": "string" }), &object),
            (json!({ "properties": [], "required": "a" }), &object),
            (json!({ "required": [1] }), &object),
            (json!(true), &object),
            (json!([]), &object),
        ] {
            assert_eq!(&as_object(Some(&given)), listed, "{given}");
        }
        assert_eq!(as_object(None), object);
        let given = json!({ "properties": { "a": true, "b": false, "c": {} }, "required": ["c"] });
        let properties = json!({ "a": {}, "b": { "not": {} }, "c": {} });
        let listed = json!({ "type": "object", "properties": properties, "required": ["c"] });
        assert_eq!(as_object(Some(&given)), listed);
    }
}
