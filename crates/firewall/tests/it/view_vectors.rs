//! What contextweaver (Python) 0.18.2 shows of the same results. Where we differ is asserted here
//! and listed in the table of deviations.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};
use weaver_firewall::handle::{self, HandleAccess};
use weaver_firewall::{HandleError, HandleQuery};
use weaver_types::{
    Confidentiality, Frame, HandleId, Integrity, Label, PrincipalId, RawResult, ResponseMode,
    Tenant,
};

use crate::support::{FIREWALL, spec};

static RECORDED: LazyLock<Map<String, Value>> =
    LazyLock::new(|| serde_json::from_str(include_str!("../data/view_vectors.json")).unwrap());

fn ask(raw: &RawResult, query: &Value) -> Result<Frame, HandleError> {
    FIREWALL.expand(raw, &HandleQuery::parse(query).unwrap(), &spec(ResponseMode::Table))
}

fn get(raw: &RawResult, args: Value) -> Result<Value, HandleError> {
    Ok(json!(ask(raw, &json!({"view": "get", "args": args}))?.table))
}

fn facts(raw: &RawResult) -> Vec<String> {
    FIREWALL.frame(raw, &spec(ResponseMode::Summary)).facts
}

#[test]
fn firewall_project() {
    let recorded = &RECORDED["firewall.project"];
    let raw = RawResult::json(recorded["obj"].clone());
    let theirs = |at: usize| &recorded["cases"][at][1];
    // Rows without the field are left out, not kept as a null.
    assert_eq!(theirs(0)["a"]["b"], json!([{"c": 1}, null]));
    assert_eq!(get(&raw, json!({"path": "a.b[].c"})).unwrap(), json!([{"c": 1}]));
    // Rows of a list come without what they lie in.
    let rows = get(&raw, json!({"path": "a.b", "keys": ["c", "d"]})).unwrap();
    assert_eq!(rows, theirs(1)["a"]["b"]);
    // A path that leads nowhere is an error, not an empty answer.
    assert_eq!(theirs(2), &json!({}));
    let error = get(&raw, json!({"path": "x.y"})).unwrap_err();
    assert_eq!(error.code(), "invalid_constraint");
    // One path is one question.
    assert_eq!(get(&raw, json!({"path": "a.b[].d"})).unwrap(), theirs(3)["a"]["b"]);
    assert_eq!(get(&raw, json!({"keys": ["e"]})).unwrap(), json!([{"e": theirs(3)["e"]}]));
}

#[test]
fn firewall_extractors() {
    let recorded = RECORDED["firewall.extractors"].as_array().unwrap();
    let texts: Vec<&str> = recorded.iter().map(|case| case[0].as_str().unwrap()).collect();
    // A text that is short is its own fact; an address is not taken for a name and its value.
    assert_eq!(facts(&RawResult::text(texts[0])), [texts[0]]);
    assert_eq!(recorded[0][1]["facts"][2], "http: //x.io");
    // Rows are counted and their columns named, as there, and numbers have their bounds.
    let rows = facts(&RawResult::text(texts[1]));
    assert_eq!(rows[..2], ["Total rows: 2", "Top keys: id, name"]);
    assert_eq!(rows[2..], ["id: min=1.00, max=2.00, avg=1.50", "name distribution: a=1, b=1"]);
    assert_eq!(recorded[1][1]["structured"][1], "columns: id, name");
    assert_eq!(facts(&RawResult::text(texts[2])), [texts[2]]);
}

/// Of a text that is too long to be shown whole, the lines of failures still come.
#[test]
fn firewall_extractors_lines_that_report_a_failure_are_facts() {
    let text = RECORDED["firewall.extractors"][2][0].as_str().unwrap();
    let kept = RECORDED["firewall.extractors"][2][1]["summary"].as_str().unwrap();
    let long = format!("{}{text}\n{}", "all is quiet\n".repeat(60), "more words\n".repeat(60));
    let facts = facts(&RawResult::text(long));
    for line in kept.lines() {
        assert!(facts.iter().skip(1).any(|fact| fact.contains(line)), "{line}: {facts:?}");
    }
    assert!(!facts.iter().any(|fact| fact.contains("all good")), "{facts:?}");
}

