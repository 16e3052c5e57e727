//! The output schema of a tool as its clients see it: one that a masked result still fits.
//!
//! A mask is a string, whatever it stands for. So numbers, objects and lists may be strings too, and
//! texts keep no demand on their form. Where a schema says more than can be followed here, it is not
//! listed, because a client refuses a result that does not fit.

use serde_json::{Map, Value, json};

/// Keywords whose meaning a mask could change in ways that are not followed.
const UNFOLLOWED: [&str; 9] = [
    "not", "if", "contains", "dependentSchemas", "propertyNames", "unevaluatedProperties",
    "unevaluatedItems", "uniqueItems", "$dynamicRef",
];
/// What is demanded of a text or of the length of a list, and falls away.
const DROPPED: [&str; 8] =
    ["format", "pattern", "minLength", "maxLength", "contentEncoding", "minItems", "enum", "const"];
/// The deepest schema that is followed.
const MAX_DEPTH: usize = 32;

/// The schema, loosened so that masks fit; nothing where it cannot be.
pub(super) fn loosened(schema: &Value) -> Option<Value> {
    let whole = loosen(schema, 0)?;
    (whole.get("type") == Some(&json!("object"))).then_some(whole)
}

fn loosen(schema: &Value, depth: usize) -> Option<Value> {
    let Value::Object(fields) = schema else { return schema.is_boolean().then(|| schema.clone()) };
    if depth > MAX_DEPTH || fields.keys().any(|key| UNFOLLOWED.contains(&key.as_str())) {
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
                    .map(|(name, schema)| Some((name.clone(), loosen(schema, depth + 1)?)))
                    .collect();
                Value::Object(inner?)
            }
            ("items" | "additionalProperties", inner) => loosen(inner, depth + 1)?,
            ("anyOf" | "allOf" | "prefixItems", Value::Array(inner)) => {
                let inner: Option<Vec<_>> = inner.iter().map(|s| loosen(s, depth + 1)).collect();
                Value::Array(inner?)
            }
            // What was one of several may be several once it is loosened.
            ("oneOf", Value::Array(inner)) => {
                let inner: Option<Vec<_>> = inner.iter().map(|s| loosen(s, depth + 1)).collect();
                out.insert("anyOf".to_owned(), Value::Array(inner?));
                continue;
            }
            // What is masked stands in the result, which is an object as a whole.
            ("type", kind) if depth > 0 => with_text(kind),
            (dropped, _) if DROPPED.contains(&dropped) => continue,
            _ => value.clone(),
        };
        out.insert(key.clone(), loose);
    }
    Some(Value::Object(out))
}

/// The types, and text where there is something that a mask may stand for.
fn with_text(kind: &Value) -> Value {
    const MASKED: [&str; 4] = ["number", "integer", "object", "array"];
    let may_be_masked = |kind: &Value| kind.as_str().is_some_and(|kind| MASKED.contains(&kind));
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
        let loose = loosened(&schema).unwrap();
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
            assert_eq!(loosened(&schema), None, "{schema}");
        }
        let mut deep = json!({ "type": "object" });
        for _ in 0..40 {
            deep = json!({ "type": "object", "properties": { "a": deep } });
        }
        assert_eq!(loosened(&deep), None);
    }
}
