//! Computes the length of a value's JSON without writing it.

use std::fmt::{self, Write as _};

use serde_json::{Map, Value};
use weaver_types::{Frame, Handle, Warning};

/// The bytes of a value's JSON without blanks, or nothing as soon as there are more than `limit`:
/// what `serde_json::to_string(value)` would be long, on any text. Nothing is written and nothing
/// kept, and the walk stops where the limit is passed.
///
/// ```
/// use serde_json::json;
/// use weaver_firewall::estimated_size;
///
/// let value = json!({ "a": [1, true, null], "b": "ü\n" });
/// assert_eq!(estimated_size(&value, 100), Some(value.to_string().len()));
/// assert_eq!(estimated_size(&value, 10), None);
/// ```
#[must_use]
pub fn estimated_size(value: &Value, limit: usize) -> Option<usize> {
    let mut size = Size { left: limit, width: bytes };
    size.value(value).then(|| limit - size.left)
}

/// The characters of an object's JSON.
pub(crate) fn object_chars(map: &Map<String, Value>) -> usize {
    let mut size = Size { left: usize::MAX, width: chars };
    size.object(map);
    usize::MAX - size.left
}

/// The characters of a value's JSON.
pub(crate) fn value_chars(value: &Value) -> usize {
    let mut size = Size { left: usize::MAX, width: chars };
    size.value(value);
    usize::MAX - size.left
}

/// The characters of a text as a JSON string, with its quotes.
pub(crate) fn text_chars(text: &str) -> usize {
    let mut size = Size { left: usize::MAX, width: chars };
    size.text(text);
    usize::MAX - size.left
}

/// What the JSON of a frame has beside its texts, its lists and its numbers: names, words, brackets.
const AROUND: usize = 800;
/// What a warning has beside its kind.
const WARNING: usize = 48;
/// No number is longer.
const NUMBER: usize = 32;

/// How closely a text is looked at, to say how long it is as a JSON string at most.
#[derive(Debug, Clone, Copy)]
pub(crate) enum EscapeEstimate {
    /// Not at all: each byte may be escaped.
    WorstCase,
    /// Most texts have nothing to escape, and are looked over without a branch for each byte.
    SingleScan,
}

/// No fewer characters than the JSON of a frame has: its texts, and room for all else. It costs a
/// fraction of what writing costs.
pub(crate) fn frame_at_most(frame: &Frame, look: EscapeEstimate) -> usize {
    let Frame { call_id, capability_id, facts, table, raw, handle, warnings, label, .. } = frame;
    let ids = text_at_most(call_id.as_str(), look) + text_at_most(capability_id.as_str(), look);
    let facts: usize = facts.iter().map(|fact| text_at_most(fact, look) + 1).sum();
    let rows: usize = table.iter().map(|row| object_at_most(row, look) + 1).sum();
    let handle = handle.as_ref().map_or(0, |handle| {
        let Handle { handle_id, capability_id, media_type, views, .. } = handle;
        let texts = [handle_id.as_str(), capability_id.as_str(), media_type];
        let texts: usize = texts.into_iter().map(|text| text_at_most(text, look)).sum();
        texts + views.iter().map(|view| text_at_most(view, look) + 1).sum::<usize>()
    });
    let source =
        frame.provenance.as_ref().map_or(0, |source| text_at_most(&source.source_uri, look));
    let taints: usize = label.taints.iter().map(|call| text_at_most(call.as_str(), look) + 1).sum();
    let parts = [ids, facts, rows, handle, source, taints, warnings_at_most(warnings, look)];
    AROUND + parts.iter().sum::<usize>() + raw.as_ref().map_or(0, |raw| value_at_most(raw, look))
}

/// No fewer characters than the JSON of these warnings has.
pub(crate) fn warnings_at_most(warnings: &[Warning], look: EscapeEstimate) -> usize {
    2 + warnings.iter().map(|warning| text_at_most(&warning.kind, look) + WARNING).sum::<usize>()
}

/// No fewer characters than the JSON of an object has.
pub(crate) fn object_at_most(map: &Map<String, Value>, look: EscapeEstimate) -> usize {
    2 + map
        .iter()
        .map(|(key, value)| text_at_most(key, look) + value_at_most(value, look) + 2)
        .sum::<usize>()
}

