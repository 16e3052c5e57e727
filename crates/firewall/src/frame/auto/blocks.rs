//! MCP content blocks: which blocks a result has, and which parts of them a model reads.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use weaver_types::{RawContent, RawResult, json_equal};

use crate::content::media_type;

/// The longest `type` or `mimeType` that is not charged, in bytes.
const MAX_TYPE_BYTES: usize = 100;
/// The longest text that is compared with a structured value, in bytes.
const MAX_COMPARED_BYTES: usize = 1 << 20;

/// The blocks of a result and its structured value. Content without blocks becomes one block.
pub(super) fn of_result(raw: &RawResult) -> (Cow<'_, [Value]>, Option<&Value>) {
    match &raw.blocks {
        Some(blocks) => (Cow::Borrowed(blocks.blocks.as_slice()), blocks.structured.as_ref()),
        None => (Cow::Owned(vec![content_block(&raw.content)]), None),
    }
}

fn content_block(content: &RawContent) -> Value {
    match content {
        RawContent::Text(text) => json!({ "type": "text", "text": text }),
        RawContent::Json(Value::String(text)) => json!({ "type": "text", "text": text }),
        RawContent::Json(value) => json!({ "type": "text", "text": value.to_string() }),
        RawContent::Rows(rows) => json!({ "type": "text", "text": rows.text() }),
        RawContent::Binary { media_type: declared, bytes } => {
            let media_type = media_type(declared);
            match media_type.split('/').next() {
                Some(kind @ ("image" | "audio")) => {
                    let data = STANDARD.encode(bytes);
                    json!({ "type": kind, "data": data, "mimeType": media_type })
                }
                _ => match crate::tabular::printable_text(bytes) {
                    Some(text) => json!({ "type": "text", "text": text }),
                    None => {
                        let description =
                            format!("({media_type}, {} bytes, not shown as text)", bytes.len());
                        json!({ "type": "text", "text": description })
                    }
                },
            }
        }
    }
}

/// The parts of a block that a model reads: its texts verbatim, and every other field as JSON,
/// except binary data and type names.
pub(super) fn readable_texts(block: &Value) -> Vec<Cow<'_, str>> {
    let Some(fields) = block.as_object() else { return vec![Cow::Owned(block.to_string())] };
    let is_media = matches!(block.get("type").and_then(Value::as_str), Some("image" | "audio"));
    let mut texts = Vec::new();
    for (name, value) in fields {
        match (name.as_str(), value) {
            ("resource", Value::Object(resource)) => {
                texts.extend(resource.iter().filter_map(|(name, value)| match name.as_str() {
                    "blob" if value.is_string() => None,
                    name => readable_text(name, value),
                }));
            }
            ("data", Value::String(_)) if is_media => {}
            (name, value) => texts.extend(readable_text(name, value)),
        }
    }
    texts
}

fn readable_text<'v>(name: &str, value: &'v Value) -> Option<Cow<'v, str>> {
    match (name, value) {
        ("text" | "uri" | "name" | "title" | "description", Value::String(text)) => {
            Some(Cow::Borrowed(text))
        }
        ("type" | "mimeType", Value::String(kind)) if kind.len() <= MAX_TYPE_BYTES => None,
        _ => Some(Cow::Owned(format!("{}:{value}", Value::from(name)))),
    }
}

/// The total bytes of a block's texts.
pub(super) fn text_bytes(block: &Value) -> usize {
    readable_texts(block).iter().map(|text| text.len()).sum()
}

/// True for exactly one text block.
pub(super) fn is_one_text(blocks: &[Value]) -> bool {
    matches!(blocks, [block] if block.get("type").and_then(Value::as_str) == Some("text"))
}

