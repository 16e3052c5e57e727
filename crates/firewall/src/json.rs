//! The JSON of a value, written without the machinery of a serialiser.

use std::io;

use serde_json::{Map, Value};
use weaver_types::canonical::Buffer;

/// The bytes that `serde_json::to_vec` gives; none where lists and objects nest deeper than so many
/// levels.
pub(crate) fn written(value: &Value, levels: usize) -> Option<Vec<u8>> {
    let mut out = Buffer::with_room(512);
    push(value, levels, &mut out).then(|| out.into_vec())
}

/// True when the JSON of a value has more than `bytes` bytes. Nothing is kept of what is written,
/// and nothing is written beyond them.
pub(crate) fn is_longer(value: &Value, bytes: usize) -> bool {
    serde_json::to_writer(LimitedWriter { left: bytes }, value).is_err()
}

/// A writer that counts bytes and fails once there are too many.
struct LimitedWriter {
    left: usize,
}

impl io::Write for LimitedWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = self.left.checked_sub(bytes.len());
        self.left = left.ok_or(io::ErrorKind::WriteZero)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Inlined, so that what holds no other value costs no call.
#[inline(always)]
fn push(value: &Value, levels: usize, out: &mut Buffer) -> bool {
    match value {
        Value::Null => out.word(b"null"),
        Value::Bool(truth) => out.word(if *truth { b"true" } else { b"false" }),
        Value::Number(number) => match number.as_u64() {
            Some(whole) => out.number(whole),
            None => out.word(number.to_string().as_bytes()),
        },
        Value::String(text) => out.text(text),
        Value::Array(items) => return levels > 0 && push_items(items, levels - 1, out),
        Value::Object(map) => return levels > 0 && push_members(map, levels - 1, out),
    }
    true
}

#[inline(never)]
fn push_items(items: &[Value], levels: usize, out: &mut Buffer) -> bool {
    if items.is_empty() {
        out.push(b'[');
    }
    for (at, item) in items.iter().enumerate() {
        out.push(if at == 0 { b'[' } else { b',' });
        if !push(item, levels, out) {
            return false;
        }
    }
    out.push(b']');
    true
}

#[inline(never)]
fn push_members(map: &Map<String, Value>, levels: usize, out: &mut Buffer) -> bool {
    if map.is_empty() {
        out.push(b'{');
    }
    for (at, (key, value)) in map.iter().enumerate() {
        out.member(if at == 0 { b'{' } else { b',' }, key);
        if !push(value, levels, out) {
            return false;
        }
    }
    out.push(b'}');
    true
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// Any value, with many texts of ASCII.
    pub(crate) fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
            "[\\x00-\\x7f]{0,40}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 60, 8, |inner| {
            let keys = prop_oneof![any::<String>(), "[\\x00-\\x7f]{0,8}"];
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
                prop::collection::btree_map(keys, inner, 0..8)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn it_is_what_the_serialiser_writes(value in value()) {
            let text = serde_json::to_vec(&value).unwrap();
            prop_assert!(!is_longer(&value, text.len()) && is_longer(&value, text.len() - 1));
            prop_assert_eq!(written(&value, 127), Some(text));
        }
    }

    #[test]
    fn a_value_that_nests_too_deep_is_not_written() {
        for (value, levels) in [
            (json!(1), 0),
            (json!([]), 1),
            (json!({}), 1),
            (json!([{"a": [1]}, 2]), 3),
            (json!({"a": 1, "b": [[[]]]}), 4),
        ] {
            assert!(written(&value, levels).is_some(), "{value}");
            assert!(levels == 0 || written(&value, levels - 1).is_none(), "{value}");
        }
    }
}
