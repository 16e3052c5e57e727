//! Columns of text that is a table: `a,b` with any of four separators, or between bars.
//!
//! A heading counts for the lines right below it. How many these are is a fixed number of lines, not
//! of bytes alone, since a mask changes the length of a line but not their number: a text that went
//! through once reads the same the second time.

use std::ops::Range;

use super::work;

/// How many lines below a heading it counts for.
const LINES: usize = 12;
/// How far above a cell its heading may stand, in bytes.
const ABOVE: usize = 960;
/// The longest heading.
const HEADING: usize = 40;

/// Whether the stretch is a cell of its own, and a cell above it in its column, of letters, is a
/// heading that `names` it. Looks at no more than 960 bytes before it.
pub(super) fn is_under(bytes: &[u8], cell: Range<usize>, names: impl Fn(&[u8]) -> bool) -> bool {
    let floor = cell.start.saturating_sub(ABOVE);
    let above = bytes.get(floor..cell.start).unwrap_or_default();
    let Some(line) = memchr::memrchr(b'\n', above) else { return false };
    let Some(separator) = separator(bytes, &cell) else { return false };
    work::add(above.len());
    let (above, start) = above.split_at_checked(line).unwrap_or_default();
    let column = cells(start.get(1..).unwrap_or_default(), separator).count();
    let mut lines = above.rsplit(|byte| *byte == b'\n').take(LINES).peekable();
    while let Some(line) = lines.next() {
        // The first part of what is seen may be a part of a line.
        if lines.peek().is_none() && floor > 0 {
            return false;
        }
        let found = cells(line, separator).nth(column.saturating_sub(1)).map(plain);
        let Some(found) = found else { return false };
        if !found.is_empty()
            && found.len() <= HEADING
            && found.iter().any(|byte| byte.is_ascii_alphabetic() || !byte.is_ascii())
            && found.iter().filter(|byte| byte.is_ascii_digit()).nth(1).is_none()
            && names(found)
        {
            return true;
        }
    }
    false
}

/// The separator on one side of a cell, where the other side is one too or the end of its line.
fn separator(bytes: &[u8], cell: &Range<usize>) -> Option<u8> {
    let blank = |byte: &&u8| matches!(byte, b' ' | b'"' | b'+' | b'(');
    let before = bytes.get(cell.start.saturating_sub(4)..cell.start).unwrap_or_default();
    let before = before.iter().rev().find(|byte| !blank(byte)).copied().unwrap_or(b'\n');
    let after = bytes.get(cell.end..bytes.len().min(cell.end + 4)).unwrap_or_default();
    let after = after.iter().find(|byte| !blank(byte)).copied().unwrap_or(b'\n');
    let is_end = |byte: u8| matches!(byte, b'\n' | b'\r');
    let is_separator = |byte: u8| matches!(byte, b',' | b';' | b'\t' | b'|');
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
fn plain(cell: &[u8]) -> &[u8] {
    let wraps = |byte: &u8| byte.is_ascii_whitespace() || *byte == b'"';
    let start = cell.iter().position(|byte| !wraps(byte)).unwrap_or(cell.len());
    let end = cell.iter().rposition(|byte| !wraps(byte)).map_or(start, |at| at + 1);
    cell.get(start..end).unwrap_or_default()
}
