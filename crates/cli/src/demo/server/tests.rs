use std::io::Cursor;

use super::*;

/// A folder of the demo, with one note, two tickets and a secret beside the notes.
fn folder() -> (tempfile::TempDir, DemoFolder) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("notes")).unwrap();
    std::fs::write(folder.path().join("notes/welcome.md"), "hello").unwrap();
    std::fs::write(folder.path().join("secret.md"), "secret").unwrap();
    let tickets = "{\"id\":1,\"status\":\"open\"}\n{\"id\":2,\"status\":\"closed\"}\n";
    std::fs::write(folder.path().join("tickets.jsonl"), tickets).unwrap();
    let store = DemoFolder::open(folder.path()).unwrap();
    (folder, store)
}

fn ask(store: &DemoFolder, method: &str, params: Value) -> Value {
    let message = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
    answer_message(store, message.to_string().as_bytes()).unwrap()
}

fn call_tool(store: &DemoFolder, name: &str, arguments: Value) -> Value {
    ask(store, "tools/call", json!({ "name": name, "arguments": arguments }))["result"].clone()
}

#[test]
fn every_tool_works_on_the_files() {
    let (folder, store) = folder();
    let content = |name, arguments| call_tool(&store, name, arguments)["structuredContent"].clone();
    assert_eq!(content("list_notes", json!({})), json!({ "notes": ["welcome"] }));
    assert_eq!(content("read_note", json!({ "name": "welcome" }))["text"], "hello");
    let open = content("search_tickets", json!({ "status": "open" }));
    assert_eq!(open, json!({ "tickets": [{ "id": 1, "status": "open" }] }));
    assert_eq!(content("write_note", json!({ "name": "a", "text": "b" }))["replaced"], false);
    assert_eq!(std::fs::read_to_string(folder.path().join("notes/a.md")).unwrap(), "b");
    assert_eq!(content("delete_note", json!({ "name": "a" })), json!({ "deleted": "a" }));
    assert!(!folder.path().join("notes/a.md").exists());
    content("send_message", json!({ "to": "x@example.org", "text": "hi" }));
    let sent = std::fs::read_to_string(folder.path().join("outbox.txt")).unwrap();
    assert_eq!(sent, "{\"text\":\"hi\",\"to\":\"x@example.org\"}\n");
    assert_eq!(content("wipe_notes", json!({})), json!({ "deleted": ["welcome"] }));
}

#[test]
fn every_listed_tool_exists_and_no_other() {
    let (_folder, store) = folder();
    let tools = ask(&store, "tools/list", json!({}))["result"]["tools"].clone();
    for tool in tools.as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        assert!(tool::run(&store, name, &Map::new()).is_some(), "{name}");
    }
    assert_eq!(tools.as_array().unwrap().len(), 7);
    assert!(tool::run(&store, "shell", &Map::new()).is_none());
}

#[test]
fn a_name_never_leads_out_of_the_folder() {
    let (folder, store) = folder();
    for name in ["../secret", "/etc/passwd", "..", "a/b", "a\\b", "", "A", "a.md", "a\0"] {
        for tool in ["read_note", "write_note", "delete_note"] {
            let result = call_tool(&store, tool, json!({ "name": name, "text": "x" }));
            assert_eq!(result["isError"], true, "{tool} {name}");
        }
    }
    assert_eq!(std::fs::read_to_string(folder.path().join("secret.md")).unwrap(), "secret");
}

#[cfg(unix)]
#[test]
fn a_link_is_not_followed() {
    let (folder, store) = folder();
    let secret = folder.path().join("secret.md");
    std::os::unix::fs::symlink(&secret, folder.path().join("notes/link.md")).unwrap();
    std::os::unix::fs::symlink(&secret, folder.path().join("outbox.txt")).unwrap();
    let calls = [
        ("read_note", json!({ "name": "link" })),
        ("write_note", json!({ "name": "link", "text": "x" })),
        ("send_message", json!({ "to": "x", "text": "x" })),
    ];
    for (tool, arguments) in calls {
        assert_eq!(call_tool(&store, tool, arguments)["isError"], true, "{tool}");
    }
    assert_eq!(std::fs::read_to_string(secret).unwrap(), "secret");
}

#[test]
fn every_note_is_listed_and_no_more_than_the_limit_are_written() {
    let (folder, store) = folder();
    // With `welcome`, one more than the limit.
    for number in 0..1_000 {
        std::fs::write(folder.path().join(format!("notes/n{number}.md")), "x").unwrap();
    }
    std::fs::create_dir(folder.path().join("notes/folder.md")).unwrap();
    let listed = || {
        let listed = call_tool(&store, "list_notes", json!({}));
        listed["structuredContent"]["notes"].as_array().unwrap().clone()
    };
    assert_eq!(listed().len(), 1_001);
    assert!(!listed().contains(&json!("folder")));
    let write = |name| call_tool(&store, "write_note", json!({ "name": name, "text": "y" }));
    assert_eq!(write("another")["isError"], true);
    assert_eq!(write("n7")["structuredContent"]["replaced"], true);
    for name in ["n1", "n2"] {
        call_tool(&store, "delete_note", json!({ "name": name }));
    }
    assert_eq!(write("another")["structuredContent"]["replaced"], false);
    assert_eq!(listed().len(), 1_000);
}

#[test]
fn both_eras_are_answered() {
    let (_folder, store) = folder();
    let old = ask(&store, "initialize", json!({ "protocolVersion": "2025-11-25" }));
    assert_eq!(old["result"]["protocolVersion"], "2025-11-25");
    assert!(old["result"].get("resultType").is_none());
    let other = ask(&store, "initialize", json!({ "protocolVersion": "1999-01-01" }));
    assert_eq!(other["result"]["protocolVersion"], LEGACY_VERSION);
    let meta = json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": MODERN_VERSION } });
    let new = ask(&store, "server/discover", meta.clone());
    assert_eq!(new["result"]["supportedVersions"], json!([MODERN_VERSION]));
    assert_eq!(ask(&store, "tools/list", meta)["result"]["resultType"], "complete");
}

#[test]
fn bad_messages_are_answered_and_the_server_goes_on() {
    let (_folder, store) = folder();
    let lines = "nonsense\n\n[]\n\
        {\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n\
        {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"no/such\"}\n\
        {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"no\"}}\n\
        {\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}";
    let mut out = Vec::new();
    serve(&store, &mut Cursor::new(lines), &mut out).unwrap();
    let out = String::from_utf8(out).unwrap();
    let answers: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let codes: Vec<_> = answers.iter().map(|a| a["error"]["code"].as_i64().unwrap_or(0)).collect();
    assert_eq!(codes, [-32700, -32700, -32601, -32602, 0]);
}

#[test]
fn a_message_without_end_is_refused() {
    let (_folder, store) = folder();
    let endless = io::repeat(b'x');
    let error = serve(&store, &mut io::BufReader::new(endless), &mut Vec::new()).unwrap_err();
    assert_eq!(error.to_string(), "a message is longer than 1 MiB");
}
