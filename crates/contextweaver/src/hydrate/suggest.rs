//! Finds the arguments that a value matches.

use serde_json::Value;
use weaver_text::split;

use crate::hydrate::ContextValue;

/// The top-level arguments of a schema that have the name of the value and accept it.
pub(super) fn matching_arguments<'a>(
    schema: &'a Value,
    context: &'a ContextValue,
) -> impl Iterator<Item = &'a str> {
    let name = split::words(&context.name);
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let same_name = properties.filter(move |(argument, _)| {
        **argument == context.name || (!name.is_empty() && split::words(argument) == name)
    });
    same_name
        .filter(|(_, property)| accepts(property, &context.value))
        .map(|(argument, _)| argument.as_str())
}

/// Whether the schema of an argument accepts a value, judged by `type`, `enum` and `const` only.
/// Schemas with references or combinators are never matched, rather than guessed at.
fn accepts(property: &Value, value: &Value) -> bool {
    let listed = |list: &Value| list.as_array().is_some_and(|list| list.contains(value));
    if !property.get("enum").is_none_or(listed) {
        return false;
    }
    if property.get("const").is_some_and(|only| only != value) {
        return false;
    }
    let composite = ["$ref", "anyOf", "oneOf", "allOf", "not", "if"];
    if composite.iter().any(|key| property.get(key).is_some()) {
        return false;
    }
    match property.get("type") {
        Some(Value::String(kind)) => has_type(kind, value),
        Some(Value::Array(kinds)) => {
            kinds.iter().filter_map(Value::as_str).any(|kind| has_type(kind, value))
        }
        Some(_) => false,
        None => property.get("enum").is_some() || property.get("const").is_some(),
    }
}

fn has_type(kind: &str, value: &Value) -> bool {
    match kind {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => false,
    }
}
