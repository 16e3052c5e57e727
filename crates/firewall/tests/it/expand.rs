use serde_json::{Value, json};
use weaver_firewall::HandleQuery;
use weaver_types::{Constraints, RawResult, ResponseMode};

use crate::support::{FIREWALL, capability, spec, warned};

fn rows() -> RawResult {
    let rows: Vec<Value> = (0..100)
        .map(|n| json!({"id": n, "email": format!("p{n}@b.cd"), "note": format!("call p{n}@b.cd")}))
        .collect();
    RawResult::json(json!(rows))
}

fn ask(query: Value) -> HandleQuery {
    HandleQuery::parse(&query).unwrap()
}

#[test]
fn a_page_has_the_rows_and_fields_asked_for() {
    let query = ask(json!({"offset": 10, "limit": 2, "fields": ["id", "note"]}));
    let frame = FIREWALL.expand(&rows(), &query, &spec(ResponseMode::Summary)).unwrap();
    assert_eq!(frame.mode, ResponseMode::Summary);
    let frame = FIREWALL.expand(&rows(), &query, &spec(ResponseMode::Table)).unwrap();
    assert_eq!(
        json!(frame.table),
        json!([{"id": 10, "note": "call [REDACTED]"}, {"id": 11, "note": "call [REDACTED]"}])
    );
    assert_eq!(warned(&frame, "rows_omitted"), Some(88));
    let raw = FIREWALL.expand(&rows(), &query, &spec(ResponseMode::Raw)).unwrap();
    assert_eq!((raw.raw, raw.mode), (None, ResponseMode::Table));
    let past =
        FIREWALL.expand(&rows(), &ask(json!({"offset": u64::MAX})), &spec(ResponseMode::Table));
    assert!(past.unwrap().table.is_empty());
}

#[test]
fn lines_of_a_text_are_paged_after_redaction() {
    let text = "one\n-----BEGIN PRIVATE KEY-----\nMIIEvQIB\n-----END PRIVATE KEY-----\ntwo\nthree";
    let query = ask(json!({"offset": 1, "limit": 2}));
    let frame =
        FIREWALL.expand(&RawResult::text(text), &query, &spec(ResponseMode::Table)).unwrap();
    assert_eq!(json!(frame.table), json!([{"value": "[REDACTED]"}, {"value": "two"}]));
    assert_eq!(warned(&frame, "rows_omitted"), Some(1));
}

#[test]
fn what_goes_beyond_the_constraints_is_refused() {
    let narrow = capability(&["id"]);
    let mut spec = spec(ResponseMode::Table);
    spec.capability = &narrow;
    for query in
        [json!({"fields": ["note"]}), json!({"limit": 51}), json!({"fields": ["id", "nope"]})]
    {
        let error = FIREWALL.expand(&rows(), &ask(query), &spec).unwrap_err();
        assert_eq!(error.code(), "handle_constraint_violation");
    }
    let frame = FIREWALL.expand(&rows(), &HandleQuery::default(), &spec).unwrap();
    assert_eq!(json!(frame.table[0]), json!({"id": 0}));
}

#[test]
fn strict_mode_and_constraints_give_summaries() {
    let query = ask(json!({"offset": 98}));
    let mut strict = spec(ResponseMode::Table);
    strict.strict = true;
    let frame = FIREWALL.expand(&rows(), &query, &strict).unwrap();
    assert!(frame.table.is_empty());
    assert_eq!(frame.facts[0], "Total rows: 2");
    let summary = Constraints { mode: Some(ResponseMode::Summary), ..Constraints::default() };
    let mut limited = spec(ResponseMode::Table);
    limited.constraints = &summary;
    let frame = FIREWALL.expand(&rows(), &query, &limited).unwrap();
    assert!(frame.table.is_empty() && !frame.facts.is_empty());
}
