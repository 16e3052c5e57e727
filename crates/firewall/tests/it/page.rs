//! The queries of the page on results are understood, and find what they say.

use std::path::Path;

use serde_json::{Value, json};
use weaver_firewall::HandleQuery;
use weaver_types::{RawResult, ResponseMode};

use crate::support::{FIREWALL, spec};

#[test]
fn the_queries_of_the_page_are_answered() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/concepts/results.md");
    let page = std::fs::read_to_string(path).unwrap();
    let order = |n: i64| {
        let status = if n % 2 == 0 { "unpaid" } else { "paid" };
        json!({"id": n, "status": status, "amount": n * 10, "region": "eu", "customer": format!("c{n}")})
    };
    let rows: Vec<Value> = (0..12).map(order).collect();
    let results =
        [RawResult::json(json!(rows)), RawResult::json(json!({"orders": rows, "n": [1]}))];
    let blocks: Vec<&str> = page.split("```json tool_view\n").skip(1).collect();
    assert_eq!(blocks.len(), 3);
    for block in blocks {
        let (text, _) = block.split_once("\n```").unwrap();
        let query = HandleQuery::parse(&serde_json::from_str(text).unwrap()).unwrap();
        let raw = &results[usize::from(query.view.is_some())];
        let frame = FIREWALL.expand(raw, &query, &spec(ResponseMode::Table)).unwrap();
        assert!(!frame.table.is_empty(), "{text}");
    }
}
