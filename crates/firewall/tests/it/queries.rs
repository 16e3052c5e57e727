//! Questions about rows: answered from what is shown, bounded, and never an oracle.

use proptest::prelude::*;
use serde_json::{Value, json};
use weaver_firewall::{Firewall, FrameBudget, FrameSpec, HandleQuery, ViewRequest};
use weaver_types::{Constraints, Frame, RawResult, ResponseMode};

use crate::support::{FIREWALL, capability, names, spec, warned};

fn ask(query: &Value) -> HandleQuery {
    HandleQuery::parse(query).unwrap()
}

fn orders() -> RawResult {
    let status = ["paid", "unpaid", "draft"];
    let rows: Vec<Value> = (0..60)
        .map(|n| {
            json!({
                "id": n,
                "status": status[n % 3],
                "amount": (n as f64) / 2.0,
                "customer": format!("customer {}", n % 5),
                "email": format!("p{n}@corp.example.com"),
                "note": format!("mail p{n}@corp.example.com about it"),
                "tags": if n % 2 == 0 { json!(["even", n]) } else { json!([]) },
                "late": n % 7 == 0,
                "parts": { "n": n },
            })
        })
        .collect();
    RawResult::json(json!(rows))
}

fn answer(raw: &RawResult, query: Value) -> Frame {
    FIREWALL.expand(raw, &ask(&query), &wide()).unwrap()
}

/// Room for all 50 rows of a page.
fn wide() -> FrameSpec<'static> {
    let mut wide = spec(ResponseMode::Table);
    wide.budget.max_chars = 100_000;
    wide
}

fn ids(frame: &Frame) -> Vec<i64> {
    frame.table.iter().map(|row| row["id"].as_i64().unwrap()).collect()
}

#[test]
fn rows_are_filtered_by_each_test() {
    let found =
        |filter: Value| ids(&answer(&orders(), json!({"filter": filter, "fields": ["id"]})));
    assert_eq!(found(json!({"status": "unpaid"})).len(), 20);
    assert_eq!(found(json!({"id": 7})), [7]);
    assert_eq!(found(json!({"id": 7.0})), [7]);
    assert_eq!(found(json!({"id": "7"})), Vec::<i64>::new());
    assert_eq!(found(json!({"amount": {"gte": 28.5}})), [57, 58, 59]);
    assert_eq!(found(json!({"amount": {"gt": 28.5}})), [58, 59]);
    assert_eq!(found(json!({"amount": {"lt": 1}})), [0, 1]);
    assert_eq!(found(json!({"amount": {"lte": 1, "gt": 0}})), [1, 2]);
    assert_eq!(found(json!({"status": {"in": ["paid", "draft"]}, "id": {"lt": 4}})), [0, 2, 3]);
    assert_eq!(found(json!({"status": {"ne": "paid"}, "id": {"lt": 4}})), [1, 2]);
    assert_eq!(found(json!({"customer": {"contains": "mer 3"}, "id": {"lt": 9}})), [3, 8]);
    assert_eq!(found(json!({"tags": {"contains": 4}})), [4]);
    assert_eq!(found(json!([{"late": true}, {"late": {"ne": false}}, {"id": {"gt": 50}}])), [56]);
    let refused = FIREWALL.expand(&orders(), &ask(&json!({"filter": {"nothing": null}})), &wide());
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("amount, customer, email"), "no row has the field: {refused}");
    // What has parts equals nothing and comes in no order.
    assert_eq!(found(json!({"parts": {"eq": null}})), Vec::<i64>::new());
    assert_eq!(found(json!({"parts": {"gt": 0}})), Vec::<i64>::new());
}

