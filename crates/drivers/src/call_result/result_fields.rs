//! Fields of a result that the protocol demands and a server left out, and those that it does not define.

use serde_json::{Map, Value, json};

use super::is_small;
use crate::mcp::STRUCTURED_CONTENT;

/// Adds the list of blocks, which the protocol demands, to a result with a structured value alone: its
/// text, as the protocol recommends for clients that show a model nothing but blocks.
pub(super) fn add_missing_content(result: &mut Value) {
    let Value::Object(result) = result else { return };
    let Some(structured) = result.get(STRUCTURED_CONTENT).filter(|value| is_small(value)) else {
        return;
    };
    if !result.contains_key("content") {
        let block = json!({ "type": "text", "text": structured.to_string() });
        result.insert("content".to_owned(), json!([block]));
    }
}

/// Moves the fields that the protocol does not define into a text block of their own, so that nothing
/// is lost and the other blocks stay as they are. Empty ones (`tools: []`) say nothing, and a client that
/// joins the blocks would give them to a model as a part of a file.
pub(super) fn show_unknown_fields_as_text(result: &mut Value) {
    const KNOWN: [&str; 5] = ["content", STRUCTURED_CONTENT, "isError", "resultType", "_meta"];
    let Value::Object(result) = result else { return };
    if !result.get("content").is_some_and(Value::is_array) {
        return;
    }
    let is_unknown = |key: &String| !KNOWN.contains(&key.as_str());
    let keys: Vec<String> = result.keys().filter(|key| is_unknown(key)).cloned().collect();
    let unknown: Map<String, Value> = keys
        .iter()
        .filter_map(|key| result.remove_entry(key))
        .filter(|(_, value)| !is_empty(value))
        .collect();
    if let (false, Some(Value::Array(blocks))) = (unknown.is_empty(), result.get_mut("content")) {
        blocks.push(json!({ "type": "text", "text": Value::Object(unknown).to_string() }));
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(_) | Value::Number(_) => false,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
    }
}
