//! Views of JSON: what a path leads to, which keys and paths there are, and what is said where there
//! is nothing.

use serde_json::{Value, json};
use weaver_firewall::{HandleError, HandleQuery};
use weaver_types::{Frame, JsonRows, RawContent, RawResult, ResponseMode};

use crate::support::{FIREWALL, capability, spec, warned};

/// A question about a result, where only these fields may be seen; all, where none are named.
fn asked(value: &Value, view: &str, args: &Value, fields: &[&str]) -> Result<Frame, HandleError> {
    let capability = capability(fields);
    let mut spec = spec(ResponseMode::Table);
    spec.capability = &capability;
    spec.budget.max_rows = 2_000;
    spec.budget.max_chars = 1_000_000;
    spec.budget.max_depth = 9;
    let query = HandleQuery::parse(&json!({"view": view, "args": args, "limit": 2_000})).unwrap();
    FIREWALL.expand(&RawResult::json(value.clone()), &query, &spec)
}

fn table(value: &Value, view: &str, args: Value) -> Value {
    json!(asked(value, view, &args, &[]).unwrap().table)
}

fn visible(value: &Value, view: &str, args: Value, fields: &[&str]) -> Value {
    json!(asked(value, view, &args, fields).unwrap().table)
}

fn refused(value: &Value, path: &str, fields: &[&str]) -> String {
    asked(value, "get", &json!({"path": path}), fields).unwrap_err().to_string()
}

#[test]
fn a_value_is_a_row_under_the_last_key_before_it() {
    let value = json!({"a": {"b": [1, [2, 3]], "c": "x"}, "list": [[4], [5]]});
    for (path, rows) in [
        ("a", json!([{"b": [1, [2, 3]], "c": "x"}])),
        ("a.c", json!([{"c": "x"}])),
        ("a.b", json!([{"value": 1}, {"value": [2, 3]}])),
        ("a.b[0]", json!([{"b": 1}])),
        ("a.b[1][1]", json!([{"b": 3}])),
        ("a.b[:]", json!([{"b": 1}, {"b": [2, 3]}])),
        ("list[][0]", json!([{"list": 4}, {"list": 5}])),
        ("", json!([value])),
    ] {
        assert_eq!(table(&value, "get", json!({"path": path})), rows, "{path}");
    }
    // What stands in a list without a name is a value.
    // As models write it too: a number as a name, and JSON Pointer.
    for path in ["[1]", "1", "/1"] {
        assert_eq!(table(&json!([7, 8]), "get", json!({"path": path})), json!([{"value": 8}]));
    }
    let nested = json!({"a": [{"b/c": 7}], "1": "named"});
    for path in ["a[0][\"b/c\"]", "a.0[\"b/c\"]", "/a/0/b~1c"] {
        assert_eq!(table(&nested, "get", json!({"path": path})), json!([{"b/c": 7}]), "{path}");
    }
    assert_eq!(table(&nested, "get", json!({"path": "1"})), json!([{"1": "named"}]));
}

#[test]
fn a_path_finds_100_000_values_and_no_more() {
    let list = json!(vec![0; 100_001]);
    assert!(asked(&list, "get", &json!({"path": "[0:100000]"}), &[]).is_ok());
    assert!(refused(&list, "[0:100001]", &[]).contains("more than 100000 values"));
}

#[test]
fn a_slice_ends_before_its_end_and_with_its_list() {
    let list = json!([0, 1, 2, 3]);
    for (path, found) in [
        ("[1:3]", json!([{"value": 1}, {"value": 2}])),
        ("[3:9]", json!([{"value": 3}])),
        ("[:1]", json!([{"value": 0}])),
        ("[2:]", json!([{"value": 2}, {"value": 3}])),
    ] {
        assert_eq!(table(&list, "get", json!({"path": path})), found, "{path}");
    }
    for path in ["[4:]", "[9:12]", "[2:2]", "[3:1]", "[4]"] {
        let error = refused(&list, path, &[]);
        assert!(error.contains("a list without such an item"), "{path}: {error}");
    }
}

#[test]
fn where_a_path_ends_nothing_the_keys_there_are_told_but_no_hidden_one() {
    let value =
        json!({"a": {"city": 1, "street": 2}, "e": {}, "n": 1, "l": [{"id": 1}, {"zip": 2}]});
    let error = refused(&value, "a.citi", &[]);
    assert!(error.contains("did you mean `city`?"), "{error}");
    // Of a list, the keys of its first object.
    let error = refused(&value, "l[].nothing", &[]);
    assert!(error.contains("id") && !error.contains("zip"), "{error}");
    for path in ["e.a", "n.a", "l.a"] {
        let error = refused(&value, path, &[]);
        assert!(error.contains("leads to no object with such a key"), "{path}: {error}");
    }
    let rows = json!([{"city": 1, "street": 2}]);
    let error = refused(&rows, "[].citi", &["street"]);
    assert!(error.contains("names a field that may not be seen"), "{error}");
    let error = refused(&json!([{"street": 2}]), "[].city", &["city"]);
    assert!(!error.contains("street"), "{error}");
}

