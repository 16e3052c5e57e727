//! Passwords and tokens in rows of JSON, below a row of headings: `[["user","password"],["ann","…"]]`.

use std::ops::Range;

use super::chosen_word::{is_chosen_word, is_phrase_with_signs};
use super::credential_value::is_secret_text;
use super::secret_name::{self, SecretKind};
use super::{PASSWORD_RULE, SECRET_RULE, ScanHit, byte_at, slice};
use crate::redact::work_meter;

/// The longest heading, and how far before it its row may begin, in bytes.
const MAX_HEADING_BYTES: usize = 32;
const MAX_ROW_BYTES: usize = 160;
/// How many rows are read, and how many bytes below the headings.
const MAX_ROWS: usize = 12;
const MAX_BYTES_BELOW: usize = 480;
/// The fewest digits of a number that is a password.
const MIN_DIGITS: usize = 4;

/// Finds the values below the heading of a row that begins behind this comma.
pub(super) fn scan(bytes: &[u8], comma: usize, hits: &mut Vec<ScanHit>) {
    let Some((column, kind, from)) = heading_behind(bytes, comma) else { return };
    let limit = bytes.len().min(from + MAX_BYTES_BELOW);
    work_meter::add_bytes(limit - from);
    let mut at = from;
    for _ in 0..MAX_ROWS {
        let Some(row) = next_row(bytes, at, limit) else { return };
        let Some((cell, end)) = cell_of_row(bytes, row, limit, column) else { return };
        let is_password = matches!(kind, SecretKind::Password | SecretKind::Pass);
        let rule = if is_password { PASSWORD_RULE } else { SECRET_RULE };
        let text = cell.clone().and_then(|cell| std::str::from_utf8(slice(bytes, cell)).ok());
        let is_secret = text.is_some_and(|text| {
            is_secret_text(text, kind) && !text.chars().all(char::is_alphabetic)
                || is_password && is_word_or_number(text)
        });
        hits.extend(cell.filter(|_| is_secret).map(|range| ScanHit { range, rule }));
        at = end;
    }
}

fn is_word_or_number(text: &str) -> bool {
    let is_number = text.len() >= MIN_DIGITS && text.bytes().all(|b| b.is_ascii_digit());
    is_number || is_chosen_word(text) || is_phrase_with_signs(text)
}

/// The number of the column of a heading, its kind, and where its row ends.
fn heading_behind(bytes: &[u8], comma: usize) -> Option<(usize, SecretKind, usize)> {
    let run = slice(bytes, comma + 1..(comma + 4 + MAX_HEADING_BYTES).min(bytes.len()));
    let blank = run.iter().take_while(|b| **b == b' ').count();
    let name = slice(run, blank..run.len()).strip_prefix(b"\"")?;
    let len = name.iter().position(|b| *b == b'"')?;
    let kind = secret_name::kind_of_heading(slice(name, 0..len))?;
    let before = slice(bytes, comma.saturating_sub(MAX_ROW_BYTES)..comma);
    let open = before.iter().rposition(|b| matches!(b, b'[' | b']' | b'{' | b'}'))?;
    let end = comma + 1 + blank + 1 + len + 1;
    let rest = slice(bytes, end..(end + MAX_ROW_BYTES).min(bytes.len()));
    let close = rest.iter().position(|b| matches!(b, b'[' | b']' | b'{' | b'}'))?;
    let headings = slice(before, open + 1..before.len());
    // A list of names has no rows below it.
    let is_row = byte_at(before, open) == b'[' && byte_at(rest, close) == b']';
    let column = headings.iter().filter(|b| **b == b',').count() + 1;
    let is_quoted = headings.trim_ascii().starts_with(b"\"");
    (is_row && is_quoted).then_some((column, kind, end + close + 1))
}

/// Where the cells of the next row begin, perhaps behind a name: `],"rows":[["ann"`.
fn next_row(bytes: &[u8], at: usize, limit: usize) -> Option<usize> {
    const MAX_GAP: usize = 32;
    let run = slice(bytes, at..limit.min(at + MAX_GAP));
    let open = run.iter().position(|b| *b == b'[')?;
    let is_gap =
        |b: &u8| b.is_ascii_whitespace() || b.is_ascii_alphanumeric() || b",\":_\\".contains(b);
    let rest = slice(run, open + 1..run.len());
    let second = rest.iter().take_while(|b| b.is_ascii_whitespace()).count();
    let is_nested = byte_at(rest, second) == b'[';
    slice(run, 0..open)
        .iter()
        .all(is_gap)
        .then_some(at + open + 1 + if is_nested { second + 1 } else { 0 })
}

/// The text of a cell of a row, and where the row ends.
fn cell_of_row(
    bytes: &[u8],
    row: usize,
    limit: usize,
    column: usize,
) -> Option<(Option<Range<usize>>, usize)> {
    let (mut number, mut at, mut cell) = (0, row, None);
    while at < limit {
        match byte_at(bytes, at) {
            b']' => return Some((cell, at + 1)),
            b'[' | b'{' => return None,
            b',' => number += 1,
            b'"' => {
                let run = slice(bytes, at + 1..limit);
                let len = run.iter().position(|b| matches!(b, b'"' | b'\\'))?;
                if number == column && byte_at(run, len) == b'"' {
                    cell = Some(at + 1..at + 1 + len);
                }
                at += len + usize::from(byte_at(run, len) == b'"');
            }
            _ => {}
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_below_a_heading_are_secrets() {
        for (text, found) in [
            (
                "[[\"user\",\"password\"],[\"ann\",\"Toner?Noir4\"],[\"bo\",\"9327\"]]",
                &["Toner?Noir4", "9327"][..],
            ),
            (
                "{\"columns\":[\"user\",\"password\"],\"rows\":[[\"ann\",\"kelterhefe\"]]}",
                &["kelterhefe"],
            ),
            ("[[\"user\", \"password\", \"role\"], [\"ann\", \"q8Vn2Lm\", \"x\"]]", &["q8Vn2Lm"]),
            ("[[\"user\",\"password\"],[\"ann\",\"expired\"]]", &[]),
            ("[\"user\",\"password\"]", &[]),
            ("[\"user\",\"password\"],\"other\": {\"x\":[\"a1b\",\"q8Vn2Lm\"]}", &[]),
            ("[[\"user\",\"role\"],[\"ann\",\"q8Vn2Lm\"]]", &[]),
        ] {
            let mut hits = Vec::new();
            for comma in memchr::memchr_iter(b',', text.as_bytes()) {
                scan(text.as_bytes(), comma, &mut hits);
            }
            let values: Vec<&str> =
                hits.iter().filter_map(|hit| text.get(hit.range.clone())).collect();
            assert_eq!(values, found, "{text}");
        }
    }
}
