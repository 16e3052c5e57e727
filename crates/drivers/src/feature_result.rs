//! Converts resources, prompts and completions to raw results.
//!
//! Their content is laid out as blocks like a tool's, so that the same firewall code applies.
//! Metadata of a block (URI and type of a resource, role of a message) is in the structured value,
//! in the same order.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use weaver_types::{ContentBlocks, RawContent, RawResult, StructuredContent};

use crate::call_result::{MAX_BLOCK_TEXT_BYTES, MAX_BLOCKS};
use crate::mcp::Reply;

/// The result of `resources/read`.
pub(crate) fn resource_result(reply: Reply) -> RawResult {
    let findings = reply.warnings().iter().map(|finding| finding.code()).collect();
    let result = reply.into_value();
    let contents = result.get("contents").and_then(Value::as_array);
    let blocks = contents.and_then(|contents| {
        let parts = contents.iter().map(|item| item.as_object().map(resource_block));
        to_content_blocks(parts, |about| json!({ "contents": about }))
    });
    let single = contents.filter(|contents| contents.len() == 1).and_then(|one| one.first());
    let content = single.and_then(single_content).unwrap_or(RawContent::Json(result));
    with_blocks(content, blocks, findings)
}

/// The result of `prompts/get`.
pub(crate) fn prompt_result(reply: Reply) -> RawResult {
    let findings = reply.warnings().iter().map(|finding| finding.code()).collect();
    let result = reply.into_value();
    let description = result.get("description").cloned();
    let messages = result.get("messages").and_then(Value::as_array);
    let blocks = messages.and_then(|messages| {
        let parts = messages.iter().map(message_block);
        to_content_blocks(parts, |about| match description {
            Some(description) => json!({ "description": description, "messages": about }),
            None => json!({ "messages": about }),
        })
    });
    with_blocks(RawContent::Json(result), blocks, findings)
}

/// The result of `completion/complete`.
pub(crate) fn completion_result(reply: Reply) -> RawResult {
    let findings = reply.warnings().iter().map(|finding| finding.code()).collect();
    let mut result = reply.into_value();
    let completion = result.get_mut("completion").map(Value::take).unwrap_or_default();
    let shown = json!({ "completion": completion });
    let blocks = ContentBlocks { blocks: Vec::new(), structured: Some(shown.clone()) };
    with_blocks(RawContent::Json(shown), Some(blocks), findings)
}

fn with_blocks(
    content: RawContent,
    blocks: Option<ContentBlocks>,
    findings: Vec<&'static str>,
) -> RawResult {
    RawResult {
        blocks,
        findings,
        structured: StructuredContent::Missing,
        ..RawResult::new(content)
    }
}

/// A block and its metadata.
struct DescribedBlock {
    block: Value,
    description: Map<String, Value>,
}

/// The blocks with their metadata; `None` if one is not a block, or they are larger than any frame.
fn to_content_blocks(
    parts: impl Iterator<Item = Option<DescribedBlock>>,
    wrap_descriptions: impl FnOnce(Vec<Value>) -> Value,
) -> Option<ContentBlocks> {
    let (mut blocks, mut descriptions, mut text) = (Vec::new(), Vec::new(), 0_usize);
    for part in parts {
        let part = part?;
        text =
            text.saturating_add(part.block.get("text").and_then(Value::as_str).map_or(0, str::len));
        if blocks.len() >= MAX_BLOCKS || text > MAX_BLOCK_TEXT_BYTES {
            return None;
        }
        blocks.push(part.block);
        descriptions.push(Value::Object(part.description));
    }
    Some(ContentBlocks { blocks, structured: Some(wrap_descriptions(descriptions)) })
}

/// One part of a resource. Text becomes a text block, so that it is truncated like any other text;
/// binary data becomes an embedded resource.
fn resource_block(item: &Map<String, Value>) -> DescribedBlock {
    let description = item.iter().filter(|(key, _)| !matches!(key.as_str(), "text" | "blob"));
    let description = description.map(|(key, value)| (key.clone(), value.clone())).collect();
    let block = match item.get("text") {
        Some(Value::String(text)) if !item.contains_key("blob") => {
            json!({ "type": "text", "text": text })
        }
        _ => json!({ "type": "resource", "resource": item }),
    };
    DescribedBlock { block, description }
}

/// One message of a prompt.
fn message_block(message: &Value) -> Option<DescribedBlock> {
    let message = message.as_object()?;
    let block = message.get("content").filter(|content| content.is_object())?.clone();
    let description = message.iter().filter(|(key, _)| *key != "content");
    Some(DescribedBlock {
        block,
        description: description.map(|(key, value)| (key.clone(), value.clone())).collect(),
    })
}

/// The content of a resource with one part.
fn single_content(item: &Value) -> Option<RawContent> {
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
        let read = resource_result(reply(&value));
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
        assert!(resource_result(reply(&text)).content == RawContent::Text("one".to_owned()));
        let bytes =
            json!({"contents": [{"uri": "a://1", "mimeType": "image/png", "blob": "aGk="}]});
        let media_type = "image/png".to_owned();
        let expected = RawContent::Binary { media_type, bytes: b"hi".to_vec() };
        assert!(resource_result(reply(&bytes)).content == expected);
        // What is both is passed over by neither: the firewall sees all of it.
        let both = json!({"contents": [{"uri": "a://1", "text": "one", "blob": "aGk="}]});
        assert_eq!(
            resource_result(reply(&both)).blocks.unwrap().blocks[0]["resource"]["text"],
            "one"
        );
        for odd in [json!({}), json!({"contents": "x"}), json!({"contents": ["x"]})] {
            let read = resource_result(reply(&odd));
            assert!(read.blocks.is_none() && read.content == RawContent::Json(odd));
        }
    }

    #[test]
    fn what_no_frame_shows_whole_is_not_laid_out() {
        let long =
            json!({"contents": [{"uri": "a://1", "text": "x".repeat(MAX_BLOCK_TEXT_BYTES + 1)}]});
        let read = resource_result(reply(&long));
        assert!(read.blocks.is_none() && matches!(read.content, RawContent::Text(_)));
        let many: Vec<Value> = (0..=MAX_BLOCKS).map(|_| json!({"uri": "a", "text": ""})).collect();
        assert!(resource_result(reply(&json!({ "contents": many }))).blocks.is_none());
    }

    #[test]
    fn messages_are_blocks_with_their_roles_beside_them() {
        let value = json!({"description": "d", "messages": [
            {"role": "user", "content": {"type": "text", "text": "one"}},
            {"role": "assistant", "content": {"type": "image", "data": "aGk=", "mimeType": "image/png"}}]});
        let blocks = prompt_result(reply(&value)).blocks.unwrap();
        assert_eq!(blocks.blocks[1]["type"], "image");
        let roles =
            json!({"description": "d", "messages": [{"role": "user"}, {"role": "assistant"}]});
        assert_eq!(blocks.structured, Some(roles));
        assert!(prompt_result(reply(&json!({"messages": [{"role": "user"}]}))).blocks.is_none());
    }

    #[test]
    fn a_completion_is_nothing_but_its_values() {
        let value = json!({"completion": {"values": ["a"]}, "tools": [], "_meta": {"x": 1}});
        let read = completion_result(reply(&value));
        let expected = json!({"completion": {"values": ["a"]}});
        assert_eq!(read.blocks.unwrap().structured, Some(expected));
    }
}