#[test]
fn rows_within_an_answer_are_asked_as_rows() {
    let rows: Vec<Value> = (0..60).map(|n| json!({ "id": n, "late": n % 7 == 0 })).collect();
    let within = |answer: Value| RawResult::json(answer);
    let late = json!({ "filter": { "late": true, "id": { "gt": 40 } }, "sort": "-id" });
    for wrapped in [
        json!({ "success": true, "data": { "rows": rows, "count": 60 } }),
        json!({ "data": { "order list": rows } }),
        json!({ "pagination": { "next": null }, "results": rows }),
    ] {
        let frame = answer(&within(wrapped.clone()), late.clone());
        assert_eq!(ids(&frame), [56, 49, 42], "{wrapped}");
        let counted = answer(&within(wrapped), json!({ "group_by": "late", "sort": "late" }));
        assert_eq!(counted.table[1]["count"], json!(9));
    }
    let refused = |wrapped: Value| {
        let refused = FIREWALL.expand(&within(wrapped), &ask(&late), &wide());
        assert!(refused.unwrap_err().to_string().contains("unknown field"));
    };
    refused(json!({ "open": { "rows": rows }, "closed": { "rows": rows } }));
    refused(json!({ "data": { "rows": [1, 2] } }));
    // A field of the answer itself is what is asked about.
    let outer = json!({ "status": "ok", "data": { "rows": rows } });
    let frame =
        answer(&within(outer), json!({ "filter": { "status": "ok" }, "fields": ["status"] }));
    assert_eq!(frame.table.len(), 1);
}

#[test]
fn a_page_of_what_was_found_says_how_much_there_is() {
    let query = json!({
        "filter": {"status": "unpaid"}, "fields": ["id", "status"], "offset": 5, "limit": 3,
    });
    let frame = answer(&orders(), query);
    assert_eq!(ids(&frame), [16, 19, 22]);
    assert_eq!(warned(&frame, "rows_omitted"), Some(12));
    assert_eq!(frame.facts, ["Matching rows: 20"]);
    assert_eq!(json!(frame.table[0]), json!({"id": 16, "status": "unpaid"}));
}

#[test]
fn rows_are_sorted_by_several_keys_and_stay_in_order_where_equal() {
    let query = json!({"sort": ["status", "-amount"], "fields": ["id"], "limit": 3});
    assert_eq!(ids(&answer(&orders(), query)), [59, 56, 53]);
    let query = json!({"sort": {"field": "late", "order": "desc"}, "fields": ["id"], "limit": 3});
    assert_eq!(ids(&answer(&orders(), query)), [0, 7, 14]);
    let mixed = RawResult::json(json!([
        {"id": 1, "v": "b"}, {"id": 2, "v": 10}, {"id": 3}, {"id": 4, "v": true}, {"id": 5, "v": 9.5},
        {"id": 6, "v": null}, {"id": 7, "v": "a"}, {"id": 8, "v": {}},
    ]));
    assert_eq!(ids(&answer(&mixed, json!({"sort": "v"}))), [3, 6, 4, 5, 2, 7, 1, 8]);
    assert_eq!(ids(&answer(&mixed, json!({"sort": "-v"}))), [8, 1, 7, 2, 5, 4, 3, 6]);
}

/// Databases send exact numbers as texts.
#[test]
fn a_column_of_numbers_in_texts_counts_as_numbers() {
    let rows: Vec<Value> = [("a", "633.00"), ("b", "70.50"), ("a", "1249.00"), ("b", "-3.25")]
        .iter()
        .enumerate()
        .map(|(id, (kind, amount))| json!({ "id": id, "kind": kind, "amount": amount }))
        .collect();
    let raw = RawResult::json(json!(rows));
    let found = |query: Value| ids(&answer(&raw, query));
    assert_eq!(found(json!({"sort": "-amount"})), [2, 0, 1, 3]);
    assert_eq!(found(json!({"filter": {"amount": {"gte": 600}}})), [0, 2]);
    assert_eq!(found(json!({"filter": {"amount": {"gt": "600"}}})), [0, 2]);
    assert_eq!(found(json!({"filter": {"amount": "70.50"}})), [1]);
    let query =
        json!({"group_by": "kind", "aggregate": ["sum(amount)", "max(amount)", "sum(kind)"]});
    let table = json!([
        { "kind": "a", "sum(amount)": 1882.0, "max(amount)": "1249.00", "sum(kind)": null },
        { "kind": "b", "sum(amount)": 67.25, "max(amount)": "70.50", "sum(kind)": null },
    ]);
    assert_eq!(json!(answer(&raw, query).table), table);
    // One other text, and they are names.
    let mut named = rows;
    named.push(json!({ "id": 4, "kind": "a", "amount": "none" }));
    let named = RawResult::json(json!(named));
    assert_eq!(
        ids(&answer(&named, json!({"filter": {"amount": {"gte": 600}}}))),
        Vec::<i64>::new()
    );
    let sum = answer(&named, json!({"aggregate": ["sum(amount)"]}));
    assert_eq!(json!(sum.table), json!([{ "sum(amount)": null }]));
}

