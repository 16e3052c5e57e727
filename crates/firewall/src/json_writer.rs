//! A JSON writer without the overhead of a serialiser.

use serde_json::{Map, Value};
use weaver_types::canonical::JsonBuffer;

/// The same bytes as `serde_json::to_vec`; `None` if lists and objects nest deeper than `levels`.
pub(crate) fn to_json_bytes(value: &Value, levels: usize) -> Option<Vec<u8>> {
    let mut out = JsonBuffer::with_capacity(512);
    push_value(value, levels, &mut out).then(|| out.into_vec())
}

/// Inlined, so that scalars cost no call.
#[inline(always)]
fn push_value(value: &Value, levels: usize, out: &mut JsonBuffer) -> bool {
    match value {
        Value::Null => out.write_raw(b"null"),
        Value::Bool(truth) => out.write_raw(if *truth { b"true" } else { b"false" }),
        Value::Number(number) => match number.as_u64() {
            Some(whole) => out.write_integer(whole),
            None => out.write_raw(number.to_string().as_bytes()),
        },
        Value::String(text) => out.write_string(text),
        Value::Array(items) => return levels > 0 && push_items(items, levels - 1, out),
        Value::Object(map) => return levels > 0 && push_members(map, levels - 1, out),
    }
    true
}

#[inline(never)]
fn push_items(items: &[Value], levels: usize, out: &mut JsonBuffer) -> bool {
    if items.is_empty() {
        out.push(b'[');
    }
    for (at, item) in items.iter().enumerate() {
        out.push(if at == 0 { b'[' } else { b',' });
        if !push_value(item, levels, out) {
            return false;
        }
    }
    out.push(b']');
    true
}

#[inline(never)]
fn push_members(map: &Map<String, Value>, levels: usize, out: &mut JsonBuffer) -> bool {
    if map.is_empty() {
        out.push(b'{');
    }
    for (at, (key, value)) in map.iter().enumerate() {
        out.write_member_name(if at == 0 { b'{' } else { b',' }, key);
        if !push_value(value, levels, out) {
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
            prop_assert_eq!(to_json_bytes(&value, 127), Some(text));
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
            assert!(to_json_bytes(&value, levels).is_some(), "{value}");
            assert!(levels == 0 || to_json_bytes(&value, levels - 1).is_none(), "{value}");
        }
    }
}
