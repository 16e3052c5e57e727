//! Nulls that stand for omitted arguments.
//!
//! OpenAI's strict mode requires every property, so an optional one becomes nullable. A null that
//! the property's own schema does not allow then means that the argument was omitted.

use serde_json::{Value, json};

/// How many references are followed in a chain.
const MAX_REFS: usize = 8;

/// Whether a value of this schema may be null; true when that cannot be determined.
pub(super) fn admits_null(schema: &Value) -> bool {
    let Some(fields) = schema.as_object() else { return true };
    let has_null = |list: &Value| list.as_array().is_some_and(|all| all.contains(&Value::Null));
    let typed = match fields.get("type") {
        Some(Value::String(kind)) => kind == "null",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "null"),
        _ => !fields.contains_key("$ref"),
    };
    let chosen = fields.get("anyOf").and_then(Value::as_array);
    typed
        && fields.get("enum").is_none_or(has_null)
        && fields.get("const").is_none_or(Value::is_null)
        && chosen.is_none_or(|branches| branches.iter().any(admits_null))
}

/// The schema, extended to allow null.
pub(super) fn or_null(schema: Value) -> Value {
    let Value::Object(mut fields) = schema else { return schema };
    let single = ["anyOf", "$ref", "const"].iter().all(|key| !fields.contains_key(*key));
    if let (true, Some(kind)) = (single, fields.get("type").cloned()) {
        let mut kinds = match kind {
            Value::Array(kinds) => kinds,
            one => vec![one],
        };
        kinds.push(json!("null"));
        fields.insert("type".to_owned(), Value::Array(kinds));
        if let Some(Value::Array(values)) = fields.get_mut("enum") {
            values.push(Value::Null);
        }
        return Value::Object(fields);
    }
    json!({ "anyOf": [fields, { "type": "null" }] })
}

/// Whether the object schema requires this property.
pub(super) fn requires(schema: &Value, name: &str) -> bool {
    schema
        .get("required")
        .and_then(Value::as_array)
        .is_some_and(|required| required.iter().any(|one| one == name))
}

/// Removes each null that stands for an omitted optional argument.
pub(super) fn remove_placeholder_nulls(root: &Value, schema: &Value, value: &mut Value) {
    let schema = resolve_reference(root, schema);
    match value {
        Value::Object(fields) => {
            let Some(properties) = schema.get("properties") else { return };
            fields.retain(|name, value| {
                let stands_for_none = |property| {
                    !requires(schema, name) && !admits_null(resolve_reference(root, property))
                };
                !value.is_null() || !properties.get(name).is_some_and(stands_for_none)
            });
            for (name, value) in fields {
                if let Some(property) = properties.get(name) {
                    remove_placeholder_nulls(root, property, value);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.get("items") {
                items.iter_mut().for_each(|item| remove_placeholder_nulls(root, schema, item));
            }
        }
        _ => {}
    }
}

/// Follows a schema's references within `root`.
pub(super) fn resolve_reference<'s>(root: &'s Value, mut schema: &'s Value) -> &'s Value {
    for _ in 0..MAX_REFS {
        let target = schema.get("$ref").and_then(Value::as_str);
        let Some(found) = target.and_then(|t| t.strip_prefix('#')).and_then(|p| root.pointer(p))
        else {
            break;
        };
        schema = found;
    }
    schema
}