#[test]
fn aggregates_come_in_one_row_or_one_for_each_group() {
    let query = json!({"aggregate": [
        "count", "sum(id)", "avg(amount)", "min(amount)", "max(status)", "distinct(customer)", "count(late)",
    ]});
    let frame = answer(&orders(), query);
    let row = json!({
        "count": 60, "sum(id)": 1770, "avg(amount)": 14.75, "min(amount)": 0.0,
        "max(status)": "unpaid", "distinct(customer)": 5, "count(late)": 60,
    });
    assert_eq!(json!(frame.table), json!([row]));
    let query = json!({
        "filter": {"id": {"lt": 7}}, "group_by": "status", "aggregate": ["count", "sum(id)"],
        "sort": "-sum(id)", "limit": 2,
    });
    let frame = answer(&orders(), query);
    let rows = json!([
        {"status": "paid", "count": 3, "sum(id)": 9},
        {"status": "draft", "count": 2, "sum(id)": 7},
    ]);
    assert_eq!(json!(frame.table), rows);
    assert_eq!(warned(&frame, "rows_omitted"), Some(1));
    let frame = answer(&orders(), json!({"group_by": "late"}));
    assert_eq!(
        json!(frame.table),
        json!([{"late": false, "count": 51}, {"late": true, "count": 9}])
    );
    // One group is a row like several.
    let frame = answer(&orders(), json!({"filter": {"late": true}, "group_by": "late"}));
    assert_eq!((json!(frame.table), frame.facts.len()), (json!([{"late": true, "count": 9}]), 0));
    let none =
        answer(&RawResult::json(json!([])), json!({"aggregate": ["count", "avg(x)", "sum(x)"]}));
    assert_eq!(json!(none.table), json!([{"count": 0, "avg(x)": null, "sum(x)": 0}]));
}

#[test]
fn what_is_no_object_is_asked_about_as_a_value() {
    let found = |rows: Value, query: Value| {
        let asked = FIREWALL.expand(&RawResult::json(rows), &ask(&query), &wide());
        asked.map(|frame| json!(frame.table)).map_err(|error| error.to_string())
    };
    let threes = Ok(json!([{"value": 3}, {"value": 3}]));
    assert_eq!(found(json!([3, 1, 3]), json!({"filter": {"value": 3}})), threes);
    assert_eq!(found(json!(7), json!({"filter": {"value": 7}})), Ok(json!([{"value": 7}])));
    let refused = found(json!([3, 1]), json!({"filter": {"n": 3}})).unwrap_err();
    assert!(refused.contains("value"), "{refused}");
    assert!(found(json!([{"n": 3}]), json!({"filter": {"value": 3}})).is_err());
}

#[test]
fn null_is_no_truth() {
    let raw = RawResult::json(json!([
        {"id": 0, "late": null}, {"id": 1, "late": false}, {"id": 2, "late": true}, {"id": 3, "late": null},
    ]));
    for (value, expected) in
        [(json!(null), vec![0, 3]), (json!(false), vec![1]), (json!(true), vec![2])]
    {
        assert_eq!(ids(&answer(&raw, json!({"filter": {"late": value}}))), expected, "{value}");
    }
}

