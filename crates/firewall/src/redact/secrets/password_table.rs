//! Passwords and tokens in text tables: cells below a heading that names one, in lines like `a,b`,
//! `a;b`, `| a | b |`, or separated by tabs.

use std::ops::Range;

use super::assigned_value::AssignedValue;
use super::credential_value;
use super::secret_name::{self, SecretKind};
use super::word_cells::WordCells;
use super::{PASSWORD_RULE, SECRET_RULE, ScanHit, byte_at, slice};
use crate::redact::work_meter;

/// First words of lines of program text.
const PROGRAM_WORDS: [&[u8]; 16] = [
    b"from", b"import", b"export", b"const", b"let", b"var", b"def", b"class", b"return", b"use",
    b"fn", b"function", b"select", b"insert", b"print", b"raise",
];
/// The most words of a heading.
const MAX_HEADING_WORDS: usize = 4;
/// The longest heading, in bytes.
const MAX_HEADING_BYTES: usize = 32;
/// The most blanks and quotation marks before a heading: tables for people center their headings, as
/// `psql` does.
const MAX_PADDING_BYTES: usize = 64;
/// How far before a heading its line may begin, in bytes.
const MAX_LINE_BYTES: usize = 256;
/// How many lines below a heading are read. A mask changes the length of lines but not their
/// number, so redacting the output again reads the same lines.
const MAX_LINES_BELOW: usize = 12;
/// How many bytes below a heading are read.
const MAX_BYTES_BELOW: usize = 440;

/// How many columns are remembered.
const MAX_COLUMNS: usize = 8;

/// The password columns of a text, and how far their cells were read. Even if headings are
/// repeated, each line is read only once per column.
#[derive(Debug, Default)]
pub(super) struct PasswordColumns(Vec<Column>);

#[derive(Debug)]
struct Column {
    separator: u8,
    number: usize,
    read_up_to: usize,
}

impl PasswordColumns {
    /// The end of what was read of a column, which is now read up to `end`.
    fn advance(&mut self, separator: u8, number: usize, end: usize) -> usize {
        let known = |column: &&mut Column| (column.separator, column.number) == (separator, number);
        if let Some(column) = self.0.iter_mut().find(known) {
            let read_to = column.read_up_to;
            column.read_up_to = read_to.max(end);
            return read_to;
        }
        if self.0.len() == MAX_COLUMNS {
            self.0.remove(0);
        }
        self.0.push(Column { separator, number, read_up_to: end });
        0
    }
}

