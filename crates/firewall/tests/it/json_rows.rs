//! Rows that are kept as text: everything that is shown of them is what is shown of the same value
//! as a tree.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use weaver_firewall::{Firewall, FrameSpec, HandleQuery, MaskTable};
use weaver_types::{Constraints, JsonRows, RawContent, RawResult, ResponseMode};

use crate::support::{FIREWALL, capability, spec};

const MODES: [ResponseMode; 5] = [
    ResponseMode::Auto,
    ResponseMode::Raw,
    ResponseMode::Table,
    ResponseMode::Summary,
    ResponseMode::HandleOnly,
];

fn cell() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-9_i64..9).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[ab\"\u{e9}]{0,3}".prop_map(Value::from),
        Just(json!("jane.doe@corp.example.com")),
        "[a-c]".prop_map(|name| json!(format!("{name}@corp.example.com"))),
        Just(json!(["a", 1])),
        Just(json!({"a": {"password": "hunter2-hunter2", "b": [1, 2]}})),
    ]
}

fn row() -> impl Strategy<Value = Value> {
    let name = prop_oneof![
        "[a-d]",
        Just("id".to_owned()),
        Just("email".to_owned()),
        Just("password".to_owned()),
        Just("name".to_owned()),
        Just("value".to_owned()),
        Just("line".to_owned())
    ];
    prop::collection::btree_map(name, cell(), 0..5)
        .prop_map(|map| Value::Object(map.into_iter().collect()))
}

fn value() -> impl Strategy<Value = Value> {
    let key = prop_oneof![Just("rows"), Just("value"), Just("m"), Just("password")];
    let around = prop::collection::btree_map(
        prop_oneof![Just("a"), Just("name"), Just("z"), Just("total")],
        prop_oneof![Just(json!("bob@corp.example.com")), Just(json!(7)), Just(json!("password"))],
        0..3,
    );
    let rows =
        prop_oneof![prop::collection::vec(row(), 1..6), prop::collection::vec(row(), 60..70)];
    (rows, prop::option::of((key, around))).prop_map(|(rows, wrapper)| match wrapper {
        None => Value::Array(rows),
        Some((key, around)) => {
            let around = around.into_iter().map(|(key, value)| (key.to_owned(), value));
            let mut fields: Map<String, Value> = around.collect();
            fields.insert(key.to_owned(), Value::Array(rows));
            Value::Object(fields)
        }
    })
}

/// The same result as a tree and as text.
fn both(value: &Value) -> [RawResult; 2] {
    let rows = JsonRows::parse(value.to_string()).unwrap();
    [RawResult::json(value.clone()), RawResult::new(RawContent::Rows(rows))]
}

fn questions(key: &str) -> Vec<Value> {
    let path = |path: &str| json!({"path": path.replace("ROWS", key)});
    let get = |at: &str| json!({"view": "get", "args": path(at)});
    let mut all = vec![
        json!({}),
        json!({"offset": 2, "limit": 2}),
        json!({"offset": 500}),
        json!({"fields": ["id", "email"]}),
        json!({"filter": {"id": {"gte": 0}}, "sort": ["-a", "id"], "fields": ["id"]}),
        json!({"filter": {"b": "a@corp.example.com"}}),
        json!({"sort": "nothing"}),
        json!({"sort": "-email", "limit": 3, "offset": 1}),
        json!({"group_by": "a", "aggregate": ["count", "sum(id)", "distinct(email)"]}),
        json!({"aggregate": ["min(value)", "avg(b)"]}),
        json!({"view": "paths"}),
        json!({"view": "paths", "args": {"path": format!("{key}[0]"), "depth": 2}}),
        json!({"view": "get", "args": {"path": key, "keys": ["id", "a"]}}),
        json!({"view": "get", "args": {"path": key}, "sort": "a", "limit": 4}),
        json!({"view": "get", "args": {"path": key}, "offset": 3}),
    ];
    all.extend(
        [
            "", "ROWS", "ROWS[1]", "ROWS[1:3]", "ROWS[1:3].id", "ROWS[].email", "ROWS[900]",
            "ROWS[3:1]", "ROWS[0:1]", "ROWS.id", "name", "nothing", "ROWS[0].nothing",
            "ROWS[2].a.a", "[1]",
        ]
        .map(get),
    );
    all.extend(
        ["", "ROWS", "ROWS[0:2]", "name"].map(|at| json!({"view": "keys", "args": path(at)})),
    );
    all
}

/// All that is shown, in order.
fn all_of(firewall: &Firewall, raw: &RawResult, key: &str, spec: &FrameSpec<'_>) -> Vec<String> {
    let mut shown = vec![serde_json::to_string(&firewall.frame(raw, spec)).unwrap()];
    for question in questions(key) {
        let answer = firewall.expand(raw, &HandleQuery::parse(&question).unwrap(), spec);
        let answer = answer.map(|frame| serde_json::to_string(&frame).unwrap());
        shown.push(format!("{question}: {}", answer.unwrap_or_else(|error| error.to_string())));
    }
    shown
}

fn key_of(value: &Value) -> String {
    let fields = value.as_object().into_iter().flatten();
    fields.filter(|(_, v)| v.is_array()).map(|(key, _)| key.clone()).next().unwrap_or_default()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_text_of_rows_is_shown_as_the_tree_is(value in value(), mode in prop::sample::select(&MODES[..])) {
        let [tree, text] = both(&value);
        let key = key_of(&value);
        let open = FrameSpec { goal: Some("find jane and a"), ..spec(mode) };
        let capability = capability(&["id", "a", "email"]);
        let constraints = Constraints { max_rows: Some(3), ..Constraints::default() };
        let named = FrameSpec { capability: &capability, ..spec(mode) };
        let few = FrameSpec { constraints: &constraints, ..spec(mode) };
        for spec in [open, named, few] {
            prop_assert_eq!(
                all_of(&FIREWALL, &tree, &key, &spec),
                all_of(&FIREWALL, &text, &key, &spec)
            );
            // Masks are numbered in the same order.
            let [a, b] = [(); 2].map(|()| FIREWALL.with_masks(Arc::new(MaskTable::new()), None));
            prop_assert_eq!(all_of(&a, &tree, &key, &spec), all_of(&b, &text, &key, &spec));
        }
    }
}

#[test]
fn rows_beyond_what_a_path_may_find_are_told_in_the_same_words() {
    let rows: Vec<Value> = (0..100_001).map(|id| json!({"id": id})).collect();
    let [tree, text] = both(&json!({"rows": rows}));
    for path in ["rows[]", "rows[0:100000].id", "rows[100000]", "rows.100000", "rows[99990:]"] {
        let query = HandleQuery::parse(&json!({"view": "get", "args": {"path": path}})).unwrap();
        let [a, b] = [&tree, &text].map(|raw| {
            let answer = FIREWALL.expand(raw, &query, &spec(ResponseMode::Auto));
            answer.map(|frame| serde_json::to_string(&frame).unwrap()).map_err(|e| e.to_string())
        });
        assert_eq!(a, b, "{path}");
        assert_eq!(a.is_err(), path == "rows[]", "{path}");
    }
}
