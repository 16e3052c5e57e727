//! A result from a file.

use std::io;
use std::path::Path;

use weaver_gateway::bounded_file;
use weaver_types::{ContentBlocks, RawContent, RawResult};

use crate::{Exit, Failure};

/// The largest result, in bytes.
const MAX_INPUT: usize = 64 << 20;

/// The bytes of the file.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let read = if path.as_os_str() == "-" {
        bounded_file::all(io::stdin().lock(), MAX_INPUT)
    } else {
        bounded_file::bytes(path, MAX_INPUT)
    };
    read.map_err(|error| {
        let message = format!("{}: {error}", path.display());
        Failure::new(Exit::Invalid, "inspect.unreadable", message).next("name a file, or `-`")
    })
}

/// What a tool would have returned: JSON where the bytes are JSON, text otherwise.
pub(super) fn parsed(bytes: Vec<u8>) -> RawResult {
    let parsed = str::from_utf8(&bytes).ok().and_then(|text| serde_json::from_str(text).ok());
    let raw = unparsed(bytes);
    match (&raw.content, parsed) {
        (RawContent::Text(text), Some(value)) => {
            let block = serde_json::json!({ "type": "text", "text": text });
            let blocks = ContentBlocks { blocks: vec![block], structured: None };
            RawResult { blocks: Some(blocks), ..RawResult::json(value) }
        }
        _ => raw,
    }
}

/// What a tool would have returned that gives no JSON.
pub(super) fn unparsed(bytes: Vec<u8>) -> RawResult {
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

/// What it is, in a word.
pub(super) fn kind(raw: &RawResult) -> &'static str {
    match raw.content {
        RawContent::Json(_) | RawContent::Rows(_) => "JSON",
        RawContent::Text(_) => "text",
        RawContent::Binary { .. } => "binary",
    }
}