#[test]
fn where_only_some_fields_may_be_seen_they_are_those_of_the_rows() {
    let value = json!({"rows": [{"id": 1, "rows": 2, "of": {"x": 3, "y": [4]}}], "total": 1});
    let get = |path: &str, fields: &[&str]| visible(&value, "get", json!({"path": path}), fields);
    // The key around the rows needs no leave; the same name in a row does.
    assert_eq!(get("", &["id"]), json!([{"id": 1}]));
    assert_eq!(get("rows", &["id"]), json!([{"id": 1}]));
    assert_eq!(get("rows[0]", &["id"]), json!([{"id": 1}]));
    // Below a field that may be seen, all of it may.
    assert_eq!(get("rows[0].of", &["of"]), json!([{"x": 3, "y": [4]}]));
    assert_eq!(get("rows[0].of.x", &["of"]), json!([{"x": 3}]));
    assert_eq!(get("rows[0].of.y", &["of"]), json!([{"y": 4}]));
    for path in ["rows[0].rows", "rows[].of", "total"] {
        assert!(refused(&value, path, &["id"]).contains("may not be seen"), "{path}");
    }
    // An object that is no wrapper has its fields itself.
    let plain = json!({"id": 1, "l": [1], "n": 2});
    assert_eq!(visible(&plain, "get", json!({"path": "id"}), &["id"]), json!([{"id": 1}]));
    assert!(refused(&plain, "l", &["id"]).contains("may not be seen"));
}

#[test]
fn a_value_without_a_field_is_shown_only_where_values_may_be_seen() {
    let list = json!([7, [8]]);
    let get = |fields: &[&str]| visible(&list, "get", json!({"path": "[:]"}), fields);
    assert_eq!(get(&[]), json!([{"value": 7}, {"value": [8]}]));
    assert_eq!(get(&["value"]), json!([{"value": 7}, {"value": [8]}]));
    assert!(!get(&["id"]).to_string().contains(['7', '8']));
}

#[test]
fn of_what_is_found_only_the_wanted_keys_are_given() {
    let value = json!({"l": [{"a": 1, "b": 2}, {"b": 3}, 4], "o": {"a": 5, "c": 6}});
    let get = |path: &str, keys: Value| table(&value, "get", json!({"path": path, "keys": keys}));
    assert_eq!(get("o", json!(["a"])), json!([{"a": 5}]));
    assert_eq!(get("l", json!(["b"])), json!([{"b": 2}, {"b": 3}, {"l": 4}]));
    assert_eq!(get("l[0:2]", json!(["a", "b"])), json!([{"a": 1, "b": 2}, {"b": 3}]));
}

#[test]
fn keys_are_counted_with_the_kinds_of_their_values() {
    let value = json!([
        {"a": null, "b": true}, {"a": 1, "b": "x"}, {"a": [1], "b": {"c": 1}}, {"a": 2}, 5, [6],
    ]);
    let kinds = json!([
        {"key": "a", "type": "null or number or list", "count": 4},
        {"key": "b", "type": "boolean or string or object", "count": 3},
    ]);
    assert_eq!(table(&value, "keys", json!({})), kinds);
    // Of an object its own, of several things those of all.
    let value = json!({"l": [{"a": 1}, {"a": 2, "z": 3}], "o": {"a": 1}});
    let one = json!([{"key": "a", "type": "number", "count": 1}]);
    assert_eq!(table(&value, "keys", json!({"path": "o"})), one);
    assert_eq!(table(&value, "keys", json!({"path": "l[]"}))[0]["count"], 2);
    let hidden = asked(&value["l"], "keys", &json!({}), &["z"]).unwrap();
    assert_eq!(json!(hidden.table), json!([{"key": "z", "type": "number", "count": 1}]));
    assert_eq!(warned(&hidden, "fields_not_allowed"), Some(2));
}

#[test]
fn keys_are_counted_in_the_first_ten_thousand_items() {
    let items = |count: usize| Value::Array(vec![json!({"a": 1}); count]);
    for (count, told) in [(9_999, 9_999), (10_000, 10_000), (10_001, 10_000)] {
        assert_eq!(table(&items(count), "keys", json!({}))[0]["count"], told);
    }
}

