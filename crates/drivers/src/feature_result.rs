//! Resources, prompts and completions as raw results.
//!
//! The content of each is laid out as blocks, as that of a tool is, so that one firewall reads all
//! of them. What says where a block belongs (URI and kind of a resource, role of a message) stands
//! beside the blocks, as the structured value, in the same order.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use weaver_types::{ContentBlocks, RawContent, RawResult, StructuredContent};

use crate::mcp::Reply;

/// The most text in the blocks of a result that is kept as it was laid out, in bytes.
const MAX_TEXT: usize = 1 << 20;
/// The most blocks that are kept so.
const MAX_BLOCKS: usize = 1_000;

/// What `resources/read` brought.
pub(crate) fn resource(reply: Reply) -> RawResult {
    let findings = reply.findings().iter().map(|finding| finding.code()).collect();
    let result = reply.into_value();
    let contents = result.get("contents").and_then(Value::as_array);
    let laid_out = contents.and_then(|contents| {
        let parts = contents.iter().map(|item| item.as_object().map(resource_block));
        lay_out(parts, |about| json!({ "contents": about }))
    });
    let single = contents.filter(|contents| contents.len() == 1).and_then(|one| one.first());
    let content = single.and_then(plain_content).unwrap_or(RawContent::Json(result));
    with_blocks(content, laid_out, findings)
}

/// What `prompts/get` brought.
pub(crate) fn prompt(reply: Reply) -> RawResult {
    let findings = reply.findings().iter().map(|finding| finding.code()).collect();
    let result = reply.into_value();
    let description = result.get("description").cloned();
    let messages = result.get("messages").and_then(Value::as_array);
    let laid_out = messages.and_then(|messages| {
        let parts = messages.iter().map(message_block);
        lay_out(parts, |about| match description {
            Some(description) => json!({ "description": description, "messages": about }),
            None => json!({ "messages": about }),
        })
    });
    with_blocks(RawContent::Json(result), laid_out, findings)
}

/// What `completion/complete` brought.
pub(crate) fn completion(reply: Reply) -> RawResult {
    let findings = reply.findings().iter().map(|finding| finding.code()).collect();
    let mut result = reply.into_value();
    let completion = result.get_mut("completion").map(Value::take).unwrap_or_default();
    let shown = json!({ "completion": completion });
    let laid_out = ContentBlocks { blocks: Vec::new(), structured: Some(shown.clone()) };
    with_blocks(RawContent::Json(shown), Some(laid_out), findings)
}

fn with_blocks(
    content: RawContent,
    blocks: Option<ContentBlocks>,
    findings: Vec<&'static str>,
) -> RawResult {
    RawResult { blocks, findings, structured: StructuredContent::Missing, ..RawResult::of(content) }
}

/// A block, and what is said of it.
struct Part {
    block: Value,
    about: Map<String, Value>,
}

/// The blocks with what is said of them; `None` where one is no block, or there is more in them
/// than any frame shows.
fn lay_out(
    parts: impl Iterator<Item = Option<Part>>,
    beside: impl FnOnce(Vec<Value>) -> Value,
) -> Option<ContentBlocks> {
    let (mut blocks, mut about, mut text) = (Vec::new(), Vec::new(), 0_usize);
    for part in parts {
        let part = part?;
        text =
            text.saturating_add(part.block.get("text").and_then(Value::as_str).map_or(0, str::len));
        if blocks.len() >= MAX_BLOCKS || text > MAX_TEXT {
            return None;
        }
        blocks.push(part.block);
        about.push(Value::Object(part.about));
    }
    Some(ContentBlocks { blocks, structured: Some(beside(about)) })
}

/// One part of a resource. Text is a block of text, so that a long one is cut as any other; bytes
/// are an embedded resource.
fn resource_block(item: &Map<String, Value>) -> Part {
    let about = item.iter().filter(|(key, _)| !matches!(key.as_str(), "text" | "blob"));
    let about = about.map(|(key, value)| (key.clone(), value.clone())).collect();
    let block = match item.get("text") {
        Some(Value::String(text)) if !item.contains_key("blob") => {
            json!({ "type": "text", "text": text })
        }
        _ => json!({ "type": "resource", "resource": item }),
    };
    Part { block, about }
}

