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
    Deep(Box<Unordered>),
    Map(BTreeMap<String, Shape>),
    Numbered(BTreeMap<u32, i8>),
    Double(f64),
    Wide(u128),
    Value(Value),
}

/// Fields out of order, of which some begin with others, with the same eight bytes, with other
/// characters than ASCII, or not at all.
#[derive(Debug, Clone, Serialize)]
struct Unordered {
    same_start_b: u8,
    same_start: Shape,
    #[serde(rename = "")]
    nothing: i64,
    #[serde(rename = "\u{fb01}")]
    ligature: bool,
    #[serde(rename = "\u{e9}t\u{e9}", skip_serializing_if = "Option::is_none")]
    summer: Option<u8>,
    #[serde(rename = "a name that is longer than any block of bytes")]
    long: String,
    #[serde(rename = "a")]
    short: Shape,
    #[serde(rename = "a!")]
    shorter: (),
    #[serde(flatten)]
    rest: BTreeMap<String, Shape>,
}

/// The names that the quick way leaves to the long way.
#[derive(Debug, Serialize)]
struct Uncommon {
    #[serde(rename = "b\"")]
    quote: u8,
    #[serde(rename = "\u{1f600}")]
    above: u8,
    #[serde(rename = "\u{fb01}")]
    below: u8,
    #[serde(rename = "a\n")]
    line: u8,
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
            unordered(inner.clone()).prop_map(|deep| Shape::Deep(Box::new(deep))),
            prop::collection::btree_map(text(), inner, 0..3).prop_map(Shape::Map),
        ]
    })
}

fn unordered(inner: impl Strategy<Value = Shape> + Clone) -> impl Strategy<Value = Unordered> {
    let name = prop_oneof!["[b-d]{0,2}", "same_start[a-c!]?", text()];
    let rest = prop::collection::btree_map(name, inner.clone(), 0..4);
    let numbers = (any::<u8>(), -99..99_i64, any::<bool>(), any::<Option<u8>>());
    (numbers, ".{0,40}", inner.clone(), inner, rest).prop_map(
        |((same_start_b, nothing, ligature, summer), long, same_start, short, rest)| Unordered {
            same_start_b,
            same_start,
            nothing,
            ligature,
            summer,
            long,
            short,
            shorter: (),
            rest,
        },
    )
}

proptest! {
    #[test]
    fn the_quick_way_writes_what_the_long_way_writes(shape in shape()) {
        for profile in PROFILES {
            if let Ok(quick) = serialize::single_pass(&shape, profile) {
                prop_assert_eq!(Ok(quick), serialize_via_text(&shape, profile));
            }
        }
    }

    #[test]
    fn members_are_written_as_the_map_of_them(map in prop::collection::btree_map("(tool_con)?[a-d!_]{0,3}", value(), 0..7)) {
        for profile in PROFILES {
            let mut members = ObjectBuilder::new(profile);
            for (key, value) in map.iter().rev() {
                members.add(key, value);
            }
            let written = members.finish().ok().map(|bytes| bytes.into_vec());
            prop_assert_eq!(written, serialize_via_text(&map, profile).ok());
        }
    }

    #[test]
    fn flattened_keys_are_sorted_among_the_others(
        rest in prop::collection::btree_map("[a-zA-Z!]{0,2}", 0..9_u8, 0..6),
        y in any::<Option<u8>>(),
    ) {
        let flat = Flat { z: 1, y, rest: &rest };
        let quick = serialize::single_pass(&flat, Profile::Record).ok();
        prop_assert_eq!(quick, serialize_via_text(&flat, Profile::Record).ok());
    }
}

#[test]
fn fields_that_do_not_stand_for_themselves_are_written_in_order() {
    let uncommon = Uncommon { quote: 1, above: 2, below: 3, line: 4 };
    let written = super::serialize(&uncommon, Profile::Record).unwrap();
    let wanted = "{\"a\\n\":4,\"b\\\"\":1,\"\u{1f600}\":2,\"\u{fb01}\":3}";
    assert_eq!(str::from_utf8(&written), Ok(wanted));
}