#[test]
fn groups_are_bounded() {
    let rows: Vec<Value> = (0..1_001).map(|n| json!({"id": n})).collect();
    let raw = RawResult::json(json!(rows));
    let error = FIREWALL.expand(&raw, &ask(&json!({"group_by": "id"})), &spec(ResponseMode::Table));
    assert_eq!(error.unwrap_err().code(), "handle_constraint_violation");
}

#[test]
fn a_filter_tells_nothing_that_a_look_would_not() {
    let count = |query: Value| answer(&orders(), query).table.len();
    // The values behind the masks are found by no test.
    for filter in [
        json!({"email": "p7@corp.example.com"}),
        json!({"email": {"contains": "p7"}}),
        json!({"email": {"in": ["p7@corp.example.com"]}}),
        json!({"email": {"gt": "p7@", "lt": "p7@z"}}),
        json!({"note": {"contains": "p7@corp.example.com"}}),
        json!({"note": {"contains": "p7"}}),
    ] {
        assert_eq!(count(json!({"filter": filter})), 0, "{filter}");
    }
    assert_eq!(count(json!({"filter": {"note": "mail [REDACTED] about it"}, "limit": 50})), 50);
    // Neither does their order or their number show through.
    let in_order: Vec<i64> = (0..50).collect();
    assert_eq!(ids(&answer(&orders(), json!({"sort": "-email", "fields": ["id"]}))), in_order);
    let frame = answer(&orders(), json!({"aggregate": ["distinct(note)"]}));
    assert_eq!(frame.table[0]["distinct(note)"], 1);
    let frame = answer(&orders(), json!({"group_by": "note", "aggregate": ["count"]}));
    assert_eq!(json!(frame.table), json!([{"note": "mail [REDACTED] about it", "count": 60}]));
    // A name beside a value hides it from questions too.
    let raw = RawResult::json(json!([{"name": "DB_PASSWORD", "value": "hunter2!"}]));
    let frame = answer(&raw, json!({"filter": {"value": "hunter2!"}}));
    assert!(frame.table.is_empty(), "{frame:?}");
}

#[test]
fn only_fields_that_may_be_seen_can_be_asked_about() {
    let narrow = capability(&["id", "status"]);
    let mut spec = spec(ResponseMode::Table);
    spec.capability = &narrow;
    for query in [
        json!({"filter": {"amount": 1}}),
        json!({"filter": {"nope": 1}}),
        json!({"sort": "amount"}),
        json!({"aggregate": "max(amount)"}),
        json!({"group_by": "amount"}),
        json!({"filter": {"id": 1}, "sort": [{"field": "amount"}]}),
    ] {
        let error = FIREWALL.expand(&orders(), &ask(&query), &spec).unwrap_err();
        assert_eq!(error.code(), "handle_constraint_violation", "{query}");
        assert!(!error.to_string().contains("amount"), "{error}");
    }
    let frame = FIREWALL.expand(
        &orders(),
        &ask(&json!({"filter": {"status": "draft"}, "limit": 1})),
        &spec,
    );
    assert_eq!(json!(frame.unwrap().table), json!([{"id": 2, "status": "draft"}]));
    // A name that is masked when it is shown cannot be asked about either.
    let raw = RawResult::json(json!([{"jane.roe@corp.example.com": 1, "id": 1}]));
    for query in [
        json!({"filter": {"jane.roe@corp.example.com": {"ne": null}}}),
        json!({"group_by": "jane.roe@corp.example.com"}),
    ] {
        let open = self::spec(ResponseMode::Table);
        let error = FIREWALL.expand(&raw, &ask(&query), &open).unwrap_err();
        assert_eq!(error.code(), "handle_constraint_violation", "{query}");
    }
}

