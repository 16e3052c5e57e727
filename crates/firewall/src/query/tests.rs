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
