use serde_json::json;

use super::*;

#[test]
fn what_is_not_understood_is_refused() {
    for (query, says) in [
        (json!([]), "must be an object"),
        (json!({"offset": -1}), "`offset` must be a whole number"),
        (json!({"offset": 1.0}), "`offset` must be a whole number"),
        (json!({"limit": "5"}), "`limit` must be a whole number"),
        (json!({"limit": true}), "`limit` must be a whole number"),
        (json!({"fields": "id"}), "`fields` must be a list"),
        (json!({"fields": [1]}), "`fields` must be a list"),
        (json!({"filds": []}), "did you mean `fields`?"),
        (json!({"where": {}}), "unknown key `where`"),
        (json!({"filter": "x"}), "`filter` must be an object"),
        (json!({"filter": {"a": {}}}), "the condition on `a` is empty"),
        (json!({"filter": {"a": [1]}}), "`eq` compares with a text"),
        (json!({"filter": {"a": {"gtee": 1}}}), "did you mean `gte`?"),
        (json!({"filter": {"a": {"$regex": "x"}}}), "unknown test `$regex`"),
        (json!({"filter": {"a": {"lt": null}}}), "`lt` compares with a number or a text"),
        (json!({"filter": {"a": {"in": 1}}}), "`in` needs a list"),
        (json!({"filter": {"a": "x".repeat(1_001)}}), "at most 1000 bytes"),
        (json!({"filter": vec![json!({"a": 1}); 33]}), "a list of at most 32"),
        (json!({"sort": 1}), "a key of `sort`"),
        (json!({"sort": vec!["a"; 9]}), "at most 8 keys"),
        (json!({"sort": [{"field": "a", "order": "down"}]}), "a key of `sort`"),
        (json!({"sort": ["-"]}), "`sort` must be a name"),
        (json!({"aggregate": "sum"}), "`sum` needs a field"),
        (json!({"aggregate": "summ(a)"}), "did you mean `sum`?"),
        (json!({"aggregate": "sum(a"}), "no closing bracket"),
        (json!({"aggregate": [1]}), "`aggregate` must be one or a list"),
        (json!({"group_by": ["a"]}), "`group_by` must be a name"),
        (json!({"group_by": "a", "fields": ["a"]}), "does not go with"),
        (json!({"args": {}}), "`args` belongs to a `view`"),
        (json!({"view": 1}), "`view` must be a name"),
        (json!({"view": "x", "args": 1}), "`args` must be an object"),
    ] {
        let error = HandleQuery::parse(&query).unwrap_err();
        assert!(error.to_string().contains(says), "{query}: {error}");
        assert_eq!(error.code(), "invalid_constraint");
        assert!(serde_json::from_value::<HandleQuery>(query).is_err());
    }
}

#[test]
fn a_query_round_trips() {
    for query in [
        json!({}),
        json!({"offset": 3, "limit": 0, "fields": ["a", "b"]}),
        json!({"filter": {"a": 1, "b": {"gte": 1, "lt": 2.5}, "c": {"in": ["x", null]}}, "sort": ["-a", "b"]}),
        json!({"group_by": "a", "aggregate": ["count", "sum(b(c))"]}),
        json!({"view": "lines", "args": {"start": 1}}),
    ] {
        let read = HandleQuery::parse(&query).unwrap();
        let text = serde_json::to_string(&read).unwrap();
        assert_eq!(serde_json::from_str::<HandleQuery>(&text).unwrap(), read, "{text}");
    }
    assert_eq!(HandleQuery::parse(&json!({})).unwrap(), HandleQuery::default());
}

/// Each bound of a query, by what has so many of it.
#[test]
fn as_much_as_a_query_may_have_is_taken_and_one_more_is_refused() {
    let text = |length: usize| "a".repeat(length);
    let list = |count: usize| vec!["count"; count];
    let object = |count: usize| -> Value {
        (0..count).map(|n| (format!("f{n}"), json!(1))).collect::<Map<_, _>>().into()
    };
    let bounds: [(usize, &dyn Fn(usize) -> Value); 12] = [
        (256, &|count| json!({ "fields": list(count) })),
        (256, &|length| json!({ "group_by": text(length) })),
        (256, &|length| json!({ "view": text(length) })),
        (256, &|length| json!({ "sort": text(length) })),
        (256, &|length| json!({ "filter": { text(length): 1 } })),
        (32, &|count| json!({ "filter": object(count) })),
        (32, &|count| json!({ "filter": vec![json!({ "a": 1 }); count] })),
        (100, &|count| json!({ "filter": { "a": { "in": list(count) } } })),
        (1_000, &|length| json!({ "filter": { "a": text(length) } })),
        (8, &|count| json!({ "sort": list(count) })),
        (16, &|count| json!({ "aggregate": list(count) })),
        (16, &|count| json!({ "view": "v", "args": object(count) })),
    ];
    for (most, query) in bounds {
        assert!(HandleQuery::parse(&query(most)).is_ok(), "{}", query(most));
        assert!(HandleQuery::parse(&query(most + 1)).is_err(), "{}", query(most + 1));
    }
    // A name has one byte at least.
    assert!(HandleQuery::parse(&json!({ "group_by": "" })).is_err());
}

#[test]
fn a_query_is_written_with_what_it_asks_for_alone() {
    let written = |query: Value| serde_json::to_value(HandleQuery::parse(&query).unwrap()).unwrap();
    for (query, as_written) in [
        (json!({}), json!({})),
        (json!({ "offset": 0, "limit": 0 }), json!({ "limit": 0 })),
        (json!({ "view": "v", "args": {} }), json!({ "view": "v" })),
        (
            json!({ "sort": ["-a", { "field": "b", "order": "asc" }] }),
            json!({ "sort": ["-a", "b"] }),
        ),
        (
            json!({ "sort": [{ "field": "-a" }, { "field": "-b", "order": "desc" }] }),
            json!({ "sort": [{ "field": "-a", "order": "asc" }, "--b"] }),
        ),
        (
            json!({ "filter": { "a": 1, "b": { "in": [1] } } }),
            json!({ "filter": { "a": { "eq": 1 }, "b": { "in": [1] } } }),
        ),
        (
            json!({ "filter": [{ "a": { "gt": 1 } }, { "a": { "lt": 9 } }] }),
            json!({ "filter": { "a": { "gt": 1, "lt": 9 } } }),
        ),
        (
            json!({ "filter": [{ "a": { "contains": "x" } }, { "a": { "contains": "y" } }] }),
            json!({ "filter": [{ "a": { "contains": "x" } }, { "a": { "contains": "y" } }] }),
        ),
        (json!({ "offset": 1, "char_offset": 7 }), json!({ "offset": 1, "char_offset": 7 })),
        (
            json!({ "aggregate": ["count", "avg(a)"], "group_by": "b" }),
            json!({ "aggregate": ["count", "avg(a)"], "group_by": "b" }),
        ),
    ] {
        assert_eq!(written(query), as_written);
    }
}