#[test]
fn a_page_never_passes_the_rows_of_the_constraints_and_there_are_more_pages() {
    let three = Constraints { max_rows: Some(3), ..Constraints::default() };
    let mut spec = spec(ResponseMode::Table);
    spec.constraints = &three;
    let page = |query: Value| FIREWALL.expand(&orders(), &ask(&query), &spec);
    assert_eq!(page(json!({})).unwrap().table.len(), 3);
    assert_eq!(page(json!({"sort": "-id"})).unwrap().table.len(), 3);
    assert_eq!(ids(&page(json!({"offset": 57, "fields": ["id"]})).unwrap()), [57, 58, 59]);
    for query in [json!({"limit": 4}), json!({"limit": 4, "filter": {"id": 1}})] {
        assert_eq!(page(query).unwrap_err().code(), "handle_constraint_violation");
    }
    let summary = Constraints { mode: Some(ResponseMode::Summary), ..Constraints::default() };
    spec.constraints = &summary;
    let frame = FIREWALL.expand(&orders(), &ask(&json!({"filter": {"status": "paid"}})), &spec);
    let frame = frame.unwrap();
    assert!(frame.table.is_empty() && frame.facts[0] == "Total rows: 20", "{frame:?}");
    let group = FIREWALL.expand(&orders(), &ask(&json!({"group_by": "status"})), &spec);
    assert_eq!(group.unwrap_err().code(), "handle_constraint_violation");
    let handle_only =
        Constraints { mode: Some(ResponseMode::HandleOnly), ..Constraints::default() };
    spec.constraints = &handle_only;
    let frame = FIREWALL.expand(&orders(), &ask(&json!({"filter": {"id": 1}})), &spec).unwrap();
    assert!(frame.table.is_empty() && frame.facts.is_empty(), "{frame:?}");
}

#[test]
fn lines_of_a_text_can_be_asked_about() {
    let text = "error one\nok\npassword=hunter2!\nerror two";
    let frame = answer(&RawResult::text(text), json!({"filter": {"value": {"contains": "error"}}}));
    assert_eq!(json!(frame.table), json!([{"value": "error one"}, {"value": "error two"}]));
    let frame =
        answer(&RawResult::text(text), json!({"filter": {"value": {"contains": "hunter"}}}));
    assert!(frame.table.is_empty());
}

#[test]
fn a_filter_and_a_plain_reading_of_the_shown_rows_agree() {
    let shown = |firewall: &Firewall, raw: &RawResult, spec: &FrameSpec<'_>| {
        firewall.expand(raw, &HandleQuery::default(), spec).unwrap().table
    };
    let raw = orders();
    let all = shown(&FIREWALL, &raw, &wide());
    for row in all.iter().take(20) {
        for (field, value) in row.iter().filter(|(_, v)| !v.is_array() && !v.is_object()) {
            let wanted = all.iter().filter(|other| other[field] == *value).count();
            let filter = json!({"filter": {field: value}, "limit": 50});
            let found = answer(&raw, filter).table;
            assert!(found.len() >= wanted, "{field}: {} of {wanted}", found.len());
            assert!(found.iter().all(|other| other[field] == *value), "{field}");
        }
    }
}

#[test]
fn names_of_hidden_fields_are_not_needed_to_be_refused() {
    let narrow = names(&["id"]);
    let constraints = Constraints { allowed_fields: Some(narrow), ..Constraints::default() };
    let mut spec = spec(ResponseMode::Table);
    spec.constraints = &constraints;
    let refusal = |field: &str| {
        let query = ask(&json!({"filter": {field: 1}}));
        FIREWALL.expand(&orders(), &query, &spec).unwrap_err().to_string()
    };
    assert_eq!(refusal("amount"), refusal("no_such_field"));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[-a-z(){}$.]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        let key = prop_oneof![
            prop::sample::select(&[
                "filter", "sort", "aggregate", "group_by", "fields", "limit", "offset", "view",
                "args", "field", "order", "gt", "in", "id", "path", "start",
            ])
            .prop_map(str::to_owned),
            "[a-z]{1,6}",
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(key, inner, 0..5).prop_map(|map| json!(map)),
        ]
    })
}