/// Finds the values below the heading that begins after this separator, if there is one.
pub(super) fn scan_below_heading(
    bytes: &[u8],
    at: usize,
    columns: &mut PasswordColumns,
    hits: &mut Vec<ScanHit>,
) {
    let separator = byte_at(bytes, at);
    let Some((heading, kind)) = secret_heading(bytes, at, separator) else { return };
    let before = slice(bytes, at.saturating_sub(MAX_LINE_BYTES)..at + 1);
    let line = before.iter().rev().take_while(|byte| **byte != b'\n').count();
    let line = at + 1 - line;
    let column = slice(bytes, line..at + 1).iter().filter(|byte| **byte == separator).count();
    let rest = slice(bytes, heading.end..bytes.len().min(heading.end + MAX_LINE_BYTES));
    let line_end = heading.end + memchr::memchr(b'\n', rest).unwrap_or(rest.len());
    let heading_line = slice(bytes, line..line_end);
    let is_in_text = matches!(separator, b',' | b';');
    if is_in_text && !is_row_of_headings(heading_line, separator) {
        return;
    }
    // An operator, `a || b`, and a variant of a type of TypeScript, `  | "password"`, are no row.
    let pipes = heading_line.iter().filter(|byte| **byte == b'|').count();
    let is_operator = memchr::memmem::find(heading_line, b"||").is_some();
    let is_variant = pipes == 1 && heading_line.trim_ascii_start().starts_with(b"|");
    if separator == b'|' && (is_operator || is_variant) {
        return;
    }
    let cells = count_cells(heading_line, separator);
    let kind = secret_name::kind_in_row(bytes, &heading, kind, heading_line);
    let is_of_passwords = matches!(kind, SecretKind::Password | SecretKind::Pass);
    let has_account = is_of_passwords
        && heading_line.split(|byte| *byte == separator).any(secret_name::is_owner_heading);
    let limit = bytes.len().min(heading.end + MAX_BYTES_BELOW);
    let run = slice(bytes, heading.end..limit);
    let lines =
        memchr::memchr_iter(b'\n', run).take(MAX_LINES_BELOW + 1).map(|end| heading.end + end);
    let ends: Vec<usize> = lines.chain((limit == bytes.len()).then_some(limit)).collect();
    let last = ends.get(MAX_LINES_BELOW).or(ends.last()).copied().unwrap_or(heading.end);
    let known = columns.advance(separator, column, last);
    let mut words = WordCells::default();
    let first_hit = hits.len();
    for (start, end) in ends.iter().zip(ends.iter().skip(1)).take(MAX_LINES_BELOW) {
        // In program text and prose a comma is no separator, and lines have any number of them.
        let is_row = !is_in_text || count_cells(slice(bytes, start + 1..*end), separator) == cells;
        if *end > known && is_row {
            work_meter::add_bytes(end - start);
            // The line begins with the break before it, as a part of its first cell.
            let Some(cell) = cell_of(bytes, *start..*end, separator, column) else { continue };
            let hit = secret_in_cell(bytes, cell.clone(), separator, kind);
            if hit.is_none() && is_of_passwords {
                words.add(bytes, *start..*end, cell);
            }
            hits.extend(hit);
        }
    }
    if has_account || hits.len() > first_hit {
        hits.extend(words.passwords().map(|range| ScanHit { range, rule: PASSWORD_RULE }));
    }
}

/// Finds the values below the heading of a table of HTML whose closing tag ends here: `</th>`.
pub(super) fn scan_below_markup_heading(bytes: &[u8], at: usize, hits: &mut Vec<ScanHit>) {
    let find = |from: usize, to: usize, tag: &[u8]| {
        memchr::memmem::find(slice(bytes, from..to.min(bytes.len())), tag).map(|place| from + place)
    };
    let Some(close) = at.checked_sub(4).filter(|from| slice(bytes, *from..at) == b"</th") else {
        return;
    };
    let before = slice(bytes, close.saturating_sub(MAX_LINE_BYTES)..close);
    let Some(row) = memchr::memmem::rfind(before, b"<tr") else { return };
    let headings = slice(before, row..before.len());
    let Some(open) = headings.iter().rposition(|b| *b == b'>') else { return };
    let label = slice(headings, open + 1..headings.len()).trim_ascii();
    let Some(kind) = secret_name::kind_of_heading(label) else { return };
    let column = memchr::memmem::find_iter(headings, b"<th").count();
    let Some(mut from) = find(at, at + MAX_LINE_BYTES, b"</tr") else { return };
    let limit = bytes.len().min(from + MAX_BYTES_BELOW);
    work_meter::add_bytes(limit - from);
    while let Some(row) = find(from + 1, limit, b"<tr") {
        let end = find(row, limit, b"</tr").unwrap_or(limit);
        let mut cells = memchr::memmem::find_iter(slice(bytes, row..end), b"<td");
        if let Some(cell) = cells.nth(column.saturating_sub(1))
            && let Some(start) = find(row + cell, end, b">")
            && let Some(stop) = find(start, end, b"<")
        {
            // The tag's bracket stands before the cell like the separator before one of a line.
            let line = start..stop;
            let cell = cell_of(bytes, line, b'>', 1);
            hits.extend(cell.and_then(|cell| secret_in_cell(bytes, cell, b'>', kind)));
        }
        from = row;
    }
}

