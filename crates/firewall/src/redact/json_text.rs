//! JSON as text: values under telling field names are masked in place, so that layout and field
//! order are preserved.

use std::ops::Range;

use serde_json::{Value, json};

use super::engine::{Detection, PERSONAL_FIELD_RULE, SECRET_FIELD_RULE, merge_detections};
use super::field_names::HiddenBy;
use super::json_parts;
use super::value::{Postprocess, ValueRedactor};

/// The longest text that is parsed as JSON, in bytes.
const MAX_JSON_BYTES: usize = 4 * 1024 * 1024;
/// The longest object that is read to see whether it describes values, in bytes.
const MAX_DESCRIPTION_BYTES: usize = 2 * 1024;

/// Every value that its field name hides, if the text is a whole JSON document.
pub(crate) fn hidden_fields<F: Postprocess>(
    text: &str,
    value_redactor: &mut ValueRedactor<'_, F>,
) -> Vec<Detection> {
    let trimmed = text.trim_start();
    if !trimmed.starts_with(['{', '[']) || text.len() > MAX_JSON_BYTES {
        return Vec::new();
    }
    if serde_json::from_str::<serde::de::IgnoredAny>(text).is_err() {
        return Vec::new();
    }
    values_under_names(text, |name, from_value| rule_of_field(name, from_value, value_redactor))
}

/// Every value that its field name hides in the parts of a text that are JSON: a line, a block in a
/// fence, the data of an event.
pub(crate) fn hidden_fields_of_parts<F: Postprocess>(
    text: &str,
    value_redactor: &mut ValueRedactor<'_, F>,
) -> Vec<Detection> {
    json_parts::values_under_names(text, |name, from_value| {
        rule_of_field(name, from_value, value_redactor)
    })
}

/// The rule by which a field name, as it is written, hides the value at the start of this text.
fn rule_of_field<F: Postprocess>(
    name: &str,
    from_value: &[u8],
    value_redactor: &mut ValueRedactor<'_, F>,
) -> Option<usize> {
    let Ok(Value::String(name)) = serde_json::from_str(name) else { return None };
    let outline = outline(from_value)?;
    Some(match value_redactor.field_name(&name).hides_value(&outline)? {
        HiddenBy::Secret => SECRET_FIELD_RULE,
        HiddenBy::Personal(_) => PERSONAL_FIELD_RULE,
    })
}

/// The object at the start of this text, if it is short enough to be a description of values.
fn short_object(from_value: &[u8]) -> Option<Value> {
    let start = from_value.get(..from_value.len().min(MAX_DESCRIPTION_BYTES))?;
    serde_json::Deserializer::from_slice(start).into_iter().next()?.ok()
}

/// A value of the same type as the one at the start of this text, and as empty: all that decides
/// whether a field name hides it.
fn outline(from_value: &[u8]) -> Option<Value> {
    let (first, rest) = from_value.split_first()?;
    let next = rest.iter().find(|byte| !byte.is_ascii_whitespace());
    Some(match (first, next) {
        (b'n' | b't' | b'f', _) => Value::Null,
        (b'"', Some(b'"')) => Value::String(String::new()),
        (b'"', _) => Value::String("…".to_owned()),
        (b'{', Some(b'}')) => json!({}),
        (b'{', _) => short_object(from_value).unwrap_or_else(|| json!({ "": null })),
        (b'[', Some(b']')) => json!([]),
        (b'[', Some(b'{')) => json!([{}]),
        (b'[', _) => json!([null]),
        _ => Value::from(0),
    })
}