/// One message of a prompt.
fn message_block(message: &Value) -> Option<Part> {
    let message = message.as_object()?;
    let block = message.get("content").filter(|content| content.is_object())?.clone();
    let about = message.iter().filter(|(key, _)| *key != "content");
    Some(Part { block, about: about.map(|(key, value)| (key.clone(), value.clone())).collect() })
}

/// The content of a resource of one part.
fn plain_content(item: &Value) -> Option<RawContent> {
    if let (Some(text), None) = (item.get("text").and_then(Value::as_str), item.get("blob")) {
        return Some(RawContent::Text(text.to_owned()));
    }
    let bytes = STANDARD.decode(item.get("blob")?.as_str()?).ok()?;
    let media_type = item.get("mimeType").and_then(Value::as_str);
    let media_type = media_type.unwrap_or("application/octet-stream").to_owned();
    Some(RawContent::Binary { media_type, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(value: &Value) -> Reply {
        let raw = serde_json::value::to_raw_value(value).unwrap();
        Reply::new(raw, value.clone(), Vec::new())
    }

    #[test]
    fn text_and_bytes_of_a_resource_keep_their_places() {
        let value = json!({"contents": [
            {"uri": "a://1", "mimeType": "text/plain", "text": "one"},
            {"uri": "a://2", "blob": "aGk=", "x": 1}]});
        let read = resource(reply(&value));
        let blocks = read.blocks.unwrap();
        assert_eq!(blocks.blocks[0], json!({"type": "text", "text": "one"}));
        assert_eq!(blocks.blocks[1]["resource"]["blob"], "aGk=");
        let about = json!([{"uri": "a://1", "mimeType": "text/plain"}, {"uri": "a://2", "x": 1}]);
        assert_eq!(blocks.structured, Some(json!({ "contents": about })));
        assert!(read.content == RawContent::Json(value));
    }

    #[test]
    fn a_resource_of_one_part_is_its_content() {
        let text = json!({"contents": [{"uri": "a://1", "text": "one"}]});
        assert!(resource(reply(&text)).content == RawContent::Text("one".to_owned()));
        let bytes =
            json!({"contents": [{"uri": "a://1", "mimeType": "image/png", "blob": "aGk="}]});
        let media_type = "image/png".to_owned();
        let expected = RawContent::Binary { media_type, bytes: b"hi".to_vec() };
        assert!(resource(reply(&bytes)).content == expected);
        // What is both is passed over by neither: the firewall sees all of it.
        let both = json!({"contents": [{"uri": "a://1", "text": "one", "blob": "aGk="}]});
        assert_eq!(resource(reply(&both)).blocks.unwrap().blocks[0]["resource"]["text"], "one");
        for odd in [json!({}), json!({"contents": "x"}), json!({"contents": ["x"]})] {
            let read = resource(reply(&odd));
            assert!(read.blocks.is_none() && read.content == RawContent::Json(odd));
        }
    }

    #[test]
    fn what_no_frame_shows_whole_is_not_laid_out() {
        let long = json!({"contents": [{"uri": "a://1", "text": "x".repeat(MAX_TEXT + 1)}]});
        let read = resource(reply(&long));
        assert!(read.blocks.is_none() && matches!(read.content, RawContent::Text(_)));
        let many: Vec<Value> = (0..=MAX_BLOCKS).map(|_| json!({"uri": "a", "text": ""})).collect();
        assert!(resource(reply(&json!({ "contents": many }))).blocks.is_none());
    }

    #[test]
    fn messages_are_blocks_with_their_roles_beside_them() {
        let value = json!({"description": "d", "messages": [
            {"role": "user", "content": {"type": "text", "text": "one"}},
            {"role": "assistant", "content": {"type": "image", "data": "aGk=", "mimeType": "image/png"}}]});
        let blocks = prompt(reply(&value)).blocks.unwrap();
        assert_eq!(blocks.blocks[1]["type"], "image");
        let roles =
            json!({"description": "d", "messages": [{"role": "user"}, {"role": "assistant"}]});
        assert_eq!(blocks.structured, Some(roles));
        assert!(prompt(reply(&json!({"messages": [{"role": "user"}]}))).blocks.is_none());
    }

    #[test]
    fn a_completion_is_nothing_but_its_values() {
        let value = json!({"completion": {"values": ["a"]}, "tools": [], "_meta": {"x": 1}});
        let read = completion(reply(&value));
        let expected = json!({"completion": {"values": ["a"]}});
        assert_eq!(read.blocks.unwrap().structured, Some(expected));
    }
}
