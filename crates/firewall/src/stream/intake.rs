//! Chunks as rows and redacted lines that wait to be shown.

use serde_json::Value;
use weaver_types::RawChunk;

use super::line::{DecodedChunk, Decoder, Lines};
use super::row_window::{RowWindow, SettledRow};
use crate::frame::json_len;
use crate::redact::Counts;

/// Something to be shown.
#[derive(Debug)]
pub(super) enum Row {
    Value(Value),
    /// A row with masks of values that go beyond one of its cells.
    Masked(Value),
    /// A line of a text, redacted.
    Line(String),
}

impl Row {
    fn size(&self) -> usize {
        match self {
            Self::Value(value) | Self::Masked(value) => json_len(value),
            Self::Line(line) => line.len(),
        }
    }
}

/// What waits to be shown: never more rows than there is room for.
#[derive(Debug)]
pub(super) struct Intake {
    lines: Lines,
    window: RowWindow,
    decoder: Decoder,
    binary: bool,
    rows: Vec<Row>,
    size: usize,
    room: usize,
    omitted: u64,
}

impl Intake {
    /// The most rows in all.
    pub(super) fn new(lines: Lines, window: RowWindow, room: usize) -> Self {
        Self {
            lines,
            window,
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
                self.finish_lines();
                match value {
                    Value::Array(items) => items.iter().for_each(|item| self.row(item)),
                    other => self.row(other),
                }
            }
            RawChunk::Text(text) => self.text(text),
            RawChunk::Bytes(_) if self.binary => {}
            RawChunk::Bytes(bytes) => match self.decoder.push(bytes) {
                DecodedChunk::Binary => self.binary = true,
                DecodedChunk::Text(text) => self.text(&text),
            },
        }
    }

    /// Takes what the last piece of text and the last rows held back.
    pub(super) fn finish(&mut self) {
        self.finish_rows();
        self.finish_lines();
    }

    fn finish_lines(&mut self) {
        let rest = self.lines.finish();
        self.add(rest.into_iter().map(Row::Line));
    }

    fn finish_rows(&mut self) {
        let rest = self.window.finish();
        self.add(rest.into_iter().map(Row::from));
    }

    fn row(&mut self, row: &Value) {
        let settled = if self.rows.len() + self.window.to_show() < self.room {
            self.window.push(row.clone())
        } else {
            self.omitted = self.omitted.saturating_add(1);
            self.window.push_unseen(row)
        };
        self.add(settled.into_iter().map(Row::from));
    }

    fn text(&mut self, text: &str) {
        // Rows before a text are no neighbours of rows after it.
        self.finish_rows();
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

    /// Notes that all waiting rows were taken, and how many of them were shown.
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

    /// How many strings of rows were redacted without those of the rows around them.
    pub(super) fn unjoined(&self) -> u64 {
        self.window.unjoined()
    }

    /// How many values of each kind were masked in texts, and in rows for what stands around them.
    pub(super) fn counts(&self) -> Counts {
        let mut counts = self.lines.counts().clone();
        for (kind, n) in self.window.counts() {
            let count = counts.entry(std::sync::Arc::clone(kind)).or_default();
            *count = count.saturating_add(*n);
        }
        counts
    }
}

impl From<SettledRow> for Row {
    fn from(row: SettledRow) -> Self {
        match row {
            SettledRow::Raw(value) => Self::Value(value),
            SettledRow::Masked(value) => Self::Masked(value),
        }
    }
}
