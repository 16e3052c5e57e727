//! Suggests the arguments that a value fits.

use serde_json::Value;
use weaver_text::split;

use crate::hydrate::ContextValue;

/// The arguments at the top of a schema that have the name of the value and take it.
pub(super) fn fitting<'a>(
    schema: &'a Value,
    known: &'a ContextValue,
) -> impl Iterator<Item = &'a str> {
    let name = split::words(&known.name);
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let named = properties.filter(move |(argument, _)| {
        **argument == known.name || (!name.is_empty() && split::words(argument) == name)
    });
    named
        .filter(|(_, property)| takes(property, &known.value))
        .map(|(argument, _)| argument.as_str())
}

/// Whether the schema of an argument takes a value, as far as its type and its list of values say.
/// A schema that says it otherwise is not guessed at.
fn takes(property: &Value, value: &Value) -> bool {
    let listed = |list: &Value| list.as_array().is_some_and(|list| list.contains(value));
    if !property.get("enum").is_none_or(listed) {
        return false;
    }
    if property.get("const").is_some_and(|only| only != value) {
        return false;
    }
    let unclear = ["$ref", "anyOf", "oneOf", "allOf", "not", "if"];
    if unclear.iter().any(|key| property.get(key).is_some()) {
        return false;
    }
    match property.get("type") {
        Some(Value::String(kind)) => is(kind, value),
        Some(Value::Array(kinds)) => {
            kinds.iter().filter_map(Value::as_str).any(|kind| is(kind, value))
        }
        Some(_) => false,
        None => property.get("enum").is_some() || property.get("const").is_some(),
    }
}

fn is(kind: &str, value: &Value) -> bool {
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