#[test]
fn firewall_compact_errors() {
    // What to keep is never left open: without a path, the whole is asked for, bounded as ever.
    let deep = RawResult::json(json!({"a": {"b": [{"c": 1}]}, "_cw": {"firewalled": false}}));
    assert!(get(&deep, json!({})).is_ok());
    // Nothing is written into a caller's data, so no key of it is in the way.
    assert_eq!(get(&deep, json!({"path": "_cw"})).unwrap(), json!([{"firewalled": false}]));
    // What is no JSON has no paths.
    let error = get(&RawResult::text("plain words"), json!({"path": "a"})).unwrap_err();
    assert_eq!(error.code(), "invalid_constraint");
}

/// The answer as text, as the reference gives it.
fn lines(frame: &Frame) -> String {
    let lines = frame.table.iter().map(|row| row["value"].as_str().unwrap());
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn views_drilldown() {
    let (h, t) = (RawResult::json(json!({"a": 1, "b": 2})), RawResult::text("l0\nl1\nl2\nl3"));
    let theirs = |at: usize| RECORDED["views.drilldown"][at][2].as_str().unwrap();
    let refused = |raw, query| ask(raw, &query).unwrap_err().code();
    // A JSON cut in the middle is no JSON; the same of a text is a view.
    assert_eq!(theirs(0), "{\"a\": 1,");
    let head = json!({"view": "head", "args": {"chars": 8}});
    assert_eq!(refused(&h, head.clone()), "invalid_constraint");
    assert_eq!(lines(&ask(&t, &head).unwrap()), "l0\nl1\nl2");
    // A key that is not there is passed over.
    let keys = json!({"keys": ["a", "zz"]});
    let parsed: Value = serde_json::from_str(theirs(1)).unwrap();
    assert_eq!(get(&h, keys.clone()).unwrap(), json!([parsed]));
    // Numbers count from nought, and the end is outside.
    let view = json!({"view": "lines", "args": {"start": 1, "end": 3}});
    assert_eq!(lines(&ask(&t, &view).unwrap()), theirs(2));
    let view = json!({"view": "lines", "args": {"start": 2}});
    assert_eq!(lines(&ask(&t, &view).unwrap()), theirs(3));
    // What a text has no view of is refused, and not answered with nothing.
    assert_eq!(theirs(4), "");
    assert_eq!(get(&t, keys).unwrap_err().code(), "invalid_constraint");
    // What has no view of that name, and what is not there, is refused in both.
    assert_eq!(refused(&t, json!({"view": "nope"})), "invalid_constraint");
    let access = HandleAccess {
        tenant: &Tenant::default(),
        principal: &PrincipalId::parse("ann").unwrap(),
        now: spec(ResponseMode::Table).now,
    };
    let id = HandleId::parse("hdl_00000000000000000000000000000000").unwrap();
    assert_eq!(
        handle::authorized_record(&id, None, access).unwrap_err().code(),
        "handle_not_found"
    );
    for at in [5, 6] {
        assert!(RECORDED["views.drilldown"][at][3].is_string());
    }
}

/// A look at a result that is confidential: redacted like the frame, and as confidential.
#[test]
fn views_drilldown_denied() {
    let raw = RawResult::json(json!({"user": "u7", "password": "hunter2hunter2"}));
    let mut spec = spec(ResponseMode::Table);
    spec.label = Label::new(Confidentiality::Restricted, Integrity::Untrusted);
    for query in [
        json!({}),
        json!({"view": "get", "args": {"path": "password"}}),
        json!({"view": "get", "args": {"keys": ["password", "user"]}}),
        json!({"view": "paths"}),
    ] {
        let frame = FIREWALL.expand(&raw, &HandleQuery::parse(&query).unwrap(), &spec).unwrap();
        assert_eq!(frame.label, spec.label, "{query}");
        assert!(!serde_json::to_string(&frame).unwrap().contains("hunter2"), "{query}");
    }
}
