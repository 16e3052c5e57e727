//! Redacts JSON within a string.

use serde_json::Value;
use weaver_types::canonical::{self, Profile};

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
        // duplicates may stay as it is.
        if shown == value && canonical::parse(text.as_bytes(), Profile::Foreign).is_ok() {
            return None;
        }
        Some(RedactedJsonText {
            text: shown.to_string(),
            masked: value_redactor.masked,
            omitted: value_redactor.omitted,
        })
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
