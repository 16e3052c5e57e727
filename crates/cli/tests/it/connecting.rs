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

#[test]
fn a_script_that_disconnects_is_told_what_happened_also_where_nothing_was_connected() {
    let home = Home::new();
    let user = json!({ "mcpServers": { "a": server("good", json!({})) } });
    home.write(".cursor/mcp.json", &user.to_string());
    home.ok(&["init", "--yes"]);
    let nothing = home.ok(&["disconnect", "--json"]).json();
    assert_eq!(nothing, json!({ "ok": true, "files": 0, "dry_run": false }));
    home.ok(&["connect"]);
    let done = home.ok(&["disconnect", "--json"]).json();
    assert_eq!((&done["client"], &done["undo"]), (&json!("cursor"), &json!("exact")), "{done}");
}

#[test]
fn a_dry_run_shows_no_secret() {
    let home = Home::new();
    let mut good = server("good", json!({ "SOME_TOKEN": "secret-in-env" }));
    let more = ["postgres://ann:secret-in-url@host/db", "API_KEY=secret-in-option"];
    good["args"].as_array_mut().unwrap().extend(more.map(Value::from));
    // It stays in the client, and so its line stands beside the change.
    let legacy = json!({ "type": "sse", "url": "https://x.example/sse",
        "headers": { "Authorization": "Bearer secret-in-header" } });
    let user = json!({ "mcpServers": { "a": good, "b": legacy } });
    home.write(".cursor/mcp.json", &serde_json::to_string_pretty(&user).unwrap());
    home.ok(&["init", "--yes"]);
    let shown = home.ok(&["connect", "--dry-run"]).out;
    assert!(shown.contains("-      \"command\"") && !shown.contains("secret-in-"), "{shown}");
    home.ok(&["connect"]);
    let shown = home.ok(&["disconnect", "--dry-run"]).out;
    assert!(shown.contains("+      \"command\"") && !shown.contains("secret-in-"), "{shown}");
}
