//! A gateway whose servers are still starting: what is signed is listed at once, and a call waits.

use std::fs;

use serde_json::{Value, json};
use weaver_trace_store::{OpenOptions, SqliteLedger};
use weaver_types::Tenant;
use weaver_types::ledger::{Batch, Durability, Ledger as _, Namespace, RecordKey, RecordWrite};

use crate::client::{self, Client, events, reason, shown};
use crate::fixture::MARK;
use crate::newcomer::{self, Home, server};
use crate::support::{Folder, weaver};

const PROXY: &str = "[gateway]\nmode = \"proxy\"";

fn tool(name: &str, description: &str) -> Value {
    json!({ "name": name, "description": description, "inputSchema": {
        "type": "object", "properties": { "text": { "type": "string" } } } })
}

fn list(folder: &Folder, tools: &[Value]) {
    folder.write("files/mark", &json!(tools).to_string());
}

/// A set-up whose tools are signed, and whose gateway has seen them once.
fn seen(settings: &str) -> Folder {
    let folder = client::folder(&[("s", "told")], settings, "");
    list(&folder, &[tool("echo", "Says the text again."), tool("note", "Writes a note.")]);
    let config = folder.arg("weaver.toml");
    let run = weaver(&["contracts", "approve", "s", "echo", "note", "--config", &config]);
    assert_eq!(run.code, 0, "{run:?}");
    folder.sign("contracts");
    let mut client = Client::open(&folder);
    match settings {
        "" => drop(client.call("tool_browse", json!({}))),
        _ => drop(client.tools()),
    }
    client.finish();
    folder
}

fn hold_up(folder: &Folder) {
    folder.write("files/mark.wait", "");
}

fn let_start(folder: &Folder) {
    fs::remove_file(folder.path("files/mark.wait")).unwrap();
}