/// Merges what rules found with what field names hide. If a rule found exactly the content of a
/// hidden string, the rule's kind is kept, unless the string has escapes: its value is what they
/// stand for.
pub(crate) fn merge_field_detections(
    text: &str,
    mut found: Vec<Detection>,
    fields: Vec<Detection>,
) -> Vec<Detection> {
    let known = |field: &Detection| {
        // Inside the quotes of a string.
        let at = found.partition_point(|one| one.range.start <= field.range.start);
        let inner = field.range.start + 1..field.range.end.saturating_sub(1);
        let is_plain = text.get(inner.clone()).is_some_and(|inner| !inner.contains('\\'));
        is_plain && found.get(at).is_some_and(|one| one.range == inner)
    };
    let fields: Vec<Detection> = fields.into_iter().filter(|field| !known(field)).collect();
    // Where a rule found a whole number, the field's mask has the quotes that JSON needs.
    found.retain(|one| {
        let at = fields.partition_point(|field| field.range.start < one.range.start);
        fields.get(at).is_none_or(|field| field.range != one.range)
    });
    found.extend(fields);
    merge_detections(found)
}

/// True for exactly one JSON value.
pub(crate) fn is_json_value(text: &str) -> bool {
    let begins = |c: char| matches!(c, '"' | '-' | '{' | '[') || c.is_ascii_digit();
    text.starts_with(begins) && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// Every value of a valid document that its field name hides, in order. `hidden_rule` gets the name
/// and the text from the value on. Items of a list have the list's name; hidden values are not
/// searched further.
fn values_under_names(
    text: &str,
    mut hidden_rule: impl FnMut(&str, &[u8]) -> Option<usize>,
) -> Vec<Detection> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    // For each open list or object, its name.
    let mut open: Vec<Option<&str>> = Vec::new();
    let mut name: Option<&str> = None;
    // The hidden list or object that is open: its offset, depth and rule.
    let mut hidden: Option<(usize, usize, usize)> = None;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'{' | b'[' => {
                // A list was judged with its items; an object in it has names of its own.
                let is_item_object = *byte == b'{' && !follows_colon(bytes, at);
                if hidden.is_none()
                    && !is_item_object
                    && let Some(rule) = name.and_then(|name| hidden_rule(name, bytes.get(at..)?))
                {
                    hidden = Some((at, open.len(), rule));
                }
                open.push(name);
            }
            b'}' | b']' => {
                name = open.pop().flatten();
                if let Some((start, _, rule)) = hidden.filter(|(_, depth, _)| *depth == open.len())
                {
                    found.push(Detection { range: start..at + 1, rule });
                    hidden = None;
                }
            }
            b',' => name = open.last().copied().flatten(),
            b':' | b' ' | b'\n' | b'\r' | b'\t' => {}
            _ => {
                let end = scalar_end(bytes, at);
                if *byte == b'"' && next_is_colon(bytes, end) {
                    name = text.get(at..end);
                } else if hidden.is_none()
                    && let Some(rule) = name.and_then(|name| hidden_rule(name, bytes.get(at..)?))
                {
                    found.push(Detection { range: at..end, rule });
                }
                at = end;
                continue;
            }
        }
        at += 1;
    }
    found
}

/// True for a member of an object, false for an item of a list.
fn follows_colon(bytes: &[u8], at: usize) -> bool {
    let before = bytes.get(..at).unwrap_or_default();
    before.iter().rev().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':')
}

/// Whether a text begins like an object or a list; `[REDACTED]` does not. The text may arrive in
/// pieces.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) enum JsonStart {
    /// Nothing but blanks was seen.
    #[default]
    Unknown,
    /// The opening bracket was seen.
    Opened(char),
    Known(bool),
}

impl JsonStart {
    /// What is known once this piece was seen, too.
    pub(crate) fn after(self, piece: &str) -> Self {
        let piece = piece.trim_start();
        let Some(first) = piece.chars().next() else { return self };
        match self {
            Self::Unknown => match piece.strip_prefix(['{', '[']) {
                Some(inside) => Self::Opened(first).after(inside),
                None => Self::Known(false),
            },
            Self::Opened('{') => Self::Known(matches!(first, '"' | '}')),
            Self::Opened(_) => Self::Known(first.is_ascii_digit() || "\"-[]{tfn".contains(first)),
            Self::Known(_) => self,
        }
    }

