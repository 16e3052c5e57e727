//! Passwords in a table of text: the cells below a heading that names a password, in lines of `a,b`,
//! `a;b` or `| a | b |`.

use std::ops::Range;

use super::name::{self, Tells};
use super::value::{self, Value};
use super::{Hit, PASSWORD, byte, part};
use crate::redact::work;

/// The longest heading.
const HEADING: usize = 32;
/// How far before a heading its line may begin.
const LINE: usize = 256;
/// How many lines below a heading are read. A mask changes their length, not their number: what went
/// through once reads the same the second time.
const LINES: usize = 12;
/// How far below a heading they are read, in bytes.
const BELOW: usize = 440;

/// Finds the values below the heading that begins behind this separator, if one does.
pub(super) fn below(bytes: &[u8], at: usize, hits: &mut Vec<Hit>) {
    let separator = byte(bytes, at);
    let Some(heading) = heading(bytes, at, separator) else { return };
    let before = part(bytes, at.saturating_sub(LINE)..at + 1);
    let line = before.iter().rev().take_while(|byte| **byte != b'\n').count();
    let line = at + 1 - line;
    let column = part(bytes, line..at + 1).iter().filter(|byte| **byte == separator).count();
    let run = part(bytes, heading.end..(heading.end + BELOW).min(bytes.len()));
    work::add(run.len());
    let mut start = heading.end;
    for (number, line) in run.split(|byte| *byte == b'\n').take(LINES + 1).enumerate() {
        let whole = start + line.len() < bytes.len().min(heading.end + BELOW)
            || start + line.len() == bytes.len();
        if number > 0 && whole {
            hits.extend(cell(bytes, start..start + line.len(), separator, column));
        }
        start += line.len() + 1;
    }
}

/// A cell that names a password, and where it ends.
fn heading(bytes: &[u8], at: usize, separator: u8) -> Option<Range<usize>> {
    let run = part(bytes, at + 1..(at + 3 + HEADING).min(bytes.len()));
    let blanks = run.iter().take_while(|byte| matches!(byte, b' ' | b'"')).count();
    let first = *run.get(blanks)?;
    // Most commas stand before a blank or a number, and what follows is a short way to tell them.
    if blanks > 2 || first.is_ascii_digit() || blanks > 0 && separator != b'|' {
        return None;
    }
    let ends = |byte: &u8| matches!(byte, b'\n' | b'\r' | b'"') || *byte == separator;
    let len = run.iter().position(ends)?;
    let name = part(run, blanks..len).trim_ascii_end();
    let named = !name.is_empty() && !name.contains(&b'=') && !name.contains(&b':');
    let told = named && name::tells(name) == Some(Tells::Password);
    told.then(|| at + 1 + blanks..at + 1 + len)
}

/// The secret in a cell of a line.
fn cell(bytes: &[u8], line: Range<usize>, separator: u8, column: usize) -> Option<Hit> {
    let mut start = line.start;
    let mut cells = part(bytes, line).split(|byte| *byte == separator);
    for _ in 0..column {
        start += cells.next()?.len() + 1;
    }
    let cell = cells.next()?;
    let blank = |byte: &&u8| byte.is_ascii_whitespace() || **byte == b'"';
    let from = start + cell.iter().take_while(blank).count();
    let to = start + cell.len() - cell.iter().rev().take_while(blank).count();
    let range = from..to.max(from);
    let spaced = part(bytes, range.clone()).contains(&b' ');
    let value = Value { range, quoted: false, sign: separator, tight: true, strict: true };
    let is_secret = !spaced && value::is_secret(bytes, &value, Tells::Password);
    is_secret.then_some(Hit { range: value.range, rule: PASSWORD })
}
