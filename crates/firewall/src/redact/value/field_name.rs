//! A field name together with its meaning.

use serde_json::{Map, Value};

use crate::redact::field_names::{FieldMeaning, FieldNameClassifier, HiddenBy};

/// A field name and what it says about its value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FieldName<'k> {
    pub(crate) name: &'k str,
    pub(super) meaning: FieldMeaning,
}

impl<'k> FieldName<'k> {
    /// Why a value under this name is never shown; `None` if it may be. Null, true and false are
    /// never secrets, and neither are counts of values nor what is empty; an empty text may be a
    /// secret.
    ///
    /// A list of objects under a name for mail is a list of messages. Their addresses are found by
    /// their form. What describes a value, as in a JSON Schema or an OpenAPI document, is not one.
    pub(crate) fn hides_value(self, value: &Value) -> Option<HiddenBy> {
        let counts = |aggregate| self.name.starts_with(aggregate);
        let is_count = || ["count(", "distinct("].into_iter().any(counts);
        let is_public = match value {
            Value::Null | Value::Bool(_) => true,
            Value::Array(items) => items.is_empty(),
            Value::Object(map) => map.is_empty(),
            Value::String(text) => text.is_empty() && self.hides_personal_data(),
            Value::Number(_) => is_count(),
        };
        let is_list_of_objects =
            || value.as_array().and_then(|items| items.first()).is_some_and(Value::is_object);
        if self.meaning.hidden_by == Some(HiddenBy::Personal(Some("email"))) && is_list_of_objects()
            || value.as_object().is_some_and(describes_values)
        {
            return None;
        }
        self.meaning.hidden_by.filter(|_| !is_public)
    }

    fn hides_personal_data(self) -> bool {
        matches!(self.meaning.hidden_by, Some(HiddenBy::Personal(_)))
    }

    /// Classifies a name.
    pub(crate) fn classify(name: &'k str, names: &mut FieldNameClassifier) -> Self {
        Self { name, meaning: names.classify(name) }
    }
}

/// True for a schema or a security scheme without a value of its own.
fn describes_values(map: &Map<String, Value>) -> bool {
    const TYPES: [&str; 12] = [
        "string", "number", "integer", "boolean", "object", "array", "null", "apiKey", "http",
        "oauth2", "openIdConnect", "mutualTLS",
    ];
    const VALUES: [&str; 7] = ["const", "default", "enum", "example", "examples", "value", "key"];
    let is_type = |word: &Value| word.as_str().is_some_and(|word| TYPES.contains(&word));
    let has_type = match map.get("type") {
        Some(Value::Array(words)) => !words.is_empty() && words.iter().all(is_type),
        Some(word) => is_type(word),
        None => false,
    };
    has_type && !VALUES.iter().any(|name| map.contains_key(*name))
}