proptest! {
    #[test]
    fn no_query_makes_the_reader_or_the_search_panic(query in any_json(), rows in any_json()) {
        if let Ok(query) = HandleQuery::parse(&query) {
            let text = serde_json::to_value(&query).unwrap();
            prop_assert_eq!(&HandleQuery::parse(&text).unwrap(), &query);
            for raw in [orders(), RawResult::json(rows.clone()), RawResult::text(rows.to_string())] {
                let _ = FIREWALL.expand(&raw, &query, &spec(ResponseMode::Table));
            }
        }
    }

    #[test]
    fn a_sorted_page_is_the_rows_in_order(seed in prop::collection::vec(-5_i64..5, 1..40)) {
        let rows: Vec<Value> =
            seed.iter().enumerate().map(|(id, n)| json!({"id": id, "n": n})).collect();
        let frame = answer(&RawResult::json(json!(rows)), json!({"sort": ["-n", "id"], "limit": 50}));
        let mut wanted: Vec<(i64, i64)> =
            seed.iter().enumerate().map(|(id, n)| (-n, i64::try_from(id).unwrap())).collect();
        wanted.sort_unstable();
        let wanted: Vec<i64> = wanted.into_iter().map(|(_, id)| id).collect();
        prop_assert_eq!(ids(&frame), wanted);
    }
}

#[test]
fn a_limit_of_zero_shows_nothing_and_counts_it() {
    let results = [
        ("rows", RawResult::json(json!([{"sesame": 1}, {"sesame": 2}, {"sesame": 3}])), 3),
        ("rows", RawResult::json(json!({"orders": [{"sesame": 1}, {"sesame": 2}], "n": 2})), 2),
        ("rows", RawResult::json(json!(["sesame", "sesame"])), 2),
        ("rows", RawResult::json(json!({"sesame": {"sesame": "sesame"}})), 1),
        ("lines", RawResult::json(json!("sesame")), 1),
        ("lines", RawResult::text("sesame\nsesame\nsesame street"), 3),
    ];
    for (what, raw, parts) in &results {
        for mode in [ResponseMode::Table, ResponseMode::Summary, ResponseMode::Auto] {
            let frame = FIREWALL.expand(raw, &ask(&json!({"limit": 0})), &spec(mode)).unwrap();
            let shown = json!([frame.table, frame.facts, frame.content, frame.structured]);
            assert!(!shown.to_string().contains("sesame"), "{mode:?} {raw:?}: {shown}");
            match mode {
                ResponseMode::Auto => {
                    let note = format!("none of {parts} {what}");
                    assert!(frame.notes.iter().any(|n| n.contains(&note)), "{:?}", frame.notes);
                }
                _ => assert_eq!(warned(&frame, "rows_omitted"), Some(*parts), "{mode:?} {raw:?}"),
            }
        }
    }
    // With a question, too: of rows that match, and of rows that are made.
    for query in [
        json!({"limit": 0, "filter": {"sesame": {"gte": 2}}}),
        json!({"limit": 0, "sort": "sesame"}),
        json!({"limit": 0, "group_by": "sesame", "aggregate": ["count"]}),
    ] {
        for mode in [ResponseMode::Table, ResponseMode::Auto] {
            let Ok(query) = HandleQuery::parse(&query) else { panic!("{query}") };
            let frame = FIREWALL.expand(&results[0].1, &query, &spec(mode)).unwrap();
            assert!(frame.table.is_empty(), "{query:?}");
            let text = json!(frame.content).to_string();
            assert!(!text.contains("sesame"), "{query:?}: {text}");
            let told = warned(&frame, "rows_omitted").is_some()
                || frame.notes.iter().any(|note| note.contains("none of"));
            assert!(told, "{mode:?} {query:?}: {frame:?}");
        }
    }
}