fn value_at_most(value: &Value, look: EscapeEstimate) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Number(_) => NUMBER,
        Value::String(text) => text_at_most(text, look),
        Value::Array(items) => {
            2 + items.iter().map(|item| value_at_most(item, look) + 1).sum::<usize>()
        }
        Value::Object(map) => object_at_most(map, look),
    }
}

/// No fewer characters than a text has as a JSON string.
pub(crate) fn text_at_most(text: &str, look: EscapeEstimate) -> usize {
    let plain = matches!(look, EscapeEstimate::SingleScan) && is_plain_text(text);
    2 + text.len() * if plain { 1 } else { 6 }
}

/// True for a byte of a string that is written as it is.
fn is_plain(byte: u8) -> bool {
    (byte >= b' ') & (byte != b'"') & (byte != b'\\')
}

/// True for a string that is written as it is.
fn is_plain_text(text: &str) -> bool {
    let text = text.as_bytes();
    let by_blocks = is_plain_in::<16>(text).or_else(|| is_plain_in::<8>(text));
    by_blocks.unwrap_or_else(|| text.iter().all(|byte| is_plain(*byte)))
}

/// The same, block by block, without a branch for each byte; none for a text shorter than a block.
/// The end is looked at together with bytes before it.
fn is_plain_in<const N: usize>(text: &[u8]) -> Option<bool> {
    let plain = |block: &[u8; N]| block.iter().fold(true, |all, byte| all & is_plain(*byte));
    let last = text.last_chunk()?;
    let (blocks, _) = text.as_chunks();
    Some(plain(last) && blocks.iter().all(plain))
}

/// What is left of the limit. Every step says whether it still fits.
struct Size {
    left: usize,
    /// What one byte of a string adds.
    width: fn(u8) -> usize,
}

impl Size {
    fn take(&mut self, chars: usize) -> bool {
        match self.left.checked_sub(chars) {
            Some(left) => {
                self.left = left;
                true
            }
            None => false,
        }
    }

    fn value(&mut self, value: &Value) -> bool {
        match value {
            Value::Null | Value::Bool(true) => self.take(4),
            Value::Bool(false) => self.take(5),
            Value::Number(number) => {
                let mut digits = Digits(0);
                // Counting cannot fail.
                let _ = write!(digits, "{number}");
                self.take(digits.0)
            }
            Value::String(text) => self.text(text),
            Value::Array(items) => {
                self.take(2 + items.len().saturating_sub(1))
                    && items.iter().all(|item| self.value(item))
            }
            Value::Object(map) => self.object(map),
        }
    }

    fn object(&mut self, map: &Map<String, Value>) -> bool {
        self.take(2 + map.len().saturating_sub(1))
            && map.iter().all(|(key, value)| self.text(key) && self.take(1) && self.value(value))
    }

    fn text(&mut self, text: &str) -> bool {
        // A character has at most four bytes: a text that is far too long is not looked at.
        if !self.take(2) || text.len() / 4 > self.left {
            return false;
        }
        let size: usize = text.bytes().map(self.width).sum();
        self.take(size)
    }
}

fn bytes(byte: u8) -> usize {
    match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 2,
        0x00..=0x1f => 6,
        _ => 1,
    }
}

/// The later bytes of a character add none.
fn chars(byte: u8) -> usize {
    if byte & 0xc0 == 0x80 { 0 } else { bytes(byte) }
}

struct Digits(usize);

impl fmt::Write for Digits {
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
    use crate::json::tests::value;

    proptest! {
        #[test]
        fn it_is_the_length_of_the_json(value in value(), cut in any::<usize>()) {
            let text = value.to_string();
            let size = text.len();
            prop_assert_eq!(estimated_size(&value, usize::MAX), Some(size));
            prop_assert_eq!(estimated_size(&value, size), Some(size));
            prop_assert_eq!(estimated_size(&value, cut % size), None);
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
            assert_eq!(is_plain(byte), bytes(byte) == 1, "{byte}");
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
            assert_eq!(estimated_size(&value, size), Some(size), "{value}");
            for less in 0..size {
                assert_eq!(estimated_size(&value, less), None, "{value} in {less}");
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
            assert_eq!(estimated_size(&value, 1_000), Some(size), "{value}");
        }
    }
}