#[test]
fn every_number_is_written_digit_by_digit() {
    let tens = (0..20).map(|power| 10_u64.pow(power));
    for number in tens.flat_map(|ten| [ten - 1, ten, ten + 1, ten / 2]).chain([u64::MAX]) {
        let quick = serialize::single_pass(&number, Profile::Foreign).unwrap();
        assert_eq!(quick, number.to_string().into_bytes());
    }
    for four in 0..10_000_u64 {
        let eight = four * 10_000 + 9_999 - four;
        for number in [four, eight, eight * 100_000_000 + four] {
            let quick = serialize::single_pass(&number, Profile::Foreign).unwrap();
            assert_eq!(quick, number.to_string().into_bytes());
        }
    }
    assert_eq!(
        serialize::single_pass(&i64::MIN, Profile::Foreign).unwrap(),
        b"-9223372036854775808"
    );
}

#[test]
fn what_is_larger_than_the_first_room_is_written_whole() {
    for length in (0..20).chain(2_000..2_100).chain([10_000]) {
        for character in ["x", "\"", "\u{1}", "\u{e9}", "\u{1f600}"] {
            let text = character.repeat(length);
            let value = BTreeMap::from([("b", &text), ("a", &text)]);
            let quick = serialize::single_pass(&(1, &value, &text), Profile::Record).ok();
            assert_eq!(
                quick,
                serialize_via_text(&(1, &value, &text), Profile::Record).ok(),
                "{length}"
            );
            let mut members = ObjectBuilder::new(Profile::Record);
            members.add("b", &text).add("a", &value);
            let written = members.finish().map(|bytes| bytes.into_vec());
            let map = json!({ "a": value, "b": text });
            assert_eq!(written, to_bytes(&map, Profile::Record), "{length}");
        }
    }
}

#[test]
fn fields_out_of_order_are_quick() {
    let deep = Unordered {
        same_start_b: 1,
        same_start: Shape::Unit,
        nothing: 2,
        ligature: true,
        summer: Some(3),
        long: "\n".to_owned(),
        short: Shape::Fields { zebra: None, apple: vec![Shape::Number(4)], b: () },
        shorter: (),
        rest: BTreeMap::from([("same_start!".to_owned(), Shape::Unit)]),
    };
    let quick = serialize::single_pass(&deep, Profile::Record).ok();
    assert!(quick.is_some());
    assert_eq!(quick, serialize_via_text(&deep, Profile::Record).ok());
}

#[test]
fn the_common_case_is_quick() {
    let values = [
        json!({ "b": [1, null, true], "a": { "x": "\u{e9}\n\"" }, "": "" }),
        json!([{ "seq": 7, "at": -42 }]),
    ];
    for value in values {
        let quick = serialize::single_pass(&value, Profile::Record).ok();
        assert_eq!(quick, serialize_via_text(&value, Profile::Record).ok());
        assert!(quick.is_some(), "{value}");
    }
}

#[test]
fn what_is_not_common_goes_the_long_way() {
    let deep = (0..MAX_DEPTH + 1).fold(json!(0), |inner, _| json!([inner]));
    let wide = json!({ "n": (1_u64 << 53) + 1 });
    for value in [json!(1.5), json!({ "a\"": 1 }), json!({ "\u{1f600}": 1 }), deep, wide] {
        assert!(serialize::single_pass(&value, Profile::Record).is_err(), "{value}");
    }
}

#[test]
fn a_member_that_stands_twice_is_refused() {
    let mut members = ObjectBuilder::new(Profile::Record);
    members.add("a", &1).add("b", &2).add("a", &3);
    assert_eq!(members.finish().map_err(|error| error.code()), Err("canonical.duplicate_key"));
}

#[test]
fn a_double_that_is_not_finite_is_seen_behind_what_the_quick_way_leaves_out() {
    #[derive(Serialize)]
    struct Odd {
        #[serde(rename = "a\"")]
        odd: u8,
        b: f64,
    }
    let refused = |result: Result<Vec<u8>, CanonicalError>| {
        assert_eq!(result.unwrap_err().fault(), CanonicalFault::Precision);
    };
    let raw = serde_json::value::RawValue::from_string("1.5".to_owned()).unwrap();
    refused(super::serialize(&(1.5, f64::NAN), Profile::Foreign));
    refused(super::serialize(&(1_i128, f64::NAN), Profile::Foreign));
    refused(super::serialize(&(raw, f64::INFINITY), Profile::Foreign));
    refused(super::serialize(&Odd { odd: 1, b: f64::NAN }, Profile::Foreign));
    refused(super::serialize(&BTreeMap::from([(u64::MAX, f32::NAN)]), Profile::Record));
    refused(super::serialize(&BTreeMap::from([("a\n", 1.0), ("a", f64::NAN)]), Profile::Document));
}
