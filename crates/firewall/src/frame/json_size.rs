//! Computes the length of a value's JSON without serialising it.

use std::fmt::{self, Write as _};

use serde_json::{Map, Value};
use weaver_types::{Frame, Handle, Warning};

/// The exact length in bytes of a value's compact JSON, as `serde_json::to_string(value)` writes
/// it, or `None` if it exceeds `limit`. Nothing is allocated, and the walk stops at the limit.
///
/// ```
/// use serde_json::json;
/// use weaver_firewall::json_len_within;
///
/// let value = json!({ "a": [1, true, null], "b": "ü\n" });
/// assert_eq!(json_len_within(&value, 100), Some(value.to_string().len()));
/// assert_eq!(json_len_within(&value, 10), None);
/// ```
#[must_use]
pub fn json_len_within(value: &Value, limit: usize) -> Option<usize> {
    let mut size = SizeCounter { remaining: limit, byte_width: escaped_bytes };
    size.value(value).then(|| limit - size.remaining)
}

/// The characters of an object's JSON.
pub(crate) fn object_chars(map: &Map<String, Value>) -> usize {
    let mut size = SizeCounter { remaining: usize::MAX, byte_width: escaped_chars };
    size.object(map);
    usize::MAX - size.remaining
}

/// The characters of a value's JSON.
pub(crate) fn value_chars(value: &Value) -> usize {
    let mut size = SizeCounter { remaining: usize::MAX, byte_width: escaped_chars };
    size.value(value);
    usize::MAX - size.remaining
}

/// The characters of a text as a JSON string, with its quotes.
pub(crate) fn text_chars(text: &str) -> usize {
    let mut size = SizeCounter { remaining: usize::MAX, byte_width: escaped_chars };
    size.text(text);
    usize::MAX - size.remaining
}

/// Upper bound for a frame's JSON besides its texts, lists and numbers: keys, literals, brackets.
const FRAME_OVERHEAD: usize = 800;
/// Upper bound for a warning's JSON besides its kind.
const WARNING_OVERHEAD: usize = 48;
/// Upper bound for a number.
const MAX_NUMBER_CHARS: usize = 32;

/// How closely a text is inspected for its upper bound as a JSON string.
#[derive(Debug, Clone, Copy)]
pub(crate) enum EscapeEstimate {
    /// Not at all: each byte may need the longest escape.
    WorstCase,
    /// One scan without branches: most texts need no escape at all.
    SingleScan,
}

/// An upper bound for the characters of a frame's JSON. It costs a fraction of serialising.
pub(crate) fn frame_at_most(frame: &Frame, estimate: EscapeEstimate) -> usize {
    let Frame { call_id, capability_id, facts, table, raw, handle, warnings, label, .. } = frame;
    let ids =
        text_at_most(call_id.as_str(), estimate) + text_at_most(capability_id.as_str(), estimate);
    let facts: usize = facts.iter().map(|fact| text_at_most(fact, estimate) + 1).sum();
    let rows: usize = table.iter().map(|row| object_at_most(row, estimate) + 1).sum();
    let handle = handle.as_ref().map_or(0, |handle| {
        let Handle { handle_id, capability_id, media_type, views, .. } = handle;
        let texts = [handle_id.as_str(), capability_id.as_str(), media_type];
        let texts: usize = texts.into_iter().map(|text| text_at_most(text, estimate)).sum();
        texts + views.iter().map(|view| text_at_most(view, estimate) + 1).sum::<usize>()
    });
    let source =
        frame.provenance.as_ref().map_or(0, |source| text_at_most(&source.source_uri, estimate));
    let taints: usize =
        label.taints.iter().map(|call| text_at_most(call.as_str(), estimate) + 1).sum();
    let parts = [ids, facts, rows, handle, source, taints, warnings_at_most(warnings, estimate)];
    FRAME_OVERHEAD
        + parts.iter().sum::<usize>()
        + raw.as_ref().map_or(0, |raw| value_at_most(raw, estimate))
}

