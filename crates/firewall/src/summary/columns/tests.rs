use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::redact::field_names::FieldNameClassifier;

fn rows() -> impl Strategy<Value = Vec<Value>> {
    let value = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[ab]{0,2}".prop_map(Value::from),
    ];
    let row = prop::collection::btree_map("[a-d]", value, 0..5)
        .prop_map(|map| Value::Object(map.into_iter().collect()));
    prop::collection::vec(prop_oneof![9 => row, 1 => Just(json!([1]))], 0..12)
}

proptest! {
    #[test]
    fn rows_of_any_keys_are_read_as_rows_of_the_same(
        rows in rows(),
        (order, cut) in (Just(["b", "a", "d", "c", "e"]).prop_shuffle(), any::<usize>()),
    ) {
        let mut names = FieldNameClassifier::default();
        let alone = |key: &str| {
            let mut values = rows.iter().filter_map(|row| row.get(key));
            let mut column = ColumnSummary::of(values.next()?, Cow::Borrowed);
            values.for_each(|value| column.add(value, Cow::Borrowed));
            Some(column)
        };
        // Some of the rows are the sample, and the others come after it, to keys in any order.
        let (some, others) = rows.split_at(cut % (rows.len() + 1));
        let mut known = sample_keys(some.into());
        prop_assert!(known.is_sorted_by(|a, b| a.name <= b.name));
        known.sort_by_key(|key| order.iter().position(|name| key.name == *name));
        let known = known.into_iter().map(|key| (key.name, key.column));
        let (known, columns): (Vec<_>, Vec<_>) = known.unzip();
        let mut keys = Vec::new();
        for (name, column) in known.iter().zip(columns) {
            keys.push(KeyColumn { named: FieldName::classify(name, &mut names), column });
        }
        add_rows(&mut keys, others.into());
        for KeyColumn { named, column } in keys {
            prop_assert_eq!(Some(column), alone(named.name));
        }
        let maps = || rows.iter().filter_map(Value::as_object);
        let mut expected: BTreeMap<&str, usize> = BTreeMap::new();
        for key in maps().flat_map(|map| map.keys()) {
            *expected.entry(key).or_default() += 1;
        }
        let all = sample_keys(rows.as_slice().into());
        let counts = all.iter().map(|key| (key.name.as_ref(), key.count));
        prop_assert_eq!(counts.collect::<Vec<_>>(), expected.into_iter().collect::<Vec<_>>());
    }
}
