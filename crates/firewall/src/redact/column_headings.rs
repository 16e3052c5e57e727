//! Column headings in text tables: cells separated by one of four separators.
//!
//! A heading applies to the lines right below it. The limit is a number of lines rather than of
//! bytes alone: a mask changes the length of a line but not the number of lines, so redacting the
//! output again finds the same headings.
//!
//! The lines are read once, downwards, and each column remembers its last heading. So a table with
//! many numbers costs no more than one with few.

use std::ops::Range;

use super::work_meter;

/// How many lines below a heading it applies to.
const MAX_LINES_BELOW: usize = 12;
/// How far above a cell its heading may be, in bytes.
const MAX_BYTES_ABOVE: usize = 960;
/// The longest heading, in bytes.
const MAX_HEADING_BYTES: usize = 40;
/// The most blanks and quotation marks between a cell and its separator: tables for people are
/// padded to the width of their widest cell.
const MAX_PADDING_BYTES: usize = 64;
/// The cell separators.
const SEPARATORS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// The column headings of a text, as far as it was read.
#[derive(Debug, Default)]
pub(super) struct Headings {
    /// Where the line of the last query begins, and how far it was searched.
    line_start: Option<usize>,
    scanned_to: usize,
    /// One reader for each separator.
    tables: [TableReader; SEPARATORS.len()],
}

/// What was read under one separator.
#[derive(Debug, Default)]
struct TableReader {
    /// Where the next unread line begins.
    next_line_start: usize,
    /// How many lines were read.
    lines_read: usize,
    /// The last heading of each column in the previous line; a line without the column ends it.
    columns: Vec<Option<Heading>>,
    row: LineProgress,
}

/// How far the line of the current query was read.
#[derive(Debug, Default)]
struct LineProgress {
    position: usize,
    column: usize,
    quoted: bool,
}

/// A cell that names its column.
#[derive(Debug, Clone, Copy)]
struct Heading {
    /// Where its line begins.
    start: usize,
    /// How many lines were read before it.
    line: usize,
}

impl Headings {
    /// True if the range is a whole cell and a text cell above it, in the same column, is a heading
    /// that `is_wanted` accepts. Looks at no more than 960 bytes before the cell. All queries about
    /// one text must use the same `is_wanted`.
    pub(super) fn has_heading(
        &mut self,
        bytes: &[u8],
        cell: &Range<usize>,
        is_wanted: impl Fn(&[u8]) -> bool,
    ) -> bool {
        let Some(separator) = separator(bytes, cell) else { return false };
        let floor = cell.start.saturating_sub(MAX_BYTES_ABOVE);
        let Some(line) = self.line_start_before(bytes, cell.start).filter(|line| *line > floor)
        else {
            return false;
        };
        let mut known = SEPARATORS.iter().zip(&mut self.tables);
        let Some((_, table)) = known.find(|(byte, _)| **byte == separator) else { return false };
        table.read_lines_before(bytes, line, separator, is_wanted);
        let column = table.row.column_at(bytes, line..cell.start, separator);
        // The first visible line may be cut off at its start.
        table.columns.get(column).copied().flatten().is_some_and(|heading| {
            table.lines_read - heading.line <= MAX_LINES_BELOW
                && (heading.start > floor || floor == 0)
        })
    }

    /// Where the line of a position begins; `None` if it begins with the text or too far above.
    fn line_start_before(&mut self, bytes: &[u8], at: usize) -> Option<usize> {
        if at < self.scanned_to {
            (self.line_start, self.scanned_to) = (None, 0);
        }
        let floor = self.scanned_to.max(at.saturating_sub(MAX_BYTES_ABOVE));
        let between = bytes.get(floor..at).unwrap_or_default();
        work_meter::add_bytes(between.len());
        if let Some(end) = memchr::memrchr(b'\n', between) {
            self.line_start = Some(floor + end + 1);
        }
        self.scanned_to = at;
        self.line_start
    }
}

