//! Chunks as rows and redacted lines that wait to be shown.

use serde_json::Value;
use weaver_types::RawChunk;

use super::line::{Decoded, Decoder, Lines};
use crate::frame::json_len;
use crate::redact::{Counts, StreamRedactor};

/// Something to be shown.
#[derive(Debug)]
pub(super) enum Row {
    Value(Value),
    /// A line of a text, redacted.
    Line(String),
}

impl Row {
    fn size(&self) -> usize {
        match self {
            Self::Value(value) => json_len(value),
            Self::Line(line) => line.len(),
        }
    }
}

/// What waits to be shown: never more rows than there is room for.
#[derive(Debug)]
pub(super) struct Intake {
    lines: Lines,
    decoder: Decoder,
    binary: bool,
    rows: Vec<Row>,
    size: usize,
    room: usize,
    omitted: u64,
}

impl Intake {
    /// Room for so many rows in all.
    pub(super) fn new(redactor: StreamRedactor, room: usize) -> Self {
        Self {
            lines: Lines::new(redactor),
            decoder: Decoder::default(),
            binary: false,
            rows: Vec::new(),
            size: 0,
            room,
            omitted: 0,
        }
    }

    /// Takes the rows and lines of a chunk.
    pub(super) fn push(&mut self, chunk: &RawChunk) {
        match chunk {
            RawChunk::Json(value) => {
                // A value between two pieces of text makes them two texts.
                self.finish();
                match value {
                    Value::Array(items) => self.add(items.iter().cloned().map(Row::Value)),
                    other => self.add(std::iter::once(Row::Value(other.clone()))),
                }
            }
            RawChunk::Text(text) => self.text(text),
            RawChunk::Bytes(_) if self.binary => {}
            RawChunk::Bytes(bytes) => match self.decoder.push(bytes) {
                Decoded::Binary => self.binary = true,
                Decoded::Text(text) => self.text(&text),
            },
        }
    }

    /// Takes what the last piece of text held back.
    pub(super) fn finish(&mut self) {
        let rest = self.lines.finish();
        self.add(rest.into_iter().map(Row::Line));
    }

    fn text(&mut self, text: &str) {
        if self.rows.len() >= self.room {
            // Nothing of it can be shown any more.
            let lines = text.bytes().filter(|b| *b == b'\n').count();
            self.omitted = self.omitted.saturating_add(lines as u64);
            return;
        }
        let lines = self.lines.push(text);
        self.add(lines.into_iter().map(Row::Line));
    }

    fn add(&mut self, rows: impl Iterator<Item = Row>) {
        for row in rows {
            if self.rows.len() < self.room {
                self.size = self.size.saturating_add(row.size());
                self.rows.push(row);
            } else {
                self.omitted = self.omitted.saturating_add(1);
            }
        }
    }

    /// The rows that wait.
    pub(super) fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Their size, in bytes.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// How many more rows may be shown, those that wait included.
    pub(super) fn room(&self) -> usize {
        self.room
    }

    /// All rows that waited were taken; so many of them were shown.
    pub(super) fn shown(&mut self, rows: usize) {
        self.rows.clear();
        self.size = 0;
        self.room = self.room.saturating_sub(rows);
    }

    /// How many rows and lines there was no room for.
    pub(super) fn omitted(&self) -> u64 {
        self.omitted
    }

    /// True when bytes came that are no text.
    pub(super) fn is_binary(&self) -> bool {
        self.binary
    }

    /// True when the bytes ended in the middle of a character.
    pub(super) fn is_broken(&self) -> bool {
        self.decoder.is_open()
    }

    /// How many values of each kind were masked in texts.
    pub(super) fn counts(&self) -> &Counts {
        self.lines.counts()
    }
}