/// An upper bound for the JSON of these warnings.
pub(crate) fn warnings_at_most(warnings: &[Warning], estimate: EscapeEstimate) -> usize {
    2 + warnings
        .iter()
        .map(|warning| text_at_most(&warning.kind, estimate) + WARNING_OVERHEAD)
        .sum::<usize>()
}

/// An upper bound for the JSON of an object.
pub(crate) fn object_at_most(map: &Map<String, Value>, estimate: EscapeEstimate) -> usize {
    2 + map
        .iter()
        .map(|(key, value)| text_at_most(key, estimate) + value_at_most(value, estimate) + 2)
        .sum::<usize>()
}

fn value_at_most(value: &Value, estimate: EscapeEstimate) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Number(_) => MAX_NUMBER_CHARS,
        Value::String(text) => text_at_most(text, estimate),
        Value::Array(items) => {
            2 + items.iter().map(|item| value_at_most(item, estimate) + 1).sum::<usize>()
        }
        Value::Object(map) => object_at_most(map, estimate),
    }
}

/// An upper bound for a text as a JSON string.
pub(crate) fn text_at_most(text: &str, estimate: EscapeEstimate) -> usize {
    let plain = matches!(estimate, EscapeEstimate::SingleScan) && is_plain_text(text);
    2 + text.len() * if plain { 1 } else { 6 }
}

/// True for a byte that needs no escape in a JSON string.
fn is_plain(byte: u8) -> bool {
    (byte >= b' ') & (byte != b'"') & (byte != b'\\')
}

/// True for a text that needs no escape in a JSON string.
fn is_plain_text(text: &str) -> bool {
    let text = text.as_bytes();
    let by_blocks = is_plain_in::<16>(text).or_else(|| is_plain_in::<8>(text));
    by_blocks.unwrap_or_else(|| text.iter().all(|byte| is_plain(*byte)))
}

/// Checks a text in blocks of `N` bytes, without a branch per byte; `None` if it is shorter than a
/// block. The last block may overlap the one before it.
fn is_plain_in<const N: usize>(text: &[u8]) -> Option<bool> {
    let plain = |block: &[u8; N]| block.iter().fold(true, |all, byte| all & is_plain(*byte));
    let last = text.last_chunk()?;
    let (blocks, _) = text.as_chunks();
    Some(plain(last) && blocks.iter().all(plain))
}

/// Counts down from the limit; every step reports whether the value still fits.
struct SizeCounter {
    remaining: usize,
    /// How many units one byte of a string adds.
    byte_width: fn(u8) -> usize,
}

impl SizeCounter {
    fn consume(&mut self, chars: usize) -> bool {
        match self.remaining.checked_sub(chars) {
            Some(left) => {
                self.remaining = left;
                true
            }
            None => false,
        }
    }

    fn value(&mut self, value: &Value) -> bool {
        match value {
            Value::Null | Value::Bool(true) => self.consume(4),
            Value::Bool(false) => self.consume(5),
            Value::Number(number) => {
                let mut digits = LengthWriter(0);
                // Counting cannot fail.
                let _ = write!(digits, "{number}");
                self.consume(digits.0)
            }
            Value::String(text) => self.text(text),
            Value::Array(items) => {
                self.consume(2 + items.len().saturating_sub(1))
                    && items.iter().all(|item| self.value(item))
            }
            Value::Object(map) => self.object(map),
        }
    }

    fn object(&mut self, map: &Map<String, Value>) -> bool {
        self.consume(2 + map.len().saturating_sub(1))
            && map.iter().all(|(key, value)| self.text(key) && self.consume(1) && self.value(value))
    }

    fn text(&mut self, text: &str) -> bool {
        // A character has at most four bytes: a text that is far too long need not be scanned.
        if !self.consume(2) || text.len() / 4 > self.remaining {
            return false;
        }
        let size: usize = text.bytes().map(self.byte_width).sum();
        self.consume(size)
    }
}

