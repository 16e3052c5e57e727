//! Redacts JSON within a string.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::{
    CutReason, DEPTH_ELIDED, MAX_VALUES, NoPostprocess, OmissionCounts, Postprocess, ValueRedactor,
    WalkBounds,
};
use crate::redact::Counts;

/// The longest string that is parsed as JSON, in bytes; longer ones are scanned as text only.
const MAX_NESTED_JSON_BYTES: usize = 1024 * 1024;
/// The deepest nesting of JSON within strings of JSON.
const MAX_JSON_STRING_DEPTH: usize = 4;

/// JSON of a string, serialised after redaction, with what was masked and omitted.
pub(super) struct RedactedJsonText {
    pub(super) text: String,
    pub(super) masked: Counts,
    pub(super) omitted: OmissionCounts,
}

impl<F: Postprocess> ValueRedactor<'_, F> {
    /// Redacts a string that is itself JSON; `None` if no field of it was masked. The result still
    /// has to be scanned as text.
    pub(super) fn redact_nested_json(
        &mut self,
        text: &str,
        depth: usize,
    ) -> Option<RedactedJsonText> {
        let value = parse_nested_json(text)?;
        let cut = if self.json_string_depth >= MAX_JSON_STRING_DEPTH {
            Some(CutReason::Strings(MAX_JSON_STRING_DEPTH))
        } else {
            (self.remaining_values == 0).then_some(CutReason::Values(MAX_VALUES))
        };
        if let Some(cut) = cut {
            let omitted = OmissionCounts::from([(DEPTH_ELIDED, 1)]);
            return Some(RedactedJsonText {
                text: cut.to_string(),
                masked: Counts::new(),
                omitted,
            });
        }
        let names = std::mem::take(&mut self.names);
        let mut value_redactor =
            ValueRedactor::new(self.redactor, names, WalkBounds::WHOLE_VALUE, NoPostprocess);
        value_redactor.remaining_values = self.remaining_values;
        value_redactor.json_string_depth = self.json_string_depth + 1;
        let shown = value_redactor.value(&value, None, depth.saturating_add(1));
        self.remaining_values = value_redactor.remaining_values.saturating_sub(1);
        self.names = value_redactor.names;
        // The parser drops one of two equal keys, so the walk did not see it. Only text without
        // duplicates may stay as it is, with its layout and its numbers of any size.
        if shown == value && serde_json::from_str::<DistinctKeys>(text).is_ok() {
            return None;
        }
        Some(RedactedJsonText {
            text: shown.to_string(),
            masked: value_redactor.masked,
            omitted: value_redactor.omitted,
        })
    }
}

/// Reads JSON in which no object has a key twice, and keeps nothing of it.
struct DistinctKeys;

impl<'de> Deserialize<'de> for DistinctKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for DistinctKeys {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON without duplicate keys")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self, A::Error> {
        while items.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self, A::Error> {
        let mut keys = HashSet::new();
        while let Some(key) = fields.next_key::<String>()? {
            fields.next_value::<Self>()?;
            if !keys.insert(key) {
                return Err(A::Error::custom("a duplicate key"));
            }
        }
        Ok(self)
    }
}

/// True if a string begins like an object, a list or a string of JSON. Most strings begin with a
/// letter or a digit.
pub(super) fn may_be_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[', '"'])
}

/// Parses a string that contains an object, a list, or one of these as a JSON string.
fn parse_nested_json(text: &str) -> Option<Value> {
    if !may_be_json(text) {
        return None;
    }
    let inner = text.trim();
    let opens = matches!(
        (inner.bytes().next(), inner.bytes().next_back()),
        (Some(b'{'), Some(b'}')) | (Some(b'['), Some(b']')) | (Some(b'"'), Some(b'"'))
    );
    if !opens || inner.len() > MAX_NESTED_JSON_BYTES {
        return None;
    }
    match serde_json::from_str(inner).ok()? {
        Value::String(text) if parse_nested_json(&text).is_none() => None,
        value => Some(value),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_duplicate_keys_are_refused() {
        let is_distinct = |text: &str| serde_json::from_str::<DistinctKeys>(text).is_ok();
        for text in
            ["{\"a\": [{\"a\": null}, true], \"b\": \"a\"}", "[1.10, -2, 18446744073709551616]"]
        {
            assert!(is_distinct(text), "{text}");
        }
        for text in ["{\"a\": 1, \"a\": 2}", "[{\"b\": {\"\\u0061\": 1, \"a\": 2}}]", "{"] {
            assert!(!is_distinct(text), "{text}");
        }
    }

    #[test]
    fn a_string_holds_json_where_it_is_an_object_a_list_or_one_in_quotes() {
        for (text, expected) in [
            ("{\"a\": 1}", Some(json!({ "a": 1 }))),
            (" [1, 2]\n", Some(json!([1, 2]))),
            ("[]", Some(json!([]))),
            ("\"[1]\"", Some(json!("[1]"))),
            ("\"{\\\"a\\\": 1}\"", Some(json!("{\"a\": 1}"))),
            ("\"word\"", None),
            ("\"17\"", None),
            ("\"\"", None),
            ("\"", None),
            ("17", None),
            ("word", None),
            ("", None),
            ("{", None),
            ("[1}", None),
            ("{\"a\": 1", None),
            ("[1] and more", None),
        ] {
            assert_eq!(parse_nested_json(text), expected, "{text}");
        }
        assert!(may_be_json("  [") && may_be_json("{") && may_be_json("\"") && !may_be_json("a"));
    }

    #[test]
    fn a_string_beyond_a_mebibyte_is_a_text() {
        let list = |blanks: usize| format!("[{}]", " ".repeat(blanks));
        assert!(parse_nested_json(&list(MAX_NESTED_JSON_BYTES - 2)).is_some());
        assert!(parse_nested_json(&list(MAX_NESTED_JSON_BYTES - 1)).is_none());
    }
}
