//! Columns of text that is a table: `a,b` with any of four separators, or between bars.
//!
//! A heading counts for the lines right below it. How many these are is a fixed number of lines, not
//! of bytes alone, since a mask changes the length of a line but not their number: a text that went
//! through once reads the same the second time.
//!
//! The lines are read once, downwards: each column keeps the line of its last heading, so that a
//! table of many numbers costs what one of few does.

use std::ops::Range;

use super::work;

/// How many lines below a heading it counts for.
const LINES: usize = 12;
/// How far above a cell its heading may stand, in bytes.
const ABOVE: usize = 960;
/// The longest heading.
const HEADING: usize = 40;
/// What separates cells.
const SEPARATORS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// The headings of the columns of a text, as far as the text was read.
#[derive(Debug, Default)]
pub(super) struct Headings {
    /// Where the line of the last question begins, and how far that was looked for.
    line: Option<usize>,
    looked: usize,
    /// By separator.
    tables: [Table; SEPARATORS.len()],
}

/// What the lines say that were read under one separator.
#[derive(Debug, Default)]
struct Table {
    /// Where the line begins that is read next.
    next: usize,
    /// How many lines were read.
    lines: usize,
    /// The last heading of each column of the line before; a line without a column ends it.
    columns: Vec<Option<Heading>>,
    row: Row,
}

/// How far the line of a question was read.
#[derive(Debug, Default)]
struct Row {
    place: usize,
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
    /// Whether the stretch is a cell of its own, and a cell above it in its column, of letters, is
    /// a heading that `names` it. Looks at no more than 960 bytes before it. All questions about
    /// one text ask for the same names.
    pub(super) fn name(
        &mut self,
        bytes: &[u8],
        cell: &Range<usize>,
        names: impl Fn(&[u8]) -> bool,
    ) -> bool {
        let Some(separator) = separator(bytes, cell) else { return false };
        let floor = cell.start.saturating_sub(ABOVE);
        let Some(line) = self.line_of(bytes, cell.start).filter(|line| *line > floor) else {
            return false;
        };
        let mut known = SEPARATORS.iter().zip(&mut self.tables);
        let Some((_, table)) = known.find(|(byte, _)| **byte == separator) else { return false };
        table.read_to(bytes, line, separator, names);
        let column = table.row.column_of(bytes, line..cell.start, separator);
        // The first line of what is seen may be a part of one.
        table.columns.get(column).copied().flatten().is_some_and(|heading| {
            table.lines - heading.line <= LINES && (heading.start > floor || floor == 0)
        })
    }

    /// Where the line around a place begins, if not with the text and not too far above.
    fn line_of(&mut self, bytes: &[u8], at: usize) -> Option<usize> {
        if at < self.looked {
            (self.line, self.looked) = (None, 0);
        }
        let floor = self.looked.max(at.saturating_sub(ABOVE));
        let between = bytes.get(floor..at).unwrap_or_default();
        work::add(between.len());
        if let Some(end) = memchr::memrchr(b'\n', between) {
            self.line = Some(floor + end + 1);
        }
        self.looked = at;
        self.line
    }
}

impl Table {
    /// Reads the lines above the one that begins at `line`.
    fn read_to(&mut self, bytes: &[u8], line: usize, separator: u8, names: impl Fn(&[u8]) -> bool) {
        let floor = line.saturating_sub(ABOVE);
        if line < self.next || self.next < floor {
            self.columns.clear();
            let above = bytes.get(floor..line).unwrap_or_default();
            let end = if floor == 0 { None } else { memchr::memchr(b'\n', above) };
            self.next = floor + end.map_or(0, |end| end + 1);
        }
        let above = bytes.get(self.next..line).unwrap_or_default();
        work::add(above.len());
        for text in above.split_inclusive(|byte| *byte == b'\n') {
            let text_of_line = text.strip_suffix(b"\n").unwrap_or(text);
            self.read(text_of_line, separator, &names);
            self.next += text.len();
            self.lines += 1;
        }
    }

    /// Reads one line.
    fn read(&mut self, line: &[u8], separator: u8, names: impl Fn(&[u8]) -> bool) {
        let mut count = 0;
        for cell in cells(line, separator) {
            if count == self.columns.len() {
                self.columns.push(None);
            }
            if is_heading(unquoted(cell), &names)
                && let Some(column) = self.columns.get_mut(count)
            {
                *column = Some(Heading { start: self.next, line: self.lines });
            }
            count += 1;
        }
        self.columns.truncate(count);
    }
}

impl Row {
    /// The column in which a line goes on at this offset.
    fn column_of(&mut self, bytes: &[u8], read: Range<usize>, separator: u8) -> usize {
        if !(read.start..=read.end).contains(&self.place) {
            *self = Self { place: read.start, column: 0, quoted: false };
        }
        for byte in bytes.get(self.place..read.end).unwrap_or_default() {
            self.quoted ^= *byte == b'"';
            self.column += usize::from(*byte == separator && !self.quoted);
        }
        self.place = read.end;
        self.column
    }
}

/// Whether a cell is a heading, and of the wanted names.
fn is_heading(cell: &[u8], names: impl Fn(&[u8]) -> bool) -> bool {
    (1..=HEADING).contains(&cell.len())
        && cell.iter().any(|byte| byte.is_ascii_alphabetic() || !byte.is_ascii())
        && cell.iter().filter(|byte| byte.is_ascii_digit()).nth(1).is_none()
        && names(cell)
}

/// The separator on one side of a cell, where the other side is one too or the end of its line.
fn separator(bytes: &[u8], cell: &Range<usize>) -> Option<u8> {
    let blank = |byte: &&u8| matches!(byte, b' ' | b'"' | b'+' | b'(');
    let before = bytes.get(cell.start.saturating_sub(4)..cell.start).unwrap_or_default();
    let before = before.iter().rev().find(|byte| !blank(byte)).copied().unwrap_or(b'\n');
    let after = bytes.get(cell.end..bytes.len().min(cell.end + 4)).unwrap_or_default();
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

/// The cell without what it is wrapped in.
fn unquoted(cell: &[u8]) -> &[u8] {
    let wraps = |byte: &u8| byte.is_ascii_whitespace() || *byte == b'"';
    let start = cell.iter().position(|byte| !wraps(byte)).unwrap_or(cell.len());
    let end = cell.iter().rposition(|byte| !wraps(byte)).map_or(start, |at| at + 1);
    cell.get(start..end).unwrap_or_default()
}

#[cfg(test)]
mod tests;