impl TableReader {
    /// Reads the lines above the one that begins at `line`.
    fn read_lines_before(
        &mut self,
        bytes: &[u8],
        line: usize,
        separator: u8,
        is_wanted: impl Fn(&[u8]) -> bool,
    ) {
        let floor = line.saturating_sub(MAX_BYTES_ABOVE);
        if line < self.next_line_start || self.next_line_start < floor {
            self.columns.clear();
            let above = bytes.get(floor..line).unwrap_or_default();
            let end = if floor == 0 { None } else { memchr::memchr(b'\n', above) };
            self.next_line_start = floor + end.map_or(0, |end| end + 1);
        }
        let above = bytes.get(self.next_line_start..line).unwrap_or_default();
        work_meter::add_bytes(above.len());
        for text in above.split_inclusive(|byte| *byte == b'\n') {
            let text_of_line = text.strip_suffix(b"\n").unwrap_or(text);
            self.read_line(text_of_line, separator, &is_wanted);
            self.next_line_start += text.len();
            self.lines_read += 1;
        }
    }

    /// Reads one line.
    fn read_line(&mut self, line: &[u8], separator: u8, is_wanted: impl Fn(&[u8]) -> bool) {
        let mut count = 0;
        for cell in cells(line, separator) {
            if count == self.columns.len() {
                self.columns.push(None);
            }
            if is_heading(trim_cell(cell), &is_wanted)
                && let Some(column) = self.columns.get_mut(count)
            {
                *column = Some(Heading { start: self.next_line_start, line: self.lines_read });
            }
            count += 1;
        }
        self.columns.truncate(count);
    }
}

impl LineProgress {
    /// The column of a line at the end of `read`.
    fn column_at(&mut self, bytes: &[u8], read: Range<usize>, separator: u8) -> usize {
        if !(read.start..=read.end).contains(&self.position) {
            *self = Self { position: read.start, column: 0, quoted: false };
        }
        for byte in bytes.get(self.position..read.end).unwrap_or_default() {
            self.quoted ^= *byte == b'"';
            self.column += usize::from(*byte == separator && !self.quoted);
        }
        self.position = read.end;
        self.column
    }
}

/// True if a cell looks like a heading and is one of the wanted names.
fn is_heading(cell: &[u8], is_wanted: impl Fn(&[u8]) -> bool) -> bool {
    (1..=MAX_HEADING_BYTES).contains(&cell.len())
        && cell.iter().any(|byte| byte.is_ascii_alphabetic() || !byte.is_ascii())
        && cell.iter().filter(|byte| byte.is_ascii_digit()).nth(1).is_none()
        && is_wanted(cell)
}

/// The separator at one side of a cell, provided that the other side is the same separator or the
/// end of the line.
fn separator(bytes: &[u8], cell: &Range<usize>) -> Option<u8> {
    let blank = |byte: &&u8| matches!(byte, b' ' | b'"' | b'+' | b'(');
    let before =
        bytes.get(cell.start.saturating_sub(MAX_PADDING_BYTES)..cell.start).unwrap_or_default();
    let before = before.iter().rev().find(|byte| !blank(byte)).copied().unwrap_or(b'\n');
    let after =
        bytes.get(cell.end..bytes.len().min(cell.end + MAX_PADDING_BYTES)).unwrap_or_default();
    let after = after.iter().find(|byte| !blank(byte)).copied().unwrap_or(b'\n');
    let is_end = |byte: u8| matches!(byte, b'\n' | b'\r');
    let is_separator = |byte: u8| SEPARATORS.contains(&byte);
    match (before, after) {
        (left, right) if is_separator(left) && (right == left || is_end(right)) => Some(left),
        (left, right) if is_end(left) && is_separator(right) => Some(right),
        _ => None,
    }
}

/// The cells of a line, or of its beginning.
fn cells(line: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    let mut quoted = false;
    line.split(move |byte| {
        quoted ^= *byte == b'"';
        *byte == separator && !quoted
    })
}

/// The cell without surrounding whitespace and quotes.
fn trim_cell(cell: &[u8]) -> &[u8] {
    let wraps = |byte: &u8| byte.is_ascii_whitespace() || *byte == b'"';
    let start = cell.iter().position(|byte| !wraps(byte)).unwrap_or(cell.len());
    let end = cell.iter().rposition(|byte| !wraps(byte)).map_or(start, |at| at + 1);
    cell.get(start..end).unwrap_or_default()
}

#[cfg(test)]
mod tests;
