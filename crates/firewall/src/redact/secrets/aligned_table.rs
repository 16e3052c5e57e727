//! Passwords and tokens in tables whose columns are aligned with blanks, as commands print them:
//! the cells below a heading that names one.
//!
//! Cells are told by their number in the line, not by their place: a mask changes the places behind
//! it, but not the numbers.

use std::ops::Range;

use super::assigned_value::AssignedValue;
use super::credential_value;
use super::secret_name::{self, SecretKind};
use super::slice;

/// Finds the values below the heading at a range, before an end.
pub(crate) type ColumnReader = fn(&str, Range<usize>, usize, &mut dyn FnMut(Range<usize>));

/// The longest heading in bytes, and the most words of one.
const MAX_HEADING_BYTES: usize = 32;
const MAX_HEADING_WORDS: usize = 4;
/// How far before a heading its line may begin, in bytes.
const MAX_LINE_BYTES: usize = 256;
/// How many lines below a heading are read.
const MAX_LINES_BELOW: usize = 24;

/// What is in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ColumnContent {
    Secrets(SecretKind),
    /// What the first cell of the row names, as below `Key   Value`.
    Named,
}

/// The secrets below the heading that this label begins, which follows two blanks.
pub(crate) fn cells_below(
    text: &str,
    label: Range<usize>,
    end: usize,
    found: &mut dyn FnMut(Range<usize>),
) {
    let bytes = text.as_bytes();
    let start = label.start + slice(bytes, label).iter().take_while(|b| **b == b' ').count();
    let Some((line, number, content)) = heading_at(bytes, start) else { return };
    let count = cells(bytes, line.clone()).count();
    let mut at = line.end + 1;
    for _ in 0..MAX_LINES_BELOW {
        let rest = slice(bytes, at..end);
        let Some(len) = memchr::memchr(b'\n', rest).or((end == bytes.len()).then_some(rest.len()))
        else {
            return;
        };
        let row: Vec<Range<usize>> = cells(bytes, at..at + len).take(count + 1).collect();
        if row.len() < 2 {
            return;
        }
        if let (Some(first), Some(cell)) = (row.first(), row.get(number))
            && row.len() <= count
            && is_secret(bytes, slice(bytes, first.clone()), cell, content)
        {
            found(cell.clone());
        }
        at += len + 1;
    }
}

/// The line of the heading that begins here, its number, and what it says of its column.
fn heading_at(bytes: &[u8], start: usize) -> Option<(Range<usize>, usize, ColumnContent)> {
    let name = slice(bytes, start..(start + MAX_HEADING_BYTES).min(bytes.len()));
    let ends = |pair: &[u8]| matches!(pair, [b'\n' | b'\r', ..] | [b' ', b' ' | b'\n' | b'\r']);
    let len = name.windows(2).position(ends).unwrap_or(name.len());
    let name = slice(name, 0..len).trim_ascii_end();
    let content = match secret_name::kind_of_heading(name) {
        Some(kind) => ColumnContent::Secrets(kind),
        None if name.eq_ignore_ascii_case(b"value") => ColumnContent::Named,
        None => return None,
    };
    let before = slice(bytes, start.saturating_sub(MAX_LINE_BYTES)..start);
    let line = match memchr::memrchr(b'\n', before) {
        Some(end) => start - before.len() + end + 1,
        None if before.len() == start => 0,
        None => return None,
    };
    let rest = slice(bytes, start..(start + MAX_LINE_BYTES).min(bytes.len()));
    let line = line..start + memchr::memchr(b'\n', rest)?;
    let number = cells(bytes, line.clone()).position(|cell| cell.start == start)?;
    let is_heading = |cell: Range<usize>| {
        let cell = slice(bytes, cell);
        let is_sign = |b: &u8| b.is_ascii_punctuation() && !b"_-/%#*".contains(b);
        cell.len() <= MAX_HEADING_BYTES
            && !cell.first().is_some_and(|b| b.is_ascii_digit() || b.is_ascii_punctuation())
            && !cell.iter().any(is_sign)
            && cell.split(|b| *b == b' ').count() <= MAX_HEADING_WORDS
    };
    let is_table = cells(bytes, line.clone()).count() > 1;
    (is_table && cells(bytes, line.clone()).all(is_heading)).then_some((line, number, content))
}

/// The cells of a line: what two blanks or more separate.
fn cells(bytes: &[u8], line: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let mut at = line.start;
    std::iter::from_fn(move || {
        let rest = slice(bytes, at..line.end);
        at += rest.iter().take_while(|b| b.is_ascii_whitespace()).count();
        let rest = slice(bytes, at..line.end);
        let end = memchr::memmem::find(rest, b"  ").unwrap_or(rest.trim_ascii_end().len());
        let cell = at..at + end;
        at = cell.end;
        (!cell.is_empty()).then_some(cell)
    })
}

fn is_secret(bytes: &[u8], first: &[u8], cell: &Range<usize>, content: ColumnContent) -> bool {
    let kind = match content {
        ColumnContent::Secrets(kind) => kind,
        ColumnContent::Named => match secret_name::secret_kind(first) {
            Some(kind) => kind,
            None => return false,
        },
    };
    let value = AssignedValue {
        range: cell.clone(),
        quoted: false,
        separator: b'\t',
        is_adjacent: true,
        requires_token: true,
        fills_line: false,
    };
    !slice(bytes, cell.clone()).contains(&b' ') && credential_value::is_secret(bytes, &value, kind)
}
