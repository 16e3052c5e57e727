//! Reads a result from a file.

use std::path::Path;

use weaver_types::{ContentBlocks, RawContent, RawResult};

use crate::{Failure, input};

/// The largest result, in bytes.
const MAX_INPUT_BYTES: usize = 64 << 20;

/// The bytes of the file.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    input::read_bytes(path, MAX_INPUT_BYTES)
        .map_err(|error| input::unreadable(path, "inspect.unreadable", error))
}

/// The result of a tool that returned these bytes: JSON if they are JSON, else text.
pub(super) fn parse_result(bytes: Vec<u8>) -> RawResult {
    let parsed = str::from_utf8(&bytes).ok().and_then(|text| serde_json::from_str(text).ok());
    let raw = text_result(bytes);
    match (&raw.content, parsed) {
        (RawContent::Text(text), Some(value)) => {
            let block = serde_json::json!({ "type": "text", "text": text });
            let blocks = ContentBlocks { blocks: vec![block], structured: None };
            RawResult { blocks: Some(blocks), ..RawResult::json(value) }
        }
        _ => raw,
    }
}

/// The result of a tool that returned these bytes and no JSON.
pub(super) fn text_result(bytes: Vec<u8>) -> RawResult {
    match String::from_utf8(bytes) {
        Ok(text) => RawResult::text(text),
        Err(error) => RawResult {
            content: RawContent::Binary {
                media_type: "application/octet-stream".to_owned(),
                bytes: error.into_bytes(),
            },
            ..RawResult::text("")
        },
    }
}

/// The kind of content, in one word.
pub(super) fn kind_name(raw: &RawResult) -> &'static str {
    match raw.content {
        RawContent::Json(_) | RawContent::Rows(_) => "JSON",
        RawContent::Text(_) => "text",
        RawContent::Binary { .. } => "binary",
    }
}