    /// True if enough was seen to know that this is JSON.
    pub(crate) fn is_json(self) -> bool {
        matches!(self, Self::Known(true))
    }
}

/// The offsets of detections that are bare numbers of a JSON text: their masks must be quoted to
/// keep the text valid. A minus sign becomes part of the number's range, unless it precedes `free`.
pub(crate) fn number_positions(text: &str, mut free: usize, found: &mut [Detection]) -> Vec<usize> {
    let mut numbers = Vec::new();
    for one in found {
        let before = text.get(free..one.range.start).unwrap_or_default();
        let whole = one.range.start - usize::from(before.ends_with('-'))..one.range.end;
        if is_bare_value(text, &whole) {
            numbers.push(whole.start);
            one.range = whole;
        }
        free = one.range.end;
    }
    numbers
}

/// The blanks, in bytes, that may be between a value and the signs around it. The bound makes the
/// answer depend on what is near, as a text that arrives in pieces needs.
const MAX_BLANKS: usize = 64;

/// True if a number is a JSON value of its own.
fn is_bare_value(text: &str, number: &Range<usize>) -> bool {
    let near = text.ceil_char_boundary(number.start.saturating_sub(MAX_BLANKS))
        ..text.floor_char_boundary(number.end + MAX_BLANKS);
    let before = text.get(near.start..number.start).and_then(|t| t.trim_end().bytes().next_back());
    let after = text.get(number.end..near.end).and_then(|t| t.trim_start().bytes().next());
    matches!(before, Some(b':' | b',' | b'['))
        && matches!(after, Some(b',' | b']' | b'}'))
        && text.get(number.clone()).is_some_and(|value| value.parse::<f64>().is_ok())
}

/// Where the JSON string, number or literal that begins at `start` ends.
pub(crate) fn scalar_end(bytes: &[u8], start: usize) -> usize {
    let rest = bytes.get(start + 1..).unwrap_or_default();
    if bytes.get(start) != Some(&b'"') {
        let ends = |b: &u8| matches!(b, b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t');
        return start + 1 + rest.iter().position(ends).unwrap_or(rest.len());
    }
    let mut escaped = false;
    for (at, byte) in rest.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return start + at + 2,
            _ => {}
        }
    }
    bytes.len()
}

