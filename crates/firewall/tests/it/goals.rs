use serde_json::{Value, json};
use weaver_types::{RawResult, ResponseMode};

use crate::support::{FIREWALL, capability, spec, warned};

fn ids(rows: &Value, goal: &str) -> Vec<u64> {
    let mut spec = spec(ResponseMode::Table);
    spec.goal = Some(goal);
    let frame = FIREWALL.frame(&RawResult::json(rows.clone()), &spec);
    frame.table.iter().filter_map(|row| row.get("id")?.as_u64()).collect()
}

fn tickets() -> Value {
    let title = |n: u64| match n {
        70 => "Refund for a broken kettle",
        80 => "refunds are late",
        90 => "kettle",
        _ => "something else",
    };
    (0..100).map(|n| json!({"id": n, "title": title(n)})).collect()
}

#[test]
fn rows_that_bear_on_the_goal_come_first() {
    let shown = ids(&tickets(), "find tickets about refunding a kettle");
    assert_eq!(shown[..5], [70, 80, 90, 0, 1]);
    assert_eq!(shown.len(), 50);
    assert_eq!(ids(&tickets(), "please do it")[..3], [0, 1, 2]);
}

#[test]
fn the_order_tells_nothing_of_what_is_hidden() {
    let rows: Value = (0..10)
        .map(|n| {
            let secret = if n == 7 { "plover" } else { "xyzzy" };
            json!({"id": n, "password": secret, "note": format!("password={secret}"), "mail": format!("{secret}@corp.example.com")})
        })
        .collect();
    assert_eq!(ids(&rows, "plover")[0], 0);
    let narrow = capability(&["id"]);
    let mut spec = spec(ResponseMode::Table);
    spec.capability = &narrow;
    spec.goal = Some("kettle");
    let frame = FIREWALL.frame(&RawResult::json(tickets()), &spec);
    assert_eq!(frame.table[0]["id"], 0);
}

#[test]
fn facts_and_fields_that_bear_on_the_goal_come_first() {
    let wide: serde_json::Map<String, Value> = (0..60)
        .map(|n| (format!("field{n:02}"), json!(n)))
        .chain([("zip_code".into(), json!("80331"))])
        .collect();
    let mut spec = spec(ResponseMode::Summary);
    spec.goal = Some("which zip?");
    let frame = FIREWALL.frame(&RawResult::json(wide.clone().into()), &spec);
    assert!(frame.facts[..2].contains(&"zip_code: 80331".to_owned()), "{:?}", frame.facts);
    assert!(frame.facts[19].starts_with("… ("));
    spec.mode = ResponseMode::Table;
    let frame = FIREWALL.frame(&RawResult::json(wide.into()), &spec);
    assert_eq!(frame.table[0]["zip_code"], "80331");
    assert_eq!(warned(&frame, "fields_omitted"), Some(41));
}

#[test]
fn lines_of_a_text_that_bear_on_the_goal_are_shown() {
    let mut text = "starting up\n".repeat(60);
    text.push_str("payment 17 for jane.roe@corp.example.com was captured twice\n");
    text.push_str(&"all is well\n".repeat(60));
    let mut spec = spec(ResponseMode::Summary);
    spec.goal = Some("payments captured twice");
    let facts = FIREWALL.frame(&RawResult::text(text), &spec).facts;
    let wanted = "line 61: payment 17 for [REDACTED] was captured twice";
    assert!(facts.contains(&wanted.to_owned()), "{facts:?}");
}