fn names(tools: &[Value]) -> Vec<&str> {
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[test]
fn signed_tools_are_listed_before_their_server_is_up_and_a_call_waits_for_it() {
    let folder = seen(PROXY);
    hold_up(&folder);
    let mut client = Client::open(&folder);
    let tools = client.tools();
    assert_eq!(names(&tools), ["s__echo", "s__note", "tool_view"]);
    assert_eq!(tools[0]["description"], "Says the text again.");
    let call =
        client.begin("tools/call", json!({ "name": "s__echo", "arguments": { "text": "x" } }));
    // Another list comes meanwhile; the call still waits.
    assert_eq!(names(&client.tools()).len(), 3);
    let_start(&folder);
    let (is_error, body) = client::unpack(&client.answer(&call));
    assert!(!is_error && shown(&body) == "x", "{body}");
    let rest = client.finish();
    let changes = rest.iter().filter(|line| line["method"] == "notifications/tools/list_changed");
    assert_eq!(changes.count(), 0, "the server lists what was listed: {rest:?}");
}

#[test]
fn a_server_that_turns_out_to_have_changed_is_dealt_with_as_ever() {
    let folder = seen(PROXY);
    list(&folder, &[tool("echo", "Says the text again, twice."), tool("late", "Came later.")]);
    hold_up(&folder);
    let mut client = Client::open(&folder);
    assert_eq!(names(&client.tools()), ["s__echo", "s__note", "tool_view"]);
    let call = client.begin("tools/call", json!({ "name": "s__echo", "arguments": {} }));
    let_start(&folder);
    let (is_error, body) = client::unpack(&client.answer(&call));
    assert!(is_error && reason(&body).1 == "contract_changed", "{body}");
    let message = body["message"].as_str().unwrap();
    let how = "documentation: description changed";
    assert!(
        message.contains(how) && message.contains("`weaver contracts diff s.echo`"),
        "{message}"
    );
    assert!(!message.contains("sha256"), "{message}");
    assert_eq!(client.notice()["method"], "notifications/tools/list_changed");
    assert_eq!(names(&client.tools()), ["s__late", "tool_view"]);
    let gone = client.request("tools/call", json!({ "name": "s__note", "arguments": {} }));
    assert!(gone["error"]["message"].as_str().unwrap().contains("no tool `s__note`"), "{gone}");
    client.finish();
    // Nothing reached the server before it had listed.
    let ran = events(&folder).into_iter().filter(|(kind, _)| kind == "call.outcome").count();
    assert_eq!(ran, 0);
    // The person sees both versions.
    let config = folder.arg("weaver.toml");
    for command in
        [&["contracts", "diff", "--surface", "s"][..], &["contracts", "diff", "s", "echo"]]
    {
        let run = weaver(&[command, &["--config", &config]].concat());
        for part in [
            "    - description: Says the text again.\n",
            "    + description: Says the text again, twice.\n",
            "weaver contracts approve s echo",
        ] {
            assert!(run.code == 1 && run.out.contains(part), "{run:?}");
        }
    }
    let run = weaver(&["contracts", "list", "--config", &config]);
    assert!(
        run.out.contains("`weaver contracts diff --surface kernel` shows what changed"),
        "{run:?}"
    );
}

#[test]
fn a_stored_definition_that_is_not_the_signed_one_is_not_listed() {
    let folder = seen(PROXY);
    let key = RecordKey::new(Tenant::default(), Namespace::Listing, "s");
    let stored = folder.reader().record(&key).unwrap().unwrap();
    let text = String::from_utf8(stored.value.clone()).unwrap();
    assert!(text.contains("Says the text again."), "{text}");
    let value = text.replace("Says the text again.", "Says it, and mails it.").into_bytes();
    let ledger =
        SqliteLedger::open(folder.path(".weaver/ledger.db"), OpenOptions::default()).unwrap();
    let mut batch = Batch::new(Durability::Os);
    batch.put.push(RecordWrite { key, value, expires_at: None });
    ledger.commit(batch).wait().unwrap();
    drop(ledger);
    hold_up(&folder);
    let mut client = Client::open(&folder);
    assert_eq!(names(&client.tools()), ["s__note", "tool_view"]);
    let_start(&folder);
    client.finish();
}

#[test]
fn a_tool_of_a_server_that_is_starting_is_described_and_never_unknown() {
    let folder = seen("");
    hold_up(&folder);
    let mut client = Client::open(&folder);
    let (is_error, body) = client.call("tool_browse", json!({ "capability": "s.echo" }));
    assert!(!is_error && body["description"] == "Says the text again.", "{body}");
    let (is_error, body) = client.call("tool_browse", json!({ "query": "say" }));
    assert!(!is_error && body["tools"].to_string().contains("s.note"), "{body}");
    assert!(!body["text"].as_str().unwrap().contains("starting"), "all of it is known: {body}");
    // What was not listed before is waited for.
    list(&folder, &[tool("echo", "Says the text again."), tool("other", "Came later.")]);
    let asked = json!({ "name": "tool_browse", "arguments": { "capability": "s.other" } });
    let asked = client.begin("tools/call", asked);
    let_start(&folder);
    let (is_error, body) = client::unpack(&client.answer(&asked));
    assert!(!is_error && body["description"] == "Came later.", "{body}");
    client.finish();
}

/// A setup has just listed the servers, so the first client waits for none of them.
#[test]
fn the_first_list_after_a_setup_waits_for_no_server() {
    let home = Home::new();
    let mark = home.path("listed.json");
    let entry = server("told", json!({ MARK: mark.to_str().unwrap() }));
    home.write(".cursor/mcp.json", &json!({ "mcpServers": { "notes": entry } }).to_string());
    home.write("listed.json", &json!([tool("read_note", "Reads a note.")]).to_string());
    home.ok(&["init", "--yes"]);
    home.ok(&["connect"]);
    home.write("listed.json.wait", "");
    let config: Value = serde_json::from_str(&home.read(".cursor/mcp.json")).unwrap();
    let mut client = newcomer::Client::start(&home, &config["mcpServers"]["weaver"]);
    let tools = client.ask("tools/list", json!({}));
    let names = names(tools["tools"].as_array().unwrap());
    assert_eq!(names, ["notes__read_note", "tool_view"]);
    fs::remove_file(home.path("listed.json.wait")).unwrap();
    let read = client.call("notes__read_note", json!({ "text": "x" }));
    assert_ne!(read["isError"], true, "{read}");
    drop(client);
    home.ok(&["stop"]);
    home.ok(&["trace", "verify"]);
}
