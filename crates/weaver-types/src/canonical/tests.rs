use std::collections::BTreeMap;

use proptest::prelude::*;
use serde::Serialize;
use serde_json::{Value, json};

use super::*;

const PROFILES: [Profile; 3] = [Profile::Record, Profile::Document, Profile::Foreign];

/// Every shape that serialisation knows.
#[derive(Debug, Clone, Serialize)]
enum Shape {
    Unit,
    Text(String),
    Number(i64),
    Pair(u64, bool),
    Fields { zebra: Option<char>, apple: Vec<Shape>, b: () },
    Map(BTreeMap<String, Shape>),
    Numbered(BTreeMap<u32, i8>),
    Double(f64),
    Wide(u128),
    Value(Value),
}

#[derive(Serialize)]
struct Flat<'a> {
    z: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    y: Option<u8>,
    #[serde(flatten)]
    rest: &'a BTreeMap<String, u8>,
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-c]{0,2}", "[ -~]{0,4}", ".{0,3}", "[\u{0}-\u{1f}\u{ff00}\u{1f600}]{0,2}"]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-3.0..3.0_f64).prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(text(), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn shape() -> impl Strategy<Value = Shape> {
    let leaf = prop_oneof![
        Just(Shape::Unit),
        text().prop_map(Shape::Text),
        any::<i64>().prop_map(Shape::Number),
        (any::<u64>(), any::<bool>()).prop_map(|(n, b)| Shape::Pair(n, b)),
        prop::collection::btree_map(0..20_u32, any::<i8>(), 0..3).prop_map(Shape::Numbered),
        any::<f64>().prop_map(Shape::Double),
        any::<u128>().prop_map(Shape::Wide),
        value().prop_map(Shape::Value),
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            (any::<Option<char>>(), prop::collection::vec(inner.clone(), 0..3))
                .prop_map(|(zebra, apple)| Shape::Fields { zebra, apple, b: () }),
            prop::collection::btree_map(text(), inner, 0..3).prop_map(Shape::Map),
        ]
    })
}

proptest! {
    #[test]
    fn the_quick_way_writes_what_the_long_way_writes(shape in shape()) {
        for profile in PROFILES {
            if let Some(quick) = serialize::quickly(&shape, profile) {
                prop_assert_eq!(Ok(quick), closely(&shape, profile));
            }
        }
    }

    #[test]
    fn members_are_written_as_the_map_of_them(map in prop::collection::btree_map("(tool_con)?[a-d!_]{0,3}", value(), 0..7)) {
        for profile in PROFILES {
            let mut members = Members::new(profile);
            for (key, value) in map.iter().rev() {
                members.add(key, value);
            }
            let written = members.finish().ok().map(|bytes| bytes.into_vec());
            prop_assert_eq!(written, closely(&map, profile).ok());
        }
    }

    #[test]
    fn flattened_keys_are_sorted_among_the_others(
        rest in prop::collection::btree_map("[a-zA-Z!]{0,2}", 0..9_u8, 0..6),
        y in any::<Option<u8>>(),
    ) {
        let flat = Flat { z: 1, y, rest: &rest };
        let quick = serialize::quickly(&flat, Profile::Record);
        prop_assert_eq!(quick, closely(&flat, Profile::Record).ok());
    }
}

#[test]
fn the_common_case_is_quick() {
    let values = [
        json!({ "b": [1, null, true], "a": { "x": "\u{e9}\n\"" }, "": "" }),
        json!([{ "seq": 7, "at": -42 }]),
    ];
    for value in values {
        let quick = serialize::quickly(&value, Profile::Record);
        assert_eq!(quick, closely(&value, Profile::Record).ok());
        assert!(quick.is_some(), "{value}");
    }
}

#[test]
fn what_is_not_common_goes_the_long_way() {
    let deep = (0..MAX_DEPTH + 1).fold(json!(0), |inner, _| json!([inner]));
    let wide = json!({ "n": (1_u64 << 53) + 1 });
    for value in [json!(1.5), json!({ "a\"": 1 }), json!({ "\u{1f600}": 1 }), deep, wide] {
        assert_eq!(serialize::quickly(&value, Profile::Record), None, "{value}");
    }
}

#[test]
fn a_member_that_stands_twice_is_refused() {
    let mut members = Members::new(Profile::Record);
    members.add("a", &1).add("b", &2).add("a", &3);
    assert_eq!(members.finish().map_err(|error| error.code()), Err("canonical.duplicate_key"));
}