#[test]
fn a_query_has_at_most_32_conditions_and_100_values_of_one() {
    let parsed = |filter: &Value| HandleQuery::parse(&json!({ "filter": filter }));
    let conditions = |count: usize| json!(vec![json!({ "id": 1 }); count]);
    assert!(parsed(&conditions(32)).is_ok());
    let error = parsed(&conditions(33)).unwrap_err().to_string();
    assert!(error.contains("a list of at most 32 such"), "{error}");
    let names =
        |count: usize| -> Value { (0..count).map(|n| (format!("f{n}"), json!(1))).collect() };
    assert!(parsed(&names(31)).is_ok() && parsed(&names(32)).is_ok());
    let error = parsed(&names(33)).unwrap_err().to_string();
    assert!(error.contains("more than 32 conditions"), "{error}");
    assert!(parsed(&names(40)).is_err());
    let list = |count: usize| json!({ "id": { "in": vec![1; count] } });
    assert!(parsed(&list(100)).is_ok() && parsed(&list(101)).is_err());
    let text = |length: usize| json!({ "id": "x".repeat(length) });
    assert!(parsed(&text(1_000)).is_ok() && parsed(&text(1_001)).is_err());
    let args =
        |count: usize| -> Value { (0..count).map(|n| (format!("a{n}"), json!(1))).collect() };
    let view = |count: usize| HandleQuery::parse(&json!({ "view": "get", "args": args(count) }));
    assert!(view(16).is_ok() && view(17).is_err());
    let fields = |count: usize| HandleQuery::parse(&json!({ "fields": vec!["a"; count] }));
    assert!(fields(256).is_ok() && fields(257).is_err());
}

#[test]
fn a_group_that_is_named_as_an_aggregate_takes_nothing_from_it() {
    let raw = RawResult::json(json!([{ "count": 5 }, { "count": 5 }, { "count": 7 }]));
    for query in [
        json!({ "group_by": "count", "aggregate": ["count"] }),
        json!({ "group_by": "count" }),
        json!({ "group_by": "count", "sort": "-count_2" }),
    ] {
        let rows = json!(answer(&raw, query).table);
        assert_eq!(rows, json!([{ "count": 5, "count_2": 2 }, { "count": 7, "count_2": 1 }]));
    }
    let raw = RawResult::json(json!([{ "sum(a)": "x", "a": 2 }, { "sum(a)": "x", "a": 3 }]));
    let rows = json!(answer(&raw, json!({ "group_by": "sum(a)", "aggregate": ["sum(a)"] })).table);
    assert_eq!(rows, json!([{ "sum(a)": "x", "sum(a)_2": 5 }]));
}

#[test]
fn columns_of_one_name_and_cells_beyond_the_head_are_columns_of_their_own() {
    let cells = |text: &str, view: Option<&str>| {
        let mut query = ask(&json!({ "limit": 50 }));
        query.view = view.map(ViewRequest::new);
        let mut spec = wide();
        spec.mode = ResponseMode::Auto;
        let frame = FIREWALL.expand(&RawResult::text(text), &query, &spec).unwrap();
        frame.content[0]["text"].as_str().unwrap().to_owned()
    };
    let markdown = "| a | a | b |\n|---|---|---|\n| 1 | 2 | 3 |\n| 4 | 5 | 6 |\n";
    assert_eq!(cells(markdown, None), "a,a_2,b\n1,2,3\n4,5,6");
    // A text is a table where its first lines have as many cells each.
    let csv = format!("a,b\n{}8,9,more,and\n", "1,2\n".repeat(20));
    for view in [None, Some("rows"), Some("tail")] {
        let shown = cells(&csv, view);
        assert!(shown.starts_with("a,b,column_3,column_4\n"), "{view:?}: {shown}");
        assert!(shown.ends_with("8,9,more,and"), "{view:?}: {shown}");
    }
}

#[test]
fn a_query_names_no_more_fields_than_a_frame_shows() {
    let budget = FrameBudget { max_fields: 2, ..FrameBudget::default() };
    let spec = FrameSpec { budget, ..spec(ResponseMode::Table) };
    let expanded = |fields: Value| {
        FIREWALL
            .expand(&orders(), &ask(&json!({ "fields": fields })), &spec)
            .map(|frame| frame.table)
    };
    let row = expanded(json!(["id", "status"])).unwrap().remove(0);
    assert_eq!(row.keys().collect::<Vec<_>>(), ["id", "status"]);
    assert!(expanded(json!(["id", "status", "late"])).is_err());
}
