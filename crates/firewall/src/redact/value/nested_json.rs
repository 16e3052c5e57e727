//! JSON inside of a string.

use serde_json::Value;
use weaver_types::canonical::{self, Profile};

use super::{
    Bounds, CutReason, ELIDED, MAX_VALUES, NoPostprocess, OmissionCounts, Postprocess,
    ValueRedactor,
};
use crate::redact::Counts;

/// The longest string that is tried as JSON, in bytes; longer ones are scanned as text only.
const MAX_JSON: usize = 1024 * 1024;
/// The most levels of JSON inside of strings of JSON.
const MAX_LEVEL: usize = 4;

/// JSON of a string, written anew, and what was masked and left out in it.
pub(super) struct RedactedJsonText {
    pub(super) text: String,
    pub(super) masked: Counts,
    pub(super) omitted: OmissionCounts,
}

impl<F: Postprocess> ValueRedactor<'_, F> {
    /// A string that is itself JSON, written anew if a field of it was masked. What remains is
    /// still to be scanned as text.
    pub(super) fn unpacked(&mut self, text: &str, depth: usize) -> Option<RedactedJsonText> {
        let value = packed(text)?;
        let cut = if self.level >= MAX_LEVEL {
            Some(CutReason::Strings(MAX_LEVEL))
        } else {
            (self.left == 0).then_some(CutReason::Values(MAX_VALUES))
        };
        if let Some(cut) = cut {
            let omitted = OmissionCounts::from([(ELIDED, 1)]);
            return Some(RedactedJsonText {
                text: cut.to_string(),
                masked: Counts::new(),
                omitted,
            });
        }
        let names = std::mem::take(&mut self.names);
        let mut walk = ValueRedactor::new(self.redactor, names, Bounds::WHOLE, NoPostprocess);
        walk.left = self.left;
        walk.level = self.level + 1;
        let shown = walk.value(&value, None, depth.saturating_add(1));
        self.left = walk.left.saturating_sub(1);
        self.names = walk.names;
        // What the reader dropped, one of two equal keys, was not seen by the walk.
        if shown == value && canonical::parse(text.as_bytes(), Profile::Foreign).is_ok() {
            return None;
        }
        Some(RedactedJsonText {
            text: shown.to_string(),
            masked: walk.masked,
            omitted: walk.omitted,
        })
    }
}

/// Whether a string begins as an object, a list or a string of JSON does. Most begin with a letter
/// or a digit.
pub(super) fn may_be_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[', '"'])
}

/// The value in a string that holds an object, a list, or one of them in quotes.
fn packed(text: &str) -> Option<Value> {
    if !may_be_json(text) {
        return None;
    }
    let inner = text.trim();
    let opens = matches!(
        (inner.bytes().next(), inner.bytes().next_back()),
        (Some(b'{'), Some(b'}')) | (Some(b'['), Some(b']')) | (Some(b'"'), Some(b'"'))
    );
    if !opens || inner.len() < 2 || inner.len() > MAX_JSON {
        return None;
    }
    match serde_json::from_str(inner).ok()? {
        Value::String(text) if packed(&text).is_none() => None,
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
            assert_eq!(packed(text), expected, "{text}");
        }
        assert!(may_be_json("  [") && may_be_json("{") && may_be_json("\"") && !may_be_json("a"));
    }

    #[test]
    fn a_string_beyond_a_mebibyte_is_a_text() {
        let list = |blanks: usize| format!("[{}]", " ".repeat(blanks));
        assert!(packed(&list(MAX_JSON - 2)).is_some());
        assert!(packed(&list(MAX_JSON - 1)).is_none());
    }
}