fn paths(value: &Value, args: Value) -> Vec<String> {
    let rows = table(value, "paths", args);
    rows.as_array().unwrap().iter().map(|row| row["path"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn paths_go_four_levels_deep_unless_told_otherwise() {
    let value = json!({"a": {"b": [{"c": {"d": 1}}]}});
    let all = ["a", "a.b", "a.b[]", "a.b[].c", "a.b[].c.d"];
    for (args, levels) in [
        (json!({}), 4),
        (json!({"depth": 0}), 1),
        (json!({"depth": 1}), 1),
        (json!({"depth": 2}), 2),
        (json!({"depth": 5}), 5),
        (json!({"depth": 9}), 5),
    ] {
        let shown: Vec<&str> = all.iter().copied().take(levels).collect();
        assert_eq!(paths(&value, args.clone()), shown, "{args}");
    }
    let deep = (0..40).fold(json!(1), |inner, _| json!({"a": inner}));
    assert_eq!(paths(&deep, json!({"depth": 99})).len(), 32);
}

#[test]
fn paths_below_a_path_are_counted_with_their_kinds() {
    let value = json!({"l": [{"a": 1}, {"a": "x", "b": [true, null]}], "o": 1});
    let all = json!([
        {"path": "a", "type": "number or string", "count": 2},
        {"path": "b", "type": "list", "count": 1},
        {"path": "b[]", "type": "null or boolean", "count": 2},
    ]);
    assert_eq!(table(&value, "paths", json!({"path": "l[]"})), all);
}

#[test]
fn a_thousand_paths_are_told_and_the_others_counted() {
    let map = |count: usize| -> Value {
        Value::Object((0..count).map(|n| (format!("key{n}"), json!(n))).collect())
    };
    for (count, told, omitted) in [(1_000, 1_000, None), (1_003, 1_000, Some(3))] {
        let frame = asked(&map(count), "paths", &json!({}), &[]).unwrap();
        assert_eq!((frame.table.len(), warned(&frame, "paths_omitted")), (told, omitted));
    }
}

#[test]
fn paths_lead_through_the_fields_that_may_be_seen() {
    let value = json!({"rows": [{"id": {"id": 1, "x": 2}, "pay": {"id": 3}}], "total": 1});
    let frame = asked(&value, "paths", &json!({}), &["id"]).unwrap();
    let shown = json!(frame.table);
    let paths: Vec<&Value> = shown.as_array().unwrap().iter().map(|row| &row["path"]).collect();
    assert_eq!(paths, ["rows", "rows[]", "rows[].id", "rows[].id.id", "rows[].id.x"]);
}

#[test]
fn a_name_that_masks_masks_whatever_a_path_finds_under_it() {
    let value = json!({"password": "correct-horse", "l": [{"password": {"a": "horse"}}, {"x": 1}]});
    for path in ["password", "l[].password"] {
        let shown = table(&value, "get", json!({"path": path})).to_string();
        assert!(shown.contains("[REDACTED]") && !shown.contains("horse"), "{path}: {shown}");
    }
    // What is masked has nothing below it.
    assert!(refused(&value, "l[].password.a", &[]).contains("leads to no object"));
}

/// Many rows of a text are not read as one tree, and that shows in nothing.
#[test]
fn views_of_many_rows_are_those_of_their_value() {
    let rows = |count: usize| -> Value {
        (0..count).map(|n| json!({"id": n, "of": {"a": n % 3}, "password": "horse"})).collect()
    };
    let capability = capability(&["id"]);
    let mut narrow = spec(ResponseMode::Table);
    narrow.capability = &capability;
    let values = [
        rows(5),
        json!({"rows": rows(5), "n": 1}),
        json!({"password": rows(3)}),
        json!([{"line": 1, "value": "a"}, {"line": 2, "value": "b"}]),
        json!({"rows": [{"line": 1, "value": "a"}, {"line": 2, "value": "b"}]}),
    ];
    let queries = [
        json!({"view": "get"}),
        json!({"view": "get", "args": {"keys": ["id"]}}),
        json!({"view": "keys"}),
        json!({"view": "paths"}),
    ];
    let at = [
        "", "rows", "n", "password", "[1]", "rows[1]", "[1:3]", "rows[1:3]", "rows[2:2]", "[3:]",
        "rows[7]", "[7:9]", "[].of", "rows[].of.a", "rows.id", "rows[4].of",
    ];
    for value in &values {
        let text = JsonRows::parse(value.to_string()).unwrap();
        let [tree, text] = [RawContent::Json(value.clone()), RawContent::Rows(text)];
        let [tree, text] = [RawResult::new(tree), RawResult::new(text)];
        for (query, path) in queries.iter().flat_map(|query| at.map(|path| (query, path))) {
            let mut query = query.clone();
            query["args"]["path"] = json!(path);
            let query_parsed = HandleQuery::parse(&query).unwrap();
            for spec in [spec(ResponseMode::Table), narrow.clone()] {
                let [a, b] = [&tree, &text].map(|raw| {
                    let frame = FIREWALL.expand(raw, &query_parsed, &spec);
                    frame.map(|frame| json!(frame)).map_err(|error| error.to_string())
                });
                assert_eq!(a, b, "{query} of {value}");
            }
        }
    }
}
