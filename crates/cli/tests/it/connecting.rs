//! `weaver connect` where one file has several places.

use serde_json::{Value, json};

use crate::newcomer::{Home, server, without_comments};

#[test]
fn both_tables_of_a_file_are_connected_and_given_back() {
    let home = Home::new();
    let (user, project) = (server("good", json!({})), server("good", json!({ "PROJECT": "1" })));
    let both = json!({ "mcpServers": { "a": user, "b": project } });
    home.write("both.json", &both.to_string());
    let here = home.path("work").canonicalize().unwrap();
    let claude = json!({
        "mcpServers": { "a": user },
        "projects": { here.to_str().unwrap(): { "mcpServers": { "b": project } } },
    });
    home.write(".claude.json", &serde_json::to_string_pretty(&claude).unwrap());
    let before = home.read(".claude.json");
    home.ok(&["init", "--yes", "--from", "../both.json"]);
    home.ok(&["connect", "--project"]);
    let after: Value = serde_json::from_str(&without_comments(&home.read(".claude.json"))).unwrap();
    for table in [&after["mcpServers"], &after["projects"][here.to_str().unwrap()]["mcpServers"]] {
        let names: Vec<&String> = table.as_object().unwrap().keys().collect();
        assert_eq!(names, ["weaver"], "{after}");
    }
    home.ok(&["disconnect"]);
    assert_eq!(home.read(".claude.json"), before);
}
