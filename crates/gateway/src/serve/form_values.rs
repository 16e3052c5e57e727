//! Checks a person's input against the form that a server sent. Forms use the subset of JSON Schema
//! that the protocol allows: one flat object of plain values.

use serde_json::{Map, Value};

/// The most fields of a form.
const MAX_FIELDS: usize = 100;

/// Why values do not fit a form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FormError {
    /// The form is malformed.
    #[error("the form is not a flat object of plain values")]
    Form,
    /// A required field is missing.
    #[error("`{0}` is missing")]
    Missing(String),
    /// A value of the wrong type, or beyond its bounds.
    #[error("`{0}` does not fit its field")]
    Value(String),
}

/// Checks that a form is well-formed, before a person is asked to fill it in.
pub(crate) fn check_form(form: &Value) -> Result<(), FormError> {
    let fields = fields(form)?;
    let is_plain = |field: &Value| {
        matches!(
            field.get("type").and_then(Value::as_str),
            Some("string" | "number" | "integer" | "boolean" | "array")
        )
    };
    match fields.len() <= MAX_FIELDS && fields.values().all(is_plain) {
        true => Ok(()),
        false => Err(FormError::Form),
    }
}

/// The values of a person for the fields of a form. Others are left out: the server did not ask for
/// them.
pub(crate) fn fitting_values(
    form: &Value,
    values: &Map<String, Value>,
) -> Result<Map<String, Value>, FormError> {
    let fields = fields(form)?;
    let required = form.get("required").and_then(Value::as_array);
    for name in required.into_iter().flatten().filter_map(Value::as_str) {
        if !values.contains_key(name) {
            return Err(FormError::Missing(name.to_owned()));
        }
    }
    let mut fitting = Map::new();
    for (name, value) in values {
        let Some(field) = fields.get(name) else { continue };
        if !matches_field(field, value) {
            return Err(FormError::Value(name.clone()));
        }
        fitting.insert(name.clone(), value.clone());
    }
    Ok(fitting)
}

fn fields(form: &Value) -> Result<&Map<String, Value>, FormError> {
    let is_object = form.get("type").and_then(Value::as_str) == Some("object");
    let fields = form.get("properties").and_then(Value::as_object);
    fields.filter(|_| is_object).ok_or(FormError::Form)
}

fn matches_field(field: &Value, value: &Value) -> bool {
    match (field.get("type").and_then(Value::as_str), value) {
        (Some("string"), Value::String(text)) => {
            is_within(field, ["minLength", "maxLength"], as_bound(text.chars().count()))
                && is_allowed_choice(field, text)
        }
        (Some("boolean"), Value::Bool(_)) => true,
        (Some("integer"), Value::Number(number)) => {
            let is_integer = number.as_f64().is_some_and(|number| number.fract() == 0.0);
            is_integer && is_number_within(field, value)
        }
        (Some("number"), Value::Number(_)) => is_number_within(field, value),
        (Some("array"), Value::Array(items)) => {
            let item = field.get("items").unwrap_or(&Value::Null);
            is_within(field, ["minItems", "maxItems"], as_bound(items.len()))
                && items
                    .iter()
                    .all(|value| value.as_str().is_some_and(|text| is_allowed_choice(item, text)))
        }
        _ => false,
    }
}

fn is_number_within(field: &Value, value: &Value) -> bool {
    value.as_f64().is_some_and(|number| is_within(field, ["minimum", "maximum"], number))
}

fn is_within(field: &Value, bounds: [&str; 2], value: f64) -> bool {
    let [min, max] = bounds.map(|key| field.get(key).and_then(Value::as_f64));
    min.is_none_or(|min| value >= min) && max.is_none_or(|max| value <= max)
}

/// A length as a number to compare with bounds. Lengths beyond `u32` count as infinite.
fn as_bound(length: usize) -> f64 {
    u32::try_from(length).map_or(f64::INFINITY, f64::from)
}

/// Whether a text is one of the field's choices, if it restricts them.
fn is_allowed_choice(field: &Value, text: &str) -> bool {
    if let Some(choices) = field.get("enum").and_then(Value::as_array) {
        return choices.iter().any(|choice| choice.as_str() == Some(text));
    }
    let titled = field.get("oneOf").or_else(|| field.get("anyOf")).and_then(Value::as_array);
    titled.is_none_or(|choices| {
        choices.iter().any(|choice| choice.get("const").and_then(Value::as_str) == Some(text))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn form() -> Value {
        json!({"type": "object", "required": ["name"], "properties": {
            "name": {"type": "string", "minLength": 2, "maxLength": 3},
            "age": {"type": "integer", "minimum": 1, "maximum": 9},
            "weight": {"type": "number"},
            "sure": {"type": "boolean"},
            "colour": {"type": "string", "enum": ["red"]},
            "size": {"type": "string", "oneOf": [{"const": "s", "title": "Small"}]},
            "tags": {"type": "array", "maxItems": 1, "items": {"type": "string", "enum": ["a", "b"]}}}})
    }

    fn checked(values: Value) -> Result<Value, FormError> {
        let Value::Object(values) = values else { panic!() };
        fitting_values(&form(), &values).map(Value::Object)
    }

    #[test]
    fn values_fit_or_are_named() {
        assert_eq!(check_form(&form()), Ok(()));
        let all = json!({"name": "éé", "age": 9, "weight": 1.5, "sure": false, "colour": "red",
            "size": "s", "tags": ["b"]});
        assert_eq!(checked(all.clone()), Ok(all));
        assert_eq!(checked(json!({})), Err(FormError::Missing("name".to_owned())));
        let asked = json!({"name": "ab"});
        assert_eq!(checked(json!({"name": "ab", "x": 1})), Ok(asked), "the rest is left out");
        for (key, value) in [
            ("name", json!("a")),
            ("name", json!("abcd")),
            ("name", json!(12)),
            ("age", json!(0)),
            ("age", json!(1.5)),
            ("age", json!("1")),
            ("sure", json!("yes")),
            ("colour", json!("blue")),
            ("size", json!("m")),
            ("tags", json!(["c"])),
            ("tags", json!(["a", "b"])),
            ("tags", json!("a")),
        ] {
            let mut values = json!({"name": "ab"});
            values[key] = value.clone();
            assert_eq!(checked(values), Err(FormError::Value(key.to_owned())), "{key}: {value}");
        }
    }

    #[test]
    fn what_is_no_form_is_not_shown_to_a_person() {
        for odd in [
            json!(null),
            json!({"type": "object"}),
            json!({"properties": {}}),
            json!({"type": "object", "properties": {"a": {"type": "object", "properties": {}}}}),
            json!({"type": "object", "properties": {"a": {}}}),
        ] {
            assert_eq!(check_form(&odd), Err(FormError::Form), "{odd}");
        }
    }
}