/// True for a line of short headings, false for program text and prose.
fn is_row_of_headings(line: &[u8], separator: u8) -> bool {
    let line = line.trim_ascii();
    let is_called =
        |pair: &[u8]| matches!(pair, [name, b'('] if name.is_ascii_alphanumeric() || *name == b'_');
    let first = line.split(|b| !b.is_ascii_alphabetic()).next().unwrap_or_default();
    let is_short = |cell: &[u8]| {
        let words = cell.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        words.count() <= MAX_HEADING_WORDS
    };
    let count = |sign: u8| line.iter().filter(|byte| **byte == sign).count();
    // A line that ends in its separator continues; one that ends in a semicolon is a statement.
    let ends_otherwise = line.ends_with(b":")
        || line.ends_with(b"..")
        || separator == b',' && matches!(line.last(), Some(b',' | b';'));
    let has_signs = line.iter().any(|b| matches!(b, b'{' | b'}' | b'=' | b'`'));
    if ends_otherwise || has_signs || line.windows(2).any(is_called) || count(b'(') != count(b')') {
        return false;
    }
    !PROGRAM_WORDS.iter().any(|word| word.eq_ignore_ascii_case(first))
        && line.split(|b| *b == separator).all(is_short)
}

/// How many cells a line has; separators in double quotes do not count.
fn count_cells(line: &[u8], separator: u8) -> usize {
    let mut quoted = false;
    let separators = line.iter().filter(|byte| {
        quoted ^= **byte == b'"';
        **byte == separator && !quoted
    });
    separators.count() + 1
}

/// A cell that names a password or a token, and which of them.
fn secret_heading(bytes: &[u8], at: usize, separator: u8) -> Option<(Range<usize>, SecretKind)> {
    let run =
        slice(bytes, at + 1..(at + 1 + MAX_PADDING_BYTES + MAX_HEADING_BYTES).min(bytes.len()));
    let blanks = run.iter().take_while(|byte| matches!(byte, b' ' | b'"')).count();
    let first = *run.get(blanks)?;
    // Program text is indented with tabs.
    if separator == b'\t'
        && (first == b'\t' || matches!(byte_at(bytes, at.wrapping_sub(1)), 0 | b'\n' | b'\t'))
    {
        return None;
    }
    if blanks > MAX_PADDING_BYTES || first.is_ascii_digit() {
        return None;
    }
    let ends = |byte: &u8| matches!(byte, b'\n' | b'\r' | b'"') || *byte == separator;
    let name = slice(run, blanks..(blanks + MAX_HEADING_BYTES + 2).min(run.len()));
    let name = slice(name, 0..name.iter().position(ends)?);
    let len = blanks + name.len();
    let name = name.trim_ascii_end();
    let named = !name.is_empty() && !name.iter().any(|b| b"=:<".contains(b));
    let kind = named.then(|| secret_name::kind_of_heading(name))??;
    Some((at + 1 + blanks..at + 1 + len, kind))
}

/// The cell of a line, without blanks and quotation marks.
fn cell_of(bytes: &[u8], line: Range<usize>, separator: u8, column: usize) -> Option<Range<usize>> {
    let mut start = line.start;
    let mut cells = slice(bytes, line).split(|byte| *byte == separator);
    for _ in 0..column {
        start += cells.next()?.len() + 1;
    }
    let cell = cells.next()?;
    let blank = |byte: &&u8| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'`');
    let from = start + cell.iter().take_while(blank).count();
    let to = start + cell.len() - cell.iter().rev().take_while(blank).count();
    Some(from..to.max(from))
}

/// The secret in a cell.
fn secret_in_cell(
    bytes: &[u8],
    range: Range<usize>,
    separator: u8,
    kind: SecretKind,
) -> Option<ScanHit> {
    let spaced = slice(bytes, range.clone()).contains(&b' ');
    let value = AssignedValue {
        range,
        quoted: false,
        separator,
        is_adjacent: true,
        requires_token: true,
        fills_line: false,
    };
    let is_password = matches!(kind, SecretKind::Password | SecretKind::Pass);
    let rule = if is_password { PASSWORD_RULE } else { SECRET_RULE };
    (!spaced && credential_value::is_secret(bytes, &value, kind))
        .then_some(ScanHit { range: value.range, rule })
}

#[cfg(test)]
mod tests;
