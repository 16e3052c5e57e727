//! Loosens a tool's output schema so that a masked result still conforms to it.
//!
//! A mask is a string, whatever it replaces. So numbers, objects and arrays may be strings too, and
//! constraints on texts are dropped. A schema with keywords that cannot be loosened safely is not
//! listed, because a client rejects a result that does not conform.

use serde_json::{Map, Value, json};

/// What our own line under a result begins with, and the member of structured content that has it.
pub(super) const NOTE_MARK: &str = "[weaver]";

/// Keywords for which a mask could change the result in ways that are not handled here.
const UNSUPPORTED_KEYWORDS: [&str; 9] = [
    "not", "if", "contains", "dependentSchemas", "propertyNames", "unevaluatedProperties",
    "unevaluatedItems", "uniqueItems", "$dynamicRef",
];
/// Constraints on texts and on the lengths of lists, which are dropped.
const DROPPED_KEYWORDS: [&str; 8] =
    ["format", "pattern", "minLength", "maxLength", "contentEncoding", "minItems", "enum", "const"];
/// The deepest schema that is processed.
const MAX_DEPTH: usize = 32;

/// The schema, loosened so that masks conform; `None` where that is impossible.
pub(super) fn allowing_masks(schema: &Value) -> Option<Value> {
    let mut loose = allow_masks(schema, 0)?;
    if loose.get("type") != Some(&json!("object")) {
        return None;
    }
    if let Some(fields) = loose.as_object_mut()
        && fields.contains_key("additionalProperties")
        && admits_note(schema)
        && let Some(properties) =
            fields.entry("properties").or_insert_with(|| json!({})).as_object_mut()
    {
        properties.insert(NOTE_MARK.to_owned(), json!({ "type": "string" }));
    }
    Some(loose)
}

/// True if a result of this schema, as [`allowing_masks`] lists it, may have a member with our line
/// about what was masked or cut.
pub(super) fn admits_note(schema: &Value) -> bool {
    let may_refuse = ["$ref", "allOf", "anyOf", "oneOf", "maxProperties", "patternProperties"];
    !may_refuse.iter().any(|keyword| schema.get(keyword).is_some())
}

fn allow_masks(schema: &Value, depth: usize) -> Option<Value> {
    let Value::Object(fields) = schema else { return schema.is_boolean().then(|| schema.clone()) };
    if depth > MAX_DEPTH || fields.keys().any(|key| UNSUPPORTED_KEYWORDS.contains(&key.as_str())) {
        return None;
    }
    let mut out = Map::new();
    for (key, value) in fields {
        let loose = match (key.as_str(), value) {
            (
                "properties" | "$defs" | "definitions" | "patternProperties",
                Value::Object(inner),
            ) => {
                let inner: Option<Map<_, _>> = inner
                    .iter()
                    .map(|(name, schema)| Some((name.clone(), allow_masks(schema, depth + 1)?)))
                    .collect();
                Value::Object(inner?)
            }
            ("items" | "additionalProperties", inner) => allow_masks(inner, depth + 1)?,
            ("anyOf" | "allOf" | "prefixItems", Value::Array(inner)) => {
                let inner: Option<Vec<_>> =
                    inner.iter().map(|s| allow_masks(s, depth + 1)).collect();
                Value::Array(inner?)
            }
            // Loosened alternatives may overlap, so exactly one becomes at least one.
            ("oneOf", Value::Array(inner)) => {
                let inner: Option<Vec<_>> =
                    inner.iter().map(|s| allow_masks(s, depth + 1)).collect();
                out.insert("anyOf".to_owned(), Value::Array(inner?));
                continue;
            }
            // The result itself is never masked as a whole, so the root stays an object.
            ("type", kind) if depth > 0 => with_string_type(kind),
            (dropped, _) if DROPPED_KEYWORDS.contains(&dropped) => continue,
            _ => value.clone(),
        };
        out.insert(key.clone(), loose);
    }
    Some(Value::Object(out))
}

/// Adds the string type to types that a mask may replace.
fn with_string_type(kind: &Value) -> Value {
    const MASKABLE_TYPES: [&str; 4] = ["number", "integer", "object", "array"];
    let may_be_masked =
        |kind: &Value| kind.as_str().is_some_and(|kind| MASKABLE_TYPES.contains(&kind));
    match kind {
        Value::String(_) if may_be_masked(kind) => json!([kind, "string"]),
        Value::Array(kinds)
            if kinds.iter().any(may_be_masked) && !kinds.contains(&json!("string")) =>
        {
            let mut kinds = kinds.clone();
            kinds.push(json!("string"));
            Value::Array(kinds)
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_admits_our_line_where_nothing_else_could_refuse_it() {
        let closed = json!({ "type": "object", "additionalProperties": false });
        let line = allowing_masks(&closed).unwrap()["properties"][NOTE_MARK]["type"].take();
        assert_eq!(line, "string");
        let open = json!({ "type": "object", "properties": { "a": true } });
        assert_eq!(allowing_masks(&open), Some(open.clone()));
        assert!(admits_note(&closed) && admits_note(&open));
        let other = json!({ "type": "object", "allOf": [closed], "additionalProperties": false });
        assert!(!admits_note(&other) && allowing_masks(&other).unwrap()["properties"].is_null());
    }

    #[test]
    fn masks_fit_where_values_of_other_types_and_forms_were_demanded() {
        let schema = json!({
            "type": "object",
            "properties": {
                "n": { "type": "integer", "minimum": 0 },
                "owner": { "type": "object", "properties": {} },
                "mail": { "type": "string", "format": "email", "minLength": 3 },
                "rows": { "type": "array", "minItems": 1, "items": { "oneOf": [{ "type": ["number", "null"] }, { "const": "x" }] } },
            },
            "required": ["n"],
        });
        let loose = allowing_masks(&schema).unwrap();
        assert_eq!(
            loose["properties"]["n"],
            json!({ "type": ["integer", "string"], "minimum": 0 })
        );
        assert_eq!(loose["properties"]["mail"], json!({ "type": "string" }));
        let items = json!({ "anyOf": [{ "type": ["number", "null", "string"] }, {}] });
        let rows = json!({ "type": ["array", "string"], "items": items });
        assert_eq!(loose["properties"]["rows"], rows);
        assert_eq!(loose["properties"]["owner"]["type"], json!(["object", "string"]));
        assert_eq!(loose["type"], "object");
        assert_eq!(loose["required"], json!(["n"]));
    }

    #[test]
    fn what_cannot_be_followed_is_not_listed() {
        for schema in [
            json!({ "type": "object", "not": {} }),
            json!({ "type": "array" }),
            json!({ "type": "object", "properties": { "a": { "if": {} } } }),
            json!(true),
        ] {
            assert_eq!(allowing_masks(&schema), None, "{schema}");
        }
        let mut deep = json!({ "type": "object" });
        for _ in 0..40 {
            deep = json!({ "type": "object", "properties": { "a": deep } });
        }
        assert_eq!(allowing_masks(&deep), None);
    }
}
