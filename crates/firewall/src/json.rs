//! The JSON of a value, written without the machinery of a serialiser.

use serde_json::{Map, Value};

use crate::digits::push_whole;

/// The text that `serde_json::to_string` gives; none where lists and objects nest deeper than so
/// many levels.
pub(crate) fn written(value: &Value, levels: usize) -> Option<String> {
    let mut out = String::with_capacity(256);
    push(value, levels, &mut out).then_some(out)
}

/// True for a byte of a string that is written as it is.
pub(crate) fn is_plain(byte: u8) -> bool {
    (byte >= b' ') & (byte != b'"') & (byte != b'\\')
}

/// True for a string that is written as it is.
pub(crate) fn is_plain_text(text: &str) -> bool {
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

fn push(value: &Value, levels: usize, out: &mut String) -> bool {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => {
                out.push_str(if whole < 0 { "-" } else { "" });
                push_whole(out, whole.unsigned_abs());
            }
            None => out.push_str(&number.to_string()),
        },
        Value::String(text) => push_text(text, out),
        Value::Array(items) => return levels > 0 && push_items(items, levels - 1, out),
        Value::Object(map) => return levels > 0 && push_members(map, levels - 1, out),
    }
    true
}

fn push_text(text: &str, out: &mut String) {
    if is_plain_text(text) {
        out.push('"');
        out.push_str(text);
        out.push('"');
    } else {
        out.push_str(&Value::from(text).to_string());
    }
}

fn push_items(items: &[Value], levels: usize, out: &mut String) -> bool {
    out.push('[');
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        if !push(item, levels, out) {
            return false;
        }
    }
    out.push(']');
    true
}

fn push_members(map: &Map<String, Value>, levels: usize, out: &mut String) -> bool {
    out.push('{');
    for (at, (key, value)) in map.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        push_text(key, out);
        out.push(':');
        if !push(value, levels, out) {
            return false;
        }
    }
    out.push('}');
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
            prop_assert_eq!(written(&value, 127), Some(serde_json::to_string(&value).unwrap()));
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