fn escaped_bytes(byte: u8) -> usize {
    match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 2,
        0x00..=0x1f => 6,
        _ => 1,
    }
}

/// Continuation bytes of a character add nothing.
fn escaped_chars(byte: u8) -> usize {
    if byte & 0xc0 == 0x80 { 0 } else { escaped_bytes(byte) }
}

struct LengthWriter(usize);

impl fmt::Write for LengthWriter {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 += text.len();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::json_writer::tests::value;

    proptest! {
        #[test]
        fn it_is_the_length_of_the_json(value in value(), cut in any::<usize>()) {
            let text = value.to_string();
            let size = text.len();
            prop_assert_eq!(json_len_within(&value, usize::MAX), Some(size));
            prop_assert_eq!(json_len_within(&value, size), Some(size));
            prop_assert_eq!(json_len_within(&value, cut % size), None);
            prop_assert_eq!(value_chars(&value), text.chars().count());
            let over = value_at_most(&value, EscapeEstimate::SingleScan);
            prop_assert!(over >= text.chars().count());
            prop_assert!(value_at_most(&value, EscapeEstimate::WorstCase) >= over);
        }
    }

    #[test]
    fn a_byte_that_is_not_plain_is_seen_wherever_it_stands() {
        for length in 0..40 {
            assert!(is_plain_text(&"a".repeat(length)));
            for at in 0..length {
                let text: String = (0..length).map(|i| if i == at { '"' } else { 'a' }).collect();
                assert!(!is_plain_text(&text), "{text}");
            }
        }
    }

    #[test]
    fn what_is_plain_has_one_byte() {
        for byte in 0..=u8::MAX {
            assert_eq!(is_plain(byte), escaped_bytes(byte) == 1, "{byte}");
        }
    }

    #[test]
    fn what_json_has_at_most_has_room_for_every_part() {
        use EscapeEstimate::{SingleScan, WorstCase};
        for (text, worst, scanned) in [("", 2, 2), ("abc", 20, 5), ("a\"b", 20, 20)] {
            assert_eq!(text_at_most(text, WorstCase), worst, "{text}");
            assert_eq!(text_at_most(text, SingleScan), scanned, "{text}");
        }
        for (value, most) in [
            (json!(null), 5),
            (json!(true), 5),
            (json!(1), 32),
            (json!("ab"), 4),
            (json!([]), 2),
            (json!(["ab", "c"]), 11),
            (json!({}), 2),
            (json!({ "a": "bc" }), 11),
            (json!({ "a": null, "b": [] }), 19),
        ] {
            assert_eq!(value_at_most(&value, SingleScan), most, "{value}");
        }
        let warning = |kind: &str| Warning { kind: kind.to_owned(), count: 1 };
        assert_eq!(warnings_at_most(&[], SingleScan), 2);
        assert_eq!(warnings_at_most(&[warning("ab"), warning("c")], SingleScan), 105);
    }

    #[test]
    fn a_size_is_told_up_to_its_limit() {
        for value in [
            json!("abcdefgh"),
            json!(["a", 1, true, false, null]),
            json!({ "a": { "b": "c\n" } }),
            json!(-12.5),
        ] {
            let size = value.to_string().len();
            assert_eq!(json_len_within(&value, size), Some(size), "{value}");
            for less in 0..size {
                assert_eq!(json_len_within(&value, less), None, "{value} in {less}");
            }
        }
        assert_eq!((text_chars("\u{e9}\t"), value_chars(&json!(["\u{20ac}", 1]))), (5, 7));
    }

    #[test]
    fn the_sizes_of_the_reference() {
        for (value, size) in [
            (json!(null), 4),
            (json!(true), 4),
            (json!(false), 5),
            (json!("x".repeat(38)), 40),
            (json!(12.5), 4),
            (json!([1, 2, 3]), 7),
            (json!({"a": 1, "bc": 2}), 14),
            (json!([]), 2),
        ] {
            assert_eq!(json_len_within(&value, 1_000), Some(size), "{value}");
        }
    }
}
