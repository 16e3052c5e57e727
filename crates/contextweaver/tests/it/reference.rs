//! Recorded cases of contextweaver (Python): where it loses tools, asserted the other way round.

use contextweaver::catalog::{Catalog, SelectableItem};
use contextweaver::route::Router;
use serde_json::Value;

use crate::items::{catalog, id};

fn case(name: &str) -> Value {
    let all: Value = serde_json::from_str(include_str!("../data/routing.json")).unwrap();
    all.get(name).unwrap().clone()
}

#[test]
fn no_tool_of_two_large_namespaces_is_lost() {
    let tools = case("routing.tree.lost_items")["input"].as_array().unwrap().clone();
    let lines: Vec<String> = tools.iter().map(Value::to_string).collect();
    let router = Router::new(Catalog::from_jsonl(&lines.join("\n")).unwrap()).unwrap();
    assert_eq!(router.catalog().len(), 60);
    for tool in &tools {
        let hits = router.route(tool["description"].as_str().unwrap(), 1);
        assert_eq!(hits[0].id.as_str(), tool["id"], "the first of {tool}");
    }
}

#[test]
fn both_of_two_large_servers_are_found() {
    let found = case("gateway.lost_tools_two_servers");
    let names = found["input"]["names"].as_array().unwrap().clone();
    assert_eq!((names.len(), &found["output"]["unreachable"]), (84, &Value::from(42)));
    let items = names.iter().map(|name| {
        let name = name.as_str().unwrap();
        let mut item = SelectableItem::new(id(name), name, "");
        item.namespace = name.split('.').next().unwrap().to_owned();
        item
    });
    let router = Router::new(catalog(items)).unwrap();
    assert_eq!(router.route("create a issue in github", 1)[0].id.as_str(), "github.create_issue");
    for name in &names {
        let words = name.as_str().unwrap().replace(['.', '_'], " ");
        assert_eq!(router.route(&words, 1)[0].id.as_str(), name, "the first of {words}");
    }
}
