//! Rows and redacted lines that are waiting to be shown.

use serde_json::Value;
use weaver_types::RawChunk;

use super::row_window::{RowWindow, SettledRow};
use super::text_lines::{DecodedChunk, LineSplitter, Utf8Decoder};
use crate::frame::json_bytes;
use crate::redact::Counts;

/// A row or line that is waiting to be shown.
#[derive(Debug)]
pub(super) enum PendingRow {
    Value(Value),
    /// A row that already contains masks of values that extend beyond one cell.
    Masked(Value),
    /// A redacted line of a text.
    Line(String),
}

impl PendingRow {
    fn size(&self) -> usize {
        match self {
            Self::Value(value) | Self::Masked(value) => json_bytes(value),
            Self::Line(line) => line.len(),
        }
    }
}

/// Collects chunks as rows and lines; never more than may still be shown.
#[derive(Debug)]
pub(super) struct PendingRows {
    lines: LineSplitter,
    window: RowWindow,
    decoder: Utf8Decoder,
    is_binary: bool,
    rows: Vec<PendingRow>,
    size: usize,
    remaining_rows: usize,
    omitted: u64,
}

impl PendingRows {
    /// `remaining_rows` is the most rows of all frames together.
    pub(super) fn new(lines: LineSplitter, window: RowWindow, remaining_rows: usize) -> Self {
        Self {
            lines,
            window,
            decoder: Utf8Decoder::default(),
            is_binary: false,
            rows: Vec::new(),
            size: 0,
            remaining_rows,
            omitted: 0,
        }
    }

    /// Adds the rows and lines of a chunk.
    pub(super) fn push(&mut self, chunk: &RawChunk) {
        match chunk {
            RawChunk::Json(value) => {
                // A JSON value between two pieces of text separates them into two texts.
                self.finish_lines();
                match value {
                    Value::Array(items) => items.iter().for_each(|item| self.push_row(item)),
                    other => self.push_row(other),
                }
            }
            RawChunk::Text(text) => self.push_text(text),
            RawChunk::Bytes(_) if self.is_binary => {}
            RawChunk::Bytes(bytes) => match self.decoder.push(bytes) {
                DecodedChunk::Binary => self.is_binary = true,
                DecodedChunk::Text(text) => self.push_text(&text),
            },
        }
    }

    /// Adds what the text and row windows still held back.
    pub(super) fn finish(&mut self) {
        self.finish_rows();
        self.finish_lines();
    }

    fn finish_lines(&mut self) {
        let rest = self.lines.finish();
        self.add_rows(rest.into_iter().map(PendingRow::Line));
    }

    fn finish_rows(&mut self) {
        let rest = self.window.finish();
        self.add_rows(rest.into_iter().map(PendingRow::from));
    }

    fn push_row(&mut self, row: &Value) {
        let settled = if self.rows.len() + self.window.visible_waiting() < self.remaining_rows {
            self.window.push(row.clone())
        } else {
            self.omitted = self.omitted.saturating_add(1);
            self.window.push_unseen(row)
        };
        self.add_rows(settled.into_iter().map(PendingRow::from));
    }

    fn push_text(&mut self, text: &str) {
        // Rows before a text are not consecutive with rows after it.
        self.finish_rows();
        if self.rows.len() >= self.remaining_rows {
            // No line of it can be shown any more.
            let lines = text.bytes().filter(|b| *b == b'\n').count();
            self.omitted = self.omitted.saturating_add(lines as u64);
            return;
        }
        let lines = self.lines.push(text);
        self.add_rows(lines.into_iter().map(PendingRow::Line));
    }

    fn add_rows(&mut self, rows: impl Iterator<Item = PendingRow>) {
        for row in rows {
            if self.rows.len() < self.remaining_rows {
                self.size = self.size.saturating_add(row.size());
                self.rows.push(row);
            } else {
                self.omitted = self.omitted.saturating_add(1);
            }
        }
    }

    /// The waiting rows.
    pub(super) fn rows(&self) -> &[PendingRow] {
        &self.rows
    }

    /// Their size in bytes.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// How many more rows may be shown, including those that are waiting.
    pub(super) fn remaining_rows(&self) -> usize {
        self.remaining_rows
    }

    /// Removes all waiting rows, of which this many were shown.
    pub(super) fn mark_shown(&mut self, rows: usize) {
        self.rows.clear();
        self.size = 0;
        self.remaining_rows = self.remaining_rows.saturating_sub(rows);
    }

    /// How many rows and lines were dropped for lack of room.
    pub(super) fn omitted(&self) -> u64 {
        self.omitted
    }

    /// True if bytes arrived that are not text.
    pub(super) fn is_binary(&self) -> bool {
        self.is_binary
    }

    /// True if the bytes ended within a character.
    pub(super) fn is_broken(&self) -> bool {
        self.decoder.has_partial_char()
    }

    /// How many strings were redacted without the neighbouring rows.
    pub(super) fn unjoined(&self) -> u64 {
        self.window.unjoined_strings()
    }

    /// How many values of each kind were masked in texts, and in rows because of neighbouring rows.
    pub(super) fn counts(&self) -> Counts {
        let mut counts = self.lines.counts().clone();
        for (kind, n) in self.window.counts() {
            let count = counts.entry(std::sync::Arc::clone(kind)).or_default();
            *count = count.saturating_add(*n);
        }
        counts
    }
}

impl From<SettledRow> for PendingRow {
    fn from(row: SettledRow) -> Self {
        match row {
            SettledRow::Raw(value) => Self::Value(value),
            SettledRow::Masked(value) => Self::Masked(value),
        }
    }
}
