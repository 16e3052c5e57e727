//! The length of a value's JSON: exact, counted without storing it, and as an upper bound.

use std::io;

use serde::Serialize;
use serde_json::{Map, Value};
use weaver_types::{Frame, Handle, Warning};

/// The exact length in bytes of a value's compact JSON, as `serde_json::to_string(value)` writes
/// it, or `None` if it exceeds `limit`. Nothing is stored, and writing stops at the limit.
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
    count(value, limit, |bytes| bytes.len())
}

/// The characters of the JSON form. A value that cannot be serialised counts as larger than any
/// budget.
pub(crate) fn json_chars(value: &(impl Serialize + ?Sized)) -> usize {
    // A continuation byte belongs to the character before it.
    let chars = |bytes: &[u8]| bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count();
    count(value, usize::MAX, chars).unwrap_or(usize::MAX / 4)
}

/// The bytes of the JSON form; never fewer than its characters.
pub(crate) fn json_bytes(value: &(impl Serialize + ?Sized)) -> usize {
    count(value, usize::MAX, |bytes| bytes.len()).unwrap_or(usize::MAX / 4)
}

fn count(
    value: &(impl Serialize + ?Sized),
    limit: usize,
    size: impl Fn(&[u8]) -> usize,
) -> Option<usize> {
    let mut counter = Counter { remaining: limit, size };
    serde_json::to_writer(&mut counter, value).ok()?;
    Some(limit - counter.remaining)
}

/// Counts what is written, and fails at a limit.
struct Counter<F> {
    remaining: usize,
    size: F,
}

impl<F: Fn(&[u8]) -> usize> io::Write for Counter<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = self.remaining.checked_sub((self.size)(bytes));
        self.remaining = left.ok_or(io::ErrorKind::WriteZero)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
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
            prop_assert_eq!(json_chars(&value), text.chars().count());
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
            let text = char::from(byte).to_string();
            assert_eq!(is_plain(byte), json_chars(&text) == 3, "{byte}");
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
