//! Tokens that look random, near the name of a vendor or a word such as `secret`.
//!
//! The scan walks over runs of token characters. Only a run that looks random has the text before
//! it searched, at most [`BEFORE`] bytes of it.

use std::ops::Range;

use super::form;
use super::name;
use super::shape::{Shape, is_uuid};
use super::words::{self, Near, Word};
use super::{FORM, Hit, NAMED, VENDOR, byte, part};
use crate::redact::validate::{not_a_path, not_placeholder};
use crate::redact::work;

/// The shortest and the longest run that counts as a token.
const LENGTHS: std::ops::RangeInclusive<usize> = 12..=300;
/// How far before a token its vendor is searched.
const BEFORE: usize = 72;

/// Finds tokens by what stands around them and by their form.
pub(super) fn scan(bytes: &[u8], hits: &mut Vec<Hit>) {
    let least = *LENGTHS.start();
    let mut from = 0;
    // `from` begins a run or follows one. A run that is long enough covers the byte at `probe`.
    while let Some(probe) = Some(from + least - 1).filter(|probe| *probe < bytes.len()) {
        if !is_token(byte(bytes, probe)) {
            from = probe + 1;
            continue;
        }
        let before = part(bytes, from..probe);
        let start = probe - before.iter().rev().take_while(|b| is_token(**b)).count();
        let rest = part(bytes, probe..bytes.len());
        let end = probe + rest.iter().take_while(|b| is_token(**b)).count();
        if LENGTHS.contains(&(end - start)) {
            consider(bytes, start..end, hits);
        }
        from = end + 1;
    }
}

/// Characters of tokens.
const TOKENS: [bool; 256] = tokens();

const fn tokens() -> [bool; 256] {
    let mut table = [false; 256];
    let mut at = 0;
    #[expect(clippy::indexing_slicing, reason = "evaluated at compile time, in bounds")]
    while at < 256 {
        let byte = at as u8;
        table[at] =
            byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'+' | b'/' | b'.' | b'~');
        at += 1;
    }
    table
}

fn is_token(byte: u8) -> bool {
    TOKENS.get(usize::from(byte)).is_some_and(|token| *token)
}

fn consider(bytes: &[u8], run: Range<usize>, hits: &mut Vec<Hit>) {
    let whole = part(bytes, run.clone());
    work::add(whole.len());
    if !whole.iter().any(u8::is_ascii_digit) || !whole.iter().any(u8::is_ascii_alphabetic) {
        return;
    }
    if let Some(range) = form::known(bytes, run.clone()) {
        hits.push(Hit { range, rule: FORM });
        return;
    }
    let Some(token) = trimmed(bytes, run.clone()) else { return };
    let raw = part(bytes, token.clone());
    let before = byte(bytes, run.start.wrapping_sub(1));
    if before == b'#'
        || before == b'@'
        || before == b'%'
        || part(bytes, run.clone()).starts_with(b"//")
    {
        return;
    }
    if is_dated(raw) {
        return;
    }
    let shape = Shape::of(raw);
    let uuid = is_uuid(raw);
    if !uuid && (!shape.random() || shape.len < 14) {
        return;
    }
    let Ok(text) = std::str::from_utf8(raw) else { return };
    if !is_one_token(text, &shape) {
        return;
    }
    let Some(near) = words::before(bytes, token.start, BEFORE) else { return };
    if let Some(rule) = counts(bytes, &shape, uuid, &near)
        && not_placeholder(text)
    {
        hits.push(Hit { range: extended(bytes, token), rule });
    }
}

/// The run without punctuation at its ends.
fn trimmed(bytes: &[u8], run: Range<usize>) -> Option<Range<usize>> {
    let raw = part(bytes, run.clone());
    let first = raw.iter().position(u8::is_ascii_alphanumeric)?;
    let last = raw.iter().rposition(u8::is_ascii_alphanumeric)?;
    (last + 1 - first >= 12).then(|| run.start + first..run.start + last + 1)
}

/// True for a date, with a time or a short word behind it.
fn is_dated(raw: &[u8]) -> bool {
    byte(raw, 4) == b'-'
        && byte(raw, 7) == b'-'
        && part(raw, 0..4).iter().all(u8::is_ascii_digit)
        && raw.iter().filter(|b| b.is_ascii_alphabetic()).count() <= 3
}

/// No path, no host, no file, no date.
fn is_one_token(text: &str, shape: &Shape) -> bool {
    let slashes = text.bytes().filter(|b| *b == b'/').count();
    let base64 = shape.len >= 32 && shape.odd >= 2 && shape.turns >= 4;
    let dotted = text.split('.').any(|part| part.len() >= 14) || !text.contains('.');
    let dated = text.get(4..5) == Some("-") && text.get(7..8) == Some("-") && shape.letters <= 3;
    (slashes == 0 || base64 && slashes <= shape.len / 8) && dotted && !dated && not_a_path(text)
}

/// The rule by which the token counts, if any.
fn counts(bytes: &[u8], shape: &Shape, uuid: bool, near: &Near) -> Option<usize> {
    if near.refused {
        return None;
    }
    let common = uuid || shape.hex && matches!(shape.len, 40 | 64 | 128);
    let named = part(bytes, near.name.clone());
    let identifier = name::is_identifier(named);
    if near.word != Word::Vendor && (name::is_about(named) || name::is_open(named)) {
        return None;
    }
    match near.word {
        Word::Vendor if uuid && !near.quoted && near.gap > 3 => None,
        Word::Vendor if !identifier || near.in_name => Some(VENDOR),
        Word::Plain
            if shape.len >= 16 && !identifier && near.quoted && (!common || near.in_name) =>
        {
            Some(VENDOR)
        }
        Word::Strong if shape.len >= 16 && !identifier && (!common || near.signed) => Some(NAMED),
        Word::Weak if shape.len >= 16 && !identifier && near.quoted && !common && !shape.hex => {
            Some(NAMED)
        }
        _ => None,
    }
}

/// The token with what hangs on to it: padding, a second part after a colon.
fn extended(bytes: &[u8], token: Range<usize>) -> Range<usize> {
    let run = part(bytes, token.end..(token.end + 128).min(bytes.len()));
    let hangs = |b: &&u8| b.is_ascii_alphanumeric() || b"_-+=~.:$!*^/".contains(b);
    let len = run.iter().take_while(hangs).count();
    let tail = part(bytes, token.end..token.end + len);
    let loose = tail.iter().rev().take_while(|b| b".:-!*/".contains(b)).count();
    token.start..token.end + len - loose
}
