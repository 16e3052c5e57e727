//! A result of several text blocks that is cut: what a model reads to have the whole of it.

use serde_json::{Value, json};

use crate::client::{Client, folder, shown};
use crate::fixture::{PAGES, page};

/// The calls that the line of Weaver names.
fn named_calls(line: &str) -> Vec<Value> {
    let calls = line.split("`tool_view ").skip(1);
    calls.map(|call| serde_json::from_str(call.split('`').next().unwrap()).unwrap()).collect()
}

#[test]
fn every_cut_block_names_its_own_call_and_the_whole_costs_little_more_than_directly() {
    let folder = folder(&[("s", "told")], "", "");
    let tool = json!([{ "name": "pages", "description": "Reads a document.",
        "inputSchema": { "type": "object" } }]);
    folder.write("files/mark", &tool.to_string());
    let mut client = Client::open(&folder);
    let (is_error, body) = client.execute("s.pages", json!({}));
    assert!(!is_error, "{body}");
    let blocks = body["content"].as_array().unwrap();
    let texts: Vec<&str> = blocks.iter().map(|block| block["text"].as_str().unwrap()).collect();
    let (line, texts) = texts.split_last().unwrap();
    assert!(line.starts_with("[weaver] Shortened: 12 of 13 blocks. See more with "), "{line}");
    assert_eq!(texts.len(), PAGES + 1);
    let calls = named_calls(line);
    assert_eq!(calls.len(), PAGES, "one call for each cut block: {line}");
    let mut read: usize = shown(&body).len();
    for (number, call) in calls.iter().enumerate() {
        let lines = page(number);
        let at = |key: &str| usize::try_from(call["args"][key].as_u64().unwrap()).unwrap();
        let (start, end) = (at("start"), at("end"));
        assert_eq!(call["args"]["path"], format!("content[{}].text", number + 1), "{call}");
        let (is_error, more) = client.call("tool_view", call.clone());
        assert!(!is_error, "{more}");
        // Exactly what is missing, and nothing more.
        assert_eq!(shown(&more), lines[start..end].join("\n"));
        let (head, tail) = texts[number + 1].split_once('…').unwrap();
        let tail = tail.split_once("…\n").unwrap().1;
        assert_eq!(head.trim_end(), lines[..start].join("\n"));
        assert_eq!(tail, lines[end..].join("\n"));
        read += shown(&more).len();
    }
    let direct: usize = (0..PAGES).map(|number| page(number).join("\n").len()).sum();
    assert!(read * 100 <= direct * 115, "{read} characters for {direct}");
    // A search looks into all of them.
    let search = json!({ "handle": calls[0]["handle"], "view": "search",
        "args": { "text": "page 7 line 40:" } });
    let (is_error, found) = client.call("tool_view", search);
    assert!(
        !is_error && shown(&found).starts_with("content[8].text 40: page 7 line 40"),
        "{found}"
    );
    client.finish();
}
