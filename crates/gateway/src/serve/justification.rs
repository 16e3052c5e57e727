//! The justification of a call in proxy mode: an optional argument that Weaver adds to the input
//! schema of every tool, and takes out again before the call is checked, decided or made.

use serde_json::{Map, Value, json};

use super::call_argument_error::CallArgumentError;

/// The argument that carries the justification.
pub(super) const KEY: &str = "_justification";
/// The longest justification, in bytes.
const MAX_LENGTH: usize = 4_000;
const DESCRIPTION: &str = "Why this call is needed, recorded as your own words.";

/// True when Weaver adds its argument to a tool of this schema. A tool that has an argument of the
/// name keeps its own; a schema that describes no object is left alone.
pub(super) fn is_added(schema: &Value) -> bool {
    let Some(fields) = schema.as_object() else { return false };
    let object = fields.get("type").is_none_or(|kind| kind == "object");
    let free = match fields.get("properties") {
        None => true,
        Some(Value::Object(properties)) => !properties.contains_key(KEY),
        Some(_) => false,
    };
    object && free
}

/// Adds the argument to a schema for which [`is_added`] holds.
pub(super) fn add(schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else { return };
    let properties = fields.entry("properties").or_insert_with(|| json!({}));
    if let Some(properties) = properties.as_object_mut() {
        properties.insert(KEY.to_owned(), json!({ "type": "string", "description": DESCRIPTION }));
    }
}

/// Takes the justification out of the arguments.
///
/// # Errors
/// [`CallArgumentError::Justification`].
pub(super) fn take(
    arguments: &mut Map<String, Value>,
) -> Result<Option<String>, CallArgumentError> {
    match arguments.remove(KEY) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.len() <= MAX_LENGTH => Ok(Some(text)),
        Some(_) => Err(CallArgumentError::Justification { key: KEY, most: MAX_LENGTH }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_object_or_has_the_name_itself_is_left_alone() {
        for free in [json!({}), json!({"type": "object", "properties": {"a": {}}})] {
            assert!(is_added(&free), "{free}");
        }
        for taken in [
            json!(true),
            json!({"type": "array"}),
            json!({"properties": []}),
            json!({"properties": {KEY: {"type": "number"}}}),
        ] {
            assert!(!is_added(&taken), "{taken}");
        }
    }

    #[test]
    fn a_closed_schema_names_the_argument() {
        let mut schema = json!({"type": "object", "additionalProperties": false});
        add(&mut schema);
        assert_eq!(schema["properties"][KEY]["type"], "string");
    }

    #[test]
    fn a_justification_is_bounded_text() {
        let with = |value: Value| take(&mut Map::from_iter([(KEY.to_owned(), value)]));
        assert_eq!(with(json!("why")), Ok(Some("why".to_owned())));
        assert_eq!(with(json!(null)), Ok(None));
        assert!(with(json!(1)).is_err());
        assert!(with(json!("x".repeat(MAX_LENGTH + 1))).is_err());
    }
}