/// True if what ends at `from` is a field name.
pub(crate) fn next_is_colon(bytes: &[u8], from: usize) -> bool {
    let rest = bytes.get(from..).unwrap_or_default();
    rest.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b':')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Firewall;

    #[test]
    fn a_scalar_ends_at_its_quote_or_at_a_sign() {
        for (text, start, end) in [
            ("\"a\" ,", 0, 3),
            ("\"\"", 0, 2),
            ("\"a\\\"b\"x", 0, 6),
            ("\"a\\\\\"x", 0, 5),
            ("\"open", 0, 5),
            ("12,3", 0, 2),
            ("[12]", 1, 3),
            ("true}", 0, 4),
            ("1.5e3", 0, 5),
            ("1\n", 0, 1),
            ("1\t", 0, 1),
            ("1\r", 0, 1),
            ("1 2", 0, 1),
        ] {
            assert_eq!(scalar_end(text.as_bytes(), start), end, "{text:?}");
        }
        assert!(next_is_colon(b"a :", 1) && next_is_colon(b"a\n:", 1) && next_is_colon(b":", 0));
        assert!(!next_is_colon(b"a ,:", 1) && !next_is_colon(b"a ", 1) && !next_is_colon(b"", 0));
    }

    #[test]
    fn json_is_told_by_its_beginning() {
        for text in
            ["{\"a\"", " { }", "{}", "[]", "[1", "[ -1", "[\"", "[[", "[{", "[t", "[f", "[n"]
        {
            assert!(JsonStart::default().after(text).is_json(), "{text}");
        }
        for text in ["", "{", "[", "{a", "[REDACTED]", "[x", "1", "\"a\"", "a {\"b\""] {
            assert!(!JsonStart::default().after(text).is_json(), "{text}");
        }
        for (text, is_one) in [
            ("1", true),
            ("-1.5", true),
            ("\"a\"", true),
            ("{}", true),
            ("[1]", true),
            ("", false),
            ("a", false),
            ("true", false),
            ("1 2", false),
            ("[1", false),
            ("-", false),
        ] {
            assert_eq!(is_json_value(text), is_one, "{text}");
        }
    }

    #[test]
    fn a_number_between_signs_of_json_is_masked_with_its_sign() {
        for (text, range, begins, shown) in [
            ("{\"a\": -123}", 7..10, Some(6), 6..10),
            ("{\"a\": 123}", 6..9, Some(6), 6..9),
            ("[1, 123 ,2]", 4..7, Some(4), 4..7),
            ("[123]", 1..4, Some(1), 1..4),
            ("{\"a\": \"123\"}", 7..10, None, 7..10),
            ("{\"a\": 1234}", 6..9, None, 6..9),
            ("[1-123]", 3..6, None, 3..6),
        ] {
            let mut found = [Detection { range, rule: 0 }];
            let numbers = number_positions(text, 0, &mut found);
            assert_eq!(
                (numbers.first().copied(), found[0].range.clone()),
                (begins, shown),
                "{text}"
            );
        }
    }

    #[test]
    fn what_stands_under_a_hidden_name_is_hidden_as_a_whole() {
        let hides =
            |name: &str, value: &[u8]| (name == "\"x\"" && !value.starts_with(b"n")).then_some(7);
        for (text, hidden) in [
            (r#"{"x": 1, "a": 2}"#, "1"),
            (r#"{"x": "v\"w"}"#, r#""v\"w""#),
            (r#"{"x": {"a": [1]}, "b": 2}"#, r#"{"a": [1]}"#),
            (r#"{"x": [1, {"x": 2}], "b": 2}"#, r#"[1, {"x": 2}]"#),
            (r#"[{"x": 1}, {"x" : 2}]"#, "1 2"),
            (r#"{"a": {"x": 1}, "b": [{"x": 2}, 3]}"#, "1 2"),
            (r#"{"x": null, "a": "x"}"#, ""),
            (r#"{"a": ["x", 1]}"#, ""),
            (r#"{"x": true}"#, "true"),
        ] {
            let found = values_under_names(text, hides);
            assert!(found.iter().all(|one| one.rule == 7), "{text}");
            let shown: Vec<&str> =
                found.into_iter().filter_map(|one| text.get(one.range)).collect();
            assert_eq!(shown.join(" "), hidden, "{text}");
        }
    }

    #[test]
    fn a_rule_that_knows_all_of_a_hidden_string_names_it() {
        let one = |range, rule| Detection { range, rule };
        let text = "{\"x\": \"abc\", \"y\": \"a\\nc\"}";
        let named = |found: Range<usize>, field: Range<usize>| {
            let all = merge_field_detections(text, vec![one(found, 1)], vec![one(field, 2)]);
            all.into_iter().map(|one| (one.range, one.rule)).collect::<Vec<_>>()
        };
        assert_eq!(named(7..10, 6..11), [(7..10, 1)]);
        assert_eq!(named(7..9, 6..11).len(), 1);
        assert_eq!(named(7..9, 6..11)[0].0, 6..11);
        assert_eq!(named(19..23, 18..24)[0].0, 18..24);
        assert_eq!(named(6..11, 6..11), [(6..11, 2)]);
    }

    #[test]
    fn a_number_is_masked_with_its_sign_and_the_text_stays_json() {
        for text in [r#"{"note":"phone","e":-4155526714}"#, r#"["phone", 4155526714]"#] {
            let shown = Firewall::new().redact_text(text).text;
            assert!(
                shown.ends_with("\"[REDACTED]\"}") || shown.ends_with("\"[REDACTED]\"]"),
                "{shown}"
            );
            assert!(serde_json::from_str::<serde_json::Value>(&shown).is_ok(), "{shown}");
        }
    }
}
