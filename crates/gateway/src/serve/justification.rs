//! The justification of a call in proxy mode: an optional argument that Weaver adds to the input
//! schema of every tool where a rule asks for one, and removes before the call is checked, decided
//! or made.

use serde_json::{Map, Value, json};

use super::call_argument_error::CallArgumentError;

/// The argument that carries the justification.
pub(super) const KEY: &str = "_justification";
/// The longest justification, in bytes.
const MAX_BYTES: usize = 4_000;
const DESCRIPTION: &str = "Why this call is needed, recorded as your own words.";

/// True when the argument can be added to this schema. A tool with an argument of that name keeps
/// its own; a schema that does not describe an object is left alone.
pub(super) fn can_be_added(schema: &Value) -> bool {
    let Some(fields) = schema.as_object() else { return false };
    let is_object = fields.get("type").is_none_or(|kind| kind == "object");
    let is_name_free = match fields.get("properties") {
        None => true,
        Some(Value::Object(properties)) => !properties.contains_key(KEY),
        Some(_) => false,
    };
    is_object && is_name_free
}

/// Adds the argument to a schema where [`can_be_added`] holds.
pub(super) fn add_to_schema(schema: &mut Value) {
    if !can_be_added(schema) {
        return;
    }
    let Some(fields) = schema.as_object_mut() else { return };
    let properties = fields.entry("properties").or_insert_with(|| json!({}));
    if let Some(properties) = properties.as_object_mut() {
        properties.insert(KEY.to_owned(), json!({ "type": "string", "description": DESCRIPTION }));
    }
}

/// Removes the justification from the arguments.
///
/// # Errors
/// [`CallArgumentError::Justification`].
pub(super) fn take_from(
    arguments: &mut Map<String, Value>,
) -> Result<Option<String>, CallArgumentError> {
    match arguments.remove(KEY) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.len() <= MAX_BYTES => Ok(Some(text)),
        Some(_) => Err(CallArgumentError::Justification { key: KEY, limit: MAX_BYTES }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_object_or_has_the_name_itself_is_left_alone() {
        for free in [json!({}), json!({"type": "object", "properties": {"a": {}}})] {
            assert!(can_be_added(&free), "{free}");
        }
        for taken in [
            json!(true),
            json!({"type": "array"}),
            json!({"properties": []}),
            json!({"properties": {KEY: {"type": "number"}}}),
        ] {
            assert!(!can_be_added(&taken), "{taken}");
        }
    }

    #[test]
    fn a_closed_schema_names_the_argument() {
        let mut schema = json!({"type": "object", "additionalProperties": false});
        add_to_schema(&mut schema);
        assert_eq!(schema["properties"][KEY]["type"], "string");
    }

    #[test]
    fn a_justification_is_bounded_text() {
        let with = |value: Value| take_from(&mut Map::from_iter([(KEY.to_owned(), value)]));
        assert_eq!(with(json!("why")), Ok(Some("why".to_owned())));
        assert_eq!(with(json!(null)), Ok(None));
        assert!(with(json!(1)).is_err());
        assert!(with(json!("x".repeat(MAX_BYTES + 1))).is_err());
    }
}
