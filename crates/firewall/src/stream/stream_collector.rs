//! Collects a stream as one result, which is stored behind a handle: its head, up to a size limit.

use serde_json::Value;
use weaver_types::{RawChunk, RawContent, RawResult};

use crate::frame::json_bytes;

/// How much of a stream is kept for its handle: 4 MiB. Of a longer stream only the head is kept.
pub const MAX_COLLECTED_BYTES: usize = 4 * 1024 * 1024;
/// How far back from the limit a line end is searched, so that no value is cut in two.
const MAX_LOOK_BACK: usize = 16 * 1024;

/// The chunks of a stream received so far.
#[derive(Debug, Default)]
pub struct StreamCollector {
    pieces: Vec<RawChunk>,
    bytes: usize,
    cut: bool,
}

impl StreamCollector {
    /// Adds a chunk, or as much of it as there is room for.
    pub fn push(&mut self, chunk: RawChunk) {
        if self.cut {
            return;
        }
        let left = MAX_COLLECTED_BYTES.saturating_sub(self.bytes);
        let size = match &chunk {
            RawChunk::Json(value) => json_bytes(value),
            RawChunk::Text(text) => text.len(),
            RawChunk::Bytes(bytes) => bytes.len(),
        };
        self.cut = size > left;
        self.bytes = self.bytes.saturating_add(size);
        match (self.pieces.last_mut(), chunk) {
            (Some(RawChunk::Text(text)), RawChunk::Text(more)) => {
                text.push_str(char_head(&more, left))
            }
            (Some(RawChunk::Bytes(bytes)), RawChunk::Bytes(more)) => {
                bytes.extend(more.into_iter().take(left));
            }
            (_, RawChunk::Text(text)) => {
                self.pieces.push(RawChunk::Text(char_head(&text, left).to_owned()));
            }
            (_, RawChunk::Bytes(mut bytes)) => {
                bytes.truncate(left);
                self.pieces.push(RawChunk::Bytes(bytes));
            }
            (_, RawChunk::Json(_)) if self.cut => {}
            (_, json @ RawChunk::Json(_)) => self.pieces.push(json),
        }
        if self.cut {
            self.cut_at_line_end();
        }
    }

    /// No rule would recognise a value that was cut in two, so the last partial line is dropped.
    fn cut_at_line_end(&mut self) {
        match self.pieces.last_mut() {
            Some(RawChunk::Text(text)) => text.truncate(last_break_end(text.as_bytes())),
            Some(RawChunk::Bytes(bytes)) => bytes.truncate(last_break_end(bytes)),
            Some(RawChunk::Json(_)) | None => {}
        }
    }

    /// The collected result: JSON values as a list, pieces of text as one text. If only the head
    /// was kept, it has the finding `stream_cut`.
    #[must_use]
    pub fn into_raw(self) -> RawResult {
        let mut raw = RawResult { content: joined_content(self.pieces), ..RawResult::text("") };
        if self.cut {
            raw.findings.push("stream_cut");
        }
        raw
    }
}

fn char_head(text: &str, max: usize) -> &str {
    text.split_at(text.floor_char_boundary(max)).0
}

/// Where the last complete line ends; the last word if lines are long; any character if there are
/// no words.
fn last_break_end(bytes: &[u8]) -> usize {
    let from = bytes.len().saturating_sub(MAX_LOOK_BACK);
    let tail = bytes.get(from..).unwrap_or_default();
    let found = tail
        .iter()
        .rposition(|b| *b == b'\n')
        .or_else(|| tail.iter().rposition(u8::is_ascii_whitespace));
    // UTF-8 continuation bytes; a character has at most three of them.
    let is_inner = |b: &&u8| **b & 0xc0 == 0x80;
    let inner = tail.iter().take(3).take_while(is_inner).count();
    found.map_or(from + inner, |at| from + at + 1)
}

fn joined_content(pieces: Vec<RawChunk>) -> RawContent {
    let json = pieces.iter().filter(|piece| matches!(piece, RawChunk::Json(_))).count();
    if json > 0 {
        return RawContent::Json(joined_values(pieces));
    }
    let mut bytes = Vec::new();
    let empty = pieces.is_empty();
    for piece in pieces {
        match piece {
            RawChunk::Text(text) => bytes.extend(text.into_bytes()),
            RawChunk::Bytes(more) => bytes.extend(more),
            RawChunk::Json(_) => {}
        }
    }
    match String::from_utf8(bytes) {
        Ok(_) if empty => RawContent::Json(Value::Array(Vec::new())),
        Ok(text) => RawContent::Text(text),
        Err(error) => RawContent::Binary {
            media_type: "application/octet-stream".to_owned(),
            bytes: error.into_bytes(),
        },
    }
}

/// A single value is itself; of several, lists are concatenated as pages of one list.
fn joined_values(mut pieces: Vec<RawChunk>) -> Value {
    if pieces.len() == 1
        && let Some(RawChunk::Json(value)) = pieces.pop_if(|_| true)
    {
        return value;
    }
    let mut all = Vec::new();
    for piece in pieces {
        match piece {
            RawChunk::Json(Value::Array(items)) => all.extend(items),
            RawChunk::Json(value) => all.push(value),
            RawChunk::Text(text) => all.push(Value::String(text)),
            RawChunk::Bytes(bytes) => all.push(match String::from_utf8(bytes) {
                Ok(text) => Value::String(text),
                Err(error) => {
                    serde_json::json!({ "byte_size": error.as_bytes().len() })
                }
            }),
        }
    }
    Value::Array(all)
}
