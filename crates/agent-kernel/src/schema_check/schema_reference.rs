//! References within a schema: JSON pointers to its own parts, and nothing else.
//!
//! The cost of a schema is counted before it is compiled, by following its references. A part that
//! has a name (`$id`, `$anchor`) could be reached by it without being counted, and a part with a
//! base URI of its own would turn a pointer into another one. So names are left out of what is
//! compiled: what the compiler follows is what was counted.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use serde_json::Value;

/// Keywords that name a schema, or a place in it.
const NAMING_KEYWORDS: [&str; 5] = ["$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor"];
/// Keywords whose members are schemas under any names.
const KEYWORDS_WITH_NAMED_SCHEMAS: [&str; 6] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"];
/// Keywords whose values are data.
const KEYWORDS_WITH_DATA: [&str; 4] = ["const", "enum", "default", "examples"];

/// The part of a schema that a reference names by its fragment, decoded as the compiler does
/// (RFC 6901, section 6); `None` for any other reference, and for one that leads nowhere.
pub(crate) fn referenced<'a>(schema: &'a Value, reference: &str) -> Option<&'a Value> {
    let fragment = reference.strip_prefix('#')?;
    schema.pointer(&percent_decode_str(fragment).decode_utf8().ok()?)
}

/// The schema without the names of its parts.
pub(crate) fn without_names(schema: &Value) -> Cow<'_, Value> {
    if !has_names(schema) {
        return Cow::Borrowed(schema);
    }
    let mut nameless = schema.clone();
    remove_names(&mut nameless);
    Cow::Owned(nameless)
}

fn is_name(keyword: &str, value: &Value) -> bool {
    NAMING_KEYWORDS.contains(&keyword) && (value.is_string() || value.is_boolean())
}

fn has_names(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => fields.iter().any(|(keyword, value)| match value {
            _ if is_name(keyword, value) => true,
            _ if KEYWORDS_WITH_DATA.contains(&keyword.as_str()) => false,
            Value::Object(named) if KEYWORDS_WITH_NAMED_SCHEMAS.contains(&keyword.as_str()) => {
                named.values().any(has_names)
            }
            _ => has_names(value),
        }),
        Value::Array(items) => items.iter().any(has_names),
        _ => false,
    }
}

fn remove_names(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.retain(|keyword, value| !is_name(keyword, value));
            for (keyword, value) in fields {
                match value {
                    _ if KEYWORDS_WITH_DATA.contains(&keyword.as_str()) => {}
                    Value::Object(named)
                        if KEYWORDS_WITH_NAMED_SCHEMAS.contains(&keyword.as_str()) =>
                    {
                        named.values_mut().for_each(remove_names);
                    }
                    _ => remove_names(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(remove_names),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_go_and_properties_and_data_of_the_same_name_stay() {
        let schema = json!({
            "$id": "http://x.example/root", "type": "object",
            "properties": {
                "id": { "type": "string", "$anchor": "a" },
                "$id": { "id": "http://x.example/b", "const": { "$id": "b" } },
            },
            "$defs": { "list": { "$dynamicAnchor": "list", "items": [{ "$recursiveAnchor": true }] } },
            "default": { "id": "1" },
        });
        let nameless = json!({
            "type": "object",
            "properties": { "id": { "type": "string" }, "$id": { "const": { "$id": "b" } } },
            "$defs": { "list": { "items": [{}] } },
            "default": { "id": "1" },
        });
        assert_eq!(*without_names(&schema), nameless);
        assert!(matches!(without_names(&nameless), Cow::Borrowed(_)));
    }

    #[test]
    fn a_reference_is_a_pointer_in_a_fragment() {
        let schema = json!({ "$defs": { "a b": { "$anchor": "x" }, "a/b": 2 } });
        let found = |reference: &str| referenced(&schema, reference).cloned();
        assert_eq!(found("#"), Some(schema.clone()));
        assert_eq!(found("#/$defs/a%20b"), Some(json!({ "$anchor": "x" })));
        assert_eq!(found("#/%24defs/a~1b"), Some(json!(2)));
        for reference in ["", "#x", "#/$defs/none", "#/%FF", "http://x.example/a", "/$defs/a b"] {
            assert_eq!(found(reference), None, "{reference}");
        }
    }
}
