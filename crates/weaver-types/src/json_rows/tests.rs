use proptest::prelude::*;
use serde_json::json;

use super::*;

fn plain() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ]
}

fn object() -> impl Strategy<Value = Value> {
    let value = prop_oneof![
        plain(),
        prop::collection::vec(plain(), 0..3).prop_map(Value::from),
        prop::collection::btree_map("[a-c]", plain(), 0..3)
            .prop_map(|map| Value::Object(map.into_iter().collect())),
    ];
    prop::collection::btree_map(any::<String>(), value, 0..4)
        .prop_map(|map| Value::Object(map.into_iter().collect()))
}

/// A list, alone or in an object.
fn value() -> impl Strategy<Value = Value> {
    let list = prop::collection::vec(object(), 1..6).prop_map(Value::Array);
    let around = prop::collection::btree_map("[a-e]", plain(), 0..4);
    let key = prop_oneof![Just("a\"b".to_owned()), "[a-e]{2}"];
    (list, prop::option::of((key, around))).prop_map(|(list, wrapper)| match wrapper {
        None => list,
        Some((key, around)) => {
            let mut fields: Map<String, Value> = around.into_iter().collect();
            fields.insert(key, list);
            Value::Object(fields)
        }
    })
}

fn read(value: &Value) -> JsonRows {
    let text = serde_json::to_string_pretty(value).unwrap();
    let list = JsonRows::find_list(&text).unwrap();
    let mut frame = value.clone();
    match &mut frame {
        Value::Object(fields) => {
            fields.values_mut().filter(|v| v.is_array()).for_each(|v| *v = json!([]));
        }
        other => *other = json!([]),
    }
    JsonRows::from_list_text(&frame, list, |row| serde_json::from_str(row).ok()).unwrap()
}

proptest! {
    #[test]
    fn the_text_is_the_value(value in value()) {
        let rows = read(&value);
        prop_assert_eq!(rows.text(), value.to_string());
        prop_assert_eq!(rows.to_value(), value.clone());
        let again = JsonRows::parse(rows.text().to_owned()).unwrap();
        prop_assert!(again == rows && again.to_value() == value);
        prop_assert_eq!(again.rows().count(), again.len());
        let list = again.list();
        prop_assert_eq!(list.text(), list.to_value().to_string());
        prop_assert_eq!((list.key(), list.to_value()), (None, Value::Array(rows.rows().collect())));
        let frame = rows.with_list(Vec::new());
        prop_assert!(JsonRows::from_rows(&frame, rows.rows(), 0).unwrap() == rows);
        prop_assert!(rows.equals_json(&serde_json::to_string_pretty(&value).unwrap()));
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in r#"[\[\]{}:,0-9a-c" \\]{0,40}"#) {
        if let Ok(rows) = JsonRows::parse(text.clone()) {
            prop_assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), rows.to_value());
        }
    }
}

#[test]
fn other_forms_are_given_back() {
    let nested = |levels: usize| {
        format!(r#"[{{"a":{}{}}}]"#, "[".repeat(levels - 1), "]".repeat(levels - 1))
    };
    assert!(JsonRows::parse(nested(MAX_ROW_DEPTH)).is_ok());
    for text in [
        "[]".to_owned(),
        "[1]".to_owned(),
        "[{},1]".to_owned(),
        "[{}, {}]".to_owned(),
        "[{}]x".to_owned(),
        "{}".to_owned(),
        r#"{"a":[{}],"b":[{}]}"#.to_owned(),
        r#"{"a":[{}],"b":{}}"#.to_owned(),
        r#"{"a":[{}],"a":[{}]}"#.to_owned(),
        r#"{"a":[{}],"b":1,"b":1}"#.to_owned(),
        r#"{"a":[{"b":1e999}]}"#.to_owned(),
        nested(MAX_ROW_DEPTH + 1),
    ] {
        assert_eq!(JsonRows::parse(text.clone()), Err(NotRowsError { text }));
    }
}

#[test]
fn what_differs_in_a_row_or_beside_the_rows_is_not_equal() {
    let rows = read(&json!({"rows": [{"id": 1}, {"id": 2}], "total": 2}));
    for (text, equal) in [
        (r#"{"total":2, "rows":[ {"id":1},{"\u0069d":2}]}"#, true),
        (r#"{"rows":[{"id":1},{"id":2}],"rows":[{"id":1},{"id":2}],"total":2}"#, true),
        (r#"{"total":3,"total":2,"rows":[{"id":1},{"id":2}]}"#, true),
        (r#"{"total":2,"rows":[{"id":1}]}"#, false),
        (r#"{"total":2,"rows":[{"id":1},{"id":2},{"id":3}]}"#, false),
        (r#"{"total":2,"rows":[{"id":1},{"id":2.0}]}"#, false),
        (r#"{"total":3,"rows":[{"id":1},{"id":2}]}"#, false),
        (r#"{"total":2,"all":[{"id":1},{"id":2}]}"#, false),
        (r#"[{"id":1},{"id":2}]"#, false),
        ("two users", false),
    ] {
        assert_eq!(rows.equals_json(text), equal, "{text}");
    }
}
