//! A table of word vectors beside the words of tools.

use serde_json::{Value, json};

use crate::client::{self, Client};
use crate::support::{Folder, weaver};

/// A request that shares no word with the tool that it means.
const MEANT: &str = "the employees";

fn settings(table: &str) -> String {
    format!("[gateway]\nword_table = \"{table}\"\n")
}

/// The first tool for the request.
fn first(settings: &str) -> Option<String> {
    let folder = client::folder(&[("good", "good")], settings, "");
    let mut client = Client::open(&folder);
    let (is_error, body) = client.call("tool_browse", json!({ "query": MEANT }));
    assert!(!is_error, "{body}");
    client.finish();
    body["tools"].as_array()?.first()?["id"].as_str().map(str::to_owned)
}

#[test]
fn the_gateway_finds_by_meaning_unless_it_is_told_not_to() {
    assert_ne!(first(&settings("none")).as_deref(), Some("good.people"), "no word of it says so");
    assert_eq!(first(&settings("built-in")).as_deref(), Some("good.people"));
    assert_eq!(first("").as_deref(), Some("good.people"));
}

#[test]
fn a_table_that_is_none_is_found_at_the_check() {
    let folder = client::folder(&[("good", "good")], &settings("no-such-folder"), "");
    let run = folder.check(&["--json"]);
    assert_eq!(run.finding_codes(), ["config.word_table"], "{run:?}");
}

#[test]
fn route_takes_the_same_tables() {
    let folder = Folder::new();
    let tools: String = [("people", "The people of a firm."), ("echo", "Says the text again.")]
        .map(|(id, description)| {
            json!({ "id": id, "name": id, "description": description }).to_string() + "\n"
        })
        .concat();
    folder.write("tools.jsonl", &tools);
    let route = |more: &[&str]| {
        let tools = folder.arg("tools.jsonl");
        weaver(&[&["route", "--tools", &tools, "--query", MEANT, "--json"], more].concat())
    };
    let ranked = |run: &crate::support::Run| -> Vec<Value> {
        run.json()["ranked"].as_array().unwrap().clone()
    };
    assert!(ranked(&route(&[])).is_empty());
    assert_eq!(ranked(&route(&["--word-table", "built-in"])).first(), Some(&json!("people")));
    let absent = route(&["--word-table", "absent"]);
    assert!(absent.code == 3 && absent.err.contains("table.unreadable"), "{absent:?}");
}
