//! The whole of a stream, as it is stored behind a handle: its head, within a bound.

use serde_json::Value;
use weaver_types::{RawChunk, RawContent, RawResult};

use crate::frame::json_len;

/// How much of a stream is kept for its handle, in bytes: 4 MiB. Of what is longer, the head.
pub const MAX_WHOLE: usize = 4 * 1024 * 1024;
/// How far back from the bound a text is cut, so that no value is cut in its middle.
const LOOK_BACK: usize = 16 * 1024;

/// What came of a stream so far, as one result in the making.
#[derive(Debug, Default)]
pub struct StreamWhole {
    pieces: Vec<RawChunk>,
    bytes: usize,
    cut: bool,
}

impl StreamWhole {
    /// Keeps a chunk, or the head of it that there is room for.
    pub fn push(&mut self, chunk: RawChunk) {
        if self.cut {
            return;
        }
        let left = MAX_WHOLE.saturating_sub(self.bytes);
        let size = match &chunk {
            RawChunk::Json(value) => json_len(value),
            RawChunk::Text(text) => text.len(),
            RawChunk::Bytes(bytes) => bytes.len(),
        };
        self.cut = size > left;
        self.bytes = self.bytes.saturating_add(size);
        match (self.pieces.last_mut(), chunk) {
            (Some(RawChunk::Text(text)), RawChunk::Text(more)) => text.push_str(head(&more, left)),
            (Some(RawChunk::Bytes(bytes)), RawChunk::Bytes(more)) => {
                bytes.extend(more.into_iter().take(left));
            }
            (_, RawChunk::Text(text)) => {
                self.pieces.push(RawChunk::Text(head(&text, left).to_owned()));
            }
            (_, RawChunk::Bytes(mut bytes)) => {
                bytes.truncate(left);
                self.pieces.push(RawChunk::Bytes(bytes));
            }
            (_, RawChunk::Json(_)) if self.cut => {}
            (_, json @ RawChunk::Json(_)) => self.pieces.push(json),
        }
        if self.cut {
            self.end_between_lines();
        }
    }

    /// A value that was cut in its middle would be found by no rule, so it goes.
    fn end_between_lines(&mut self) {
        match self.pieces.last_mut() {
            Some(RawChunk::Text(text)) => text.truncate(last_break(text.as_bytes())),
            Some(RawChunk::Bytes(bytes)) => bytes.truncate(last_break(bytes)),
            Some(RawChunk::Json(_)) | None => {}
        }
    }

    /// The result as one: JSON values as a list, pieces of text as a text. Where only the head was
    /// kept, with the finding `stream_cut`.
    #[must_use]
    pub fn into_raw(self) -> RawResult {
        let mut raw = RawResult { content: content(self.pieces), ..RawResult::text("") };
        if self.cut {
            raw.findings.push("stream_cut");
        }
        raw
    }
}

fn head(text: &str, max: usize) -> &str {
    text.split_at(text.floor_char_boundary(max)).0
}

/// Where the last line before the end begins, or the last word where lines are long, or some
/// character where there are no words.
fn last_break(bytes: &[u8]) -> usize {
    let from = bytes.len().saturating_sub(LOOK_BACK);
    let tail = bytes.get(from..).unwrap_or_default();
    let found = tail
        .iter()
        .rposition(|b| *b == b'\n')
        .or_else(|| tail.iter().rposition(u8::is_ascii_whitespace));
    // Bytes of this form go on with a character (UTF-8); one has three of them at most.
    let is_inner = |b: &&u8| **b & 0xc0 == 0x80;
    let inner = tail.iter().take(3).take_while(is_inner).count();
    found.map_or(from + inner, |at| from + at + 1)
}

fn content(pieces: Vec<RawChunk>) -> RawContent {
    let json = pieces.iter().filter(|piece| matches!(piece, RawChunk::Json(_))).count();
    if json > 0 {
        return RawContent::Json(values(pieces));
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

/// One value is itself; of several, the lists are taken as pages of one list.
fn values(mut pieces: Vec<RawChunk>) -> Value {
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