/// True if the only block is a text that repeats the structured value: as its JSON, or as the one
/// text that it wraps.
pub(super) fn text_repeats(blocks: &[Value], structured: &Value) -> bool {
    let [block] = blocks else { return false };
    let Some(text) = block.get("text").and_then(Value::as_str) else { return false };
    if wraps_text(structured, text) {
        return true;
    }
    text.len() <= MAX_COMPARED_BYTES
        && serde_json::from_str::<Value>(text).is_ok_and(|value| {
            let is_it = |one: &Value| json_equal(one, &value);
            is_it(structured)
                || structured
                    .as_object()
                    .is_some_and(|fields| fields.len() == 1 && fields.values().all(is_it))
        })
}

/// True if the blocks are texts that repeat the rows of a structured value: one with their list, or
/// one for each row.
pub(super) fn texts_repeat_rows(blocks: &[Value], structured: &Value) -> bool {
    let rows = match structured {
        Value::Array(rows) => rows,
        Value::Object(fields) => {
            let mut lists = fields.values().filter_map(Value::as_array);
            match (lists.next(), lists.next()) {
                (Some(rows), None) => rows,
                _ => return false,
            }
        }
        _ => return false,
    };
    let texts: Option<Vec<&str>> =
        blocks.iter().map(|block| block.get("text").and_then(Value::as_str)).collect();
    let Some(texts) = texts else { return false };
    let bytes: usize = texts.iter().map(|text| text.len()).sum();
    let is_json = |text: &str, value: &Value| {
        text == value.as_str().unwrap_or_default()
            || serde_json::from_str::<Value>(text).is_ok_and(|read| json_equal(&read, value))
    };
    bytes <= MAX_COMPARED_BYTES
        && match texts.as_slice() {
            [] => false,
            [text]
                if serde_json::from_str::<Vec<Value>>(text).is_ok_and(|read| {
                    read.len() == rows.len()
                        && read.iter().zip(rows).all(|(read, row)| json_equal(read, row))
                }) =>
            {
                true
            }
            texts => {
                texts.len() == rows.len()
                    && texts.iter().zip(rows).all(|(text, row)| is_json(text, row))
            }
        }
}

