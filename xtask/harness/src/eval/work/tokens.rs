//! Token counts with the o200k vocabulary.

use std::collections::HashSet;

use anyhow::Result;
use serde_json::Value;
use tiktoken_rs::o200k_base_singleton;

/// The largest chunk passed to the tokenizer: it fails on a quarter of a megabyte of one character.
const MAX_CHUNK_BYTES: usize = 32 * 1024;
/// What one image or recording counts, whatever its size: the same with every tool access.
const TOKENS_PER_MEDIUM: usize = 765;

/// The tokens of a text. A cut between two chunks can add a token.
pub fn of_text(text: &str) -> Result<usize> {
    let (mut total, mut rest) = (0, text);
    while !rest.is_empty() {
        let (piece, after) = split_chunk(rest);
        // Only this call reports a failure; the others panic.
        let count = o200k_base_singleton().count(piece, &HashSet::new());
        total += count.map_err(|error| anyhow::anyhow!("cannot count tokens: {error}"))?;
        rest = after;
    }
    Ok(total)
}

/// The tokens of a tool result as a model reads it: each block of its content, and its structured
/// content if the blocks do not repeat it.
pub fn of_result(result: &Value) -> Result<usize> {
    let mut total = 0;
    let mut texts = Vec::new();
    for block in result["content"].as_array().into_iter().flatten() {
        total += match block["type"].as_str() {
            Some("text") => {
                let text = block["text"].as_str().unwrap_or_default();
                texts.push(text);
                of_text(text)?
            }
            Some("image" | "audio") => TOKENS_PER_MEDIUM,
            _ => of_text(&without_bytes(block).to_string())?,
        };
    }
    if let Some(structured) = result.get("structuredContent")
        && !is_in_texts(structured, &texts)
    {
        total += of_text(&structured.to_string())?;
    }
    Ok(total)
}

/// The tokens of tools as listed to a model: name, description and input schema.
pub fn of_tools(tools: &[Value]) -> Result<usize> {
    let keys = ["name", "description", "inputSchema"];
    tools.iter().try_fold(0, |total, tool| {
        let told: serde_json::Map<String, Value> =
            keys.iter().map(|key| ((*key).to_owned(), tool[*key].clone())).collect();
        Ok(total + of_text(&Value::from(told).to_string())?)
    })
}

/// A block without base64, which no model reads.
fn without_bytes(block: &Value) -> Value {
    let mut block = block.clone();
    if let Some(resource) = block["resource"].as_object_mut() {
        resource.remove("blob");
    }
    block
}

/// Whether the texts repeat the structured content: one is the same JSON, or each value in it
/// occurs in one of them.
fn is_in_texts(structured: &Value, texts: &[&str]) -> bool {
    let same =
        |text: &&str| serde_json::from_str(text).is_ok_and(|value: Value| value == *structured);
    texts.iter().any(same) || leaves_are_in_texts(structured, texts)
}

fn leaves_are_in_texts(value: &Value, texts: &[&str]) -> bool {
    match value {
        Value::Array(items) => items.iter().all(|item| leaves_are_in_texts(item, texts)),
        Value::Object(fields) => fields.values().all(|item| leaves_are_in_texts(item, texts)),
        Value::String(leaf) => texts.iter().any(|text| text.contains(leaf.as_str())),
        leaf => texts.iter().any(|text| text.contains(&leaf.to_string())),
    }
}

fn split_chunk(text: &str) -> (&str, &str) {
    if text.len() <= MAX_CHUNK_BYTES {
        return (text, "");
    }
    let far = text.floor_char_boundary(MAX_CHUNK_BYTES);
    // After a line end, where tokens end as well.
    let at = text.get(..far).and_then(|head| head.rfind('\n')).map_or(far, |line| line + 1);
    text.split_at_checked(at).unwrap_or((text, ""))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_picture_counts_the_same_whatever_its_size() {
        let of = |data: &str| of_result(&json!({ "content": [{ "type": "image", "data": data }] }));
        assert_eq!(of("AA==").unwrap(), of(&"A".repeat(90_000)).unwrap());
    }

    #[test]
    fn structured_content_counts_only_where_no_text_says_it() {
        let text = |text: &str, structured: Value| {
            let content = json!([{ "type": "text", "text": text }]);
            of_result(&json!({ "content": content, "structuredContent": structured })).unwrap()
        };
        let told = json!({ "temperature": 36, "sky": "grey" });
        assert_eq!(text(&told.to_string(), told.clone()), of_text(&told.to_string()).unwrap());
        assert_eq!(text("grey, 36 degrees", told.clone()), of_text("grey, 36 degrees").unwrap());
        assert!(text("see below", told) > of_text("see below").unwrap());
    }

    #[test]
    fn a_megabyte_of_blanks_is_counted() {
        assert!(of_text(&" ".repeat(1_000_000)).unwrap() > 1_000);
    }
}