/// True if the structured value is an object with one field that contains this text.
pub(super) fn wraps_text(structured: &Value, text: &str) -> bool {
    structured.as_object().is_some_and(|fields| {
        fields.len() == 1 && fields.values().all(|field| field.as_str() == Some(text))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Value {
        json!({ "type": "text", "text": text })
    }

    #[test]
    fn a_text_repeats_a_value_that_is_its_json_or_one_field_around_it() {
        for (block, structured, is_repeated) in [
            (text("hello"), json!({ "result": "hello" }), true),
            (text("hello"), json!({ "result": "hello", "more": 1 }), false),
            (text("hello"), json!({ "result": "hallo" }), false),
            (text("hello"), json!({}), false),
            (text("hello"), json!("hello"), false),
            (text("{\"a\": 1}"), json!({ "a": 1 }), true),
            (text("{\"a\": [1.0, 0.0]}"), json!({ "a": [1, 0] }), true),
            (text("{\"a\": [1.0, 0.5]}"), json!({ "a": [1, 0] }), false),
            (text("{\"a\": 1}"), json!({ "a": 2 }), false),
            (text("{\"a\": 1}"), json!({ "result": { "a": 1 } }), true),
            (text("{\"a\": 1}"), json!({ "result": { "a": 1 }, "more": 1 }), false),
            (text("{\"a\": 1}"), json!({ "result": { "a": 2 } }), false),
            (text("[1"), json!([1]), false),
            (json!({ "type": "image" }), json!({ "a": 1 }), false),
        ] {
            assert_eq!(
                text_repeats(std::slice::from_ref(&block), &structured),
                is_repeated,
                "{block} {structured}"
            );
            assert!(!text_repeats(&[block.clone(), block], &structured), "two blocks");
        }
        assert!(!text_repeats(&[], &json!({})));
    }

    #[test]
    fn texts_repeat_rows_as_their_list_or_one_by_one() {
        let rows = json!([{ "a": 1 }, { "a": 2 }]);
        let one_by_one = [text("{\"a\": 1.0}"), text("{\"a\":2}")];
        for structured in [rows.clone(), json!({ "rows": rows, "rowCount": 2 })] {
            assert!(texts_repeat_rows(&[text(&rows.to_string())], &structured));
            assert!(texts_repeat_rows(&one_by_one, &structured));
            assert!(!texts_repeat_rows(&one_by_one[..1], &structured));
            assert!(!texts_repeat_rows(&[text("two rows")], &structured));
            assert!(!texts_repeat_rows(&[], &structured));
        }
        let two_lists = json!({ "rows": rows, "columns": [] });
        assert!(!texts_repeat_rows(&one_by_one, &two_lists));
        assert!(texts_repeat_rows(&[text("a"), text("b")], &json!({ "result": ["a", "b"] })));
    }

    #[test]
    fn a_text_beyond_a_mebibyte_is_not_compared() {
        let list = |blanks: usize| text(&format!("[{}]", " ".repeat(blanks)));
        assert!(text_repeats(&[list((1 << 20) - 2)], &json!([])));
        assert!(!text_repeats(&[list((1 << 20) - 1)], &json!([])));
    }

    #[test]
    fn the_texts_of_a_block_are_what_a_model_reads() {
        let block = json!({
            "type": "resource", "title": "Title", "mimeType": "text/plain",
            "resource": { "uri": "file:///a", "text": "inner", "blob": "QQ==" },
        });
        assert_eq!(readable_texts(&block), ["inner", "file:///a", "Title"]);
        assert_eq!(text_bytes(&block), 19);
        assert!(is_one_text(&[text("a")]));
        assert!(!is_one_text(&[text("a"), text("b")]));
        assert!(!is_one_text(&[block]));
        assert!(!is_one_text(&[]));
        let other = json!({
            "type": "k".repeat(101), "mimeType": "image/png", "data": 1, "name": [2],
            "resource": { "blob": "QQ==", "more": 3 },
        });
        let long = format!("\"type\":\"{}\"", "k".repeat(101));
        assert_eq!(readable_texts(&other), ["\"data\":1", "\"name\":[2]", "\"more\":3", &long]);
        assert_eq!(readable_texts(&json!([1])), ["[1]"]);
        assert!(readable_texts(&json!({ "type": "image", "data": "QQ==" })).is_empty());
    }

    #[test]
    fn content_without_blocks_is_one_block() {
        let bytes = |media_type: &str, bytes: &[u8]| RawContent::Binary {
            media_type: media_type.into(),
            bytes: bytes.to_vec(),
        };
        for (content, block) in [
            (RawContent::Text("a".to_owned()), text("a")),
            (RawContent::Json(json!("a")), text("a")),
            (RawContent::Json(json!([1])), text("[1]")),
            (bytes("text/plain", b"words"), text("words")),
            (
                bytes("application/zip", b"\xff\0"),
                text("(application/zip, 2 bytes, not shown as text)"),
            ),
            (
                bytes("image/png", b"\x89P"),
                json!({ "type": "image", "data": "iVA=", "mimeType": "image/png" }),
            ),
            (
                bytes("audio/wav", b"R"),
                json!({ "type": "audio", "data": "Ug==", "mimeType": "audio/wav" }),
            ),
        ] {
            assert_eq!(content_block(&content), block);
        }
    }

    #[test]
    fn a_model_reads_everything_of_a_block_but_its_type_and_its_data() {
        for (block, texts) in [
            (json!({ "type": "text", "text": "words" }), vec!["words"]),
            (json!({ "type": "image", "data": "iVA=", "mimeType": "image/png" }), vec![]),
            (json!({ "type": "text", "data": "iVA=" }), vec!["\"data\":\"iVA=\""]),
            (json!({ "type": "resource", "resource": { "blob": "iVA=", "uri": "a" } }), vec!["a"]),
            (json!({ "type": "resource", "resource": { "blob": 7 } }), vec!["\"blob\":7"]),
            (json!([1]), vec!["[1]"]),
        ] {
            assert_eq!(readable_texts(&block), texts, "{block}");
        }
    }
}
