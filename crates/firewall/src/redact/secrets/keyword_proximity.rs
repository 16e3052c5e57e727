//! Tokens that look random, near the name of a vendor or a word such as `secret`.
//!
//! The scan walks over runs of token characters. Only a run that looks random has the text before
//! it searched, at most [`BEFORE`] bytes of it.

use std::ops::Range;

use super::form;
use super::name;
use super::shape::{Shape, is_uuid};
use super::vendor_id;
use super::words::{self, Keyword, KeywordContext};
use super::{FORM, Hit, NAMED, VENDOR, byte, part};
use crate::redact::covered_ranges::CoveredRanges;
use crate::redact::scan_window::ScanWindow;
use crate::redact::validate::{not_a_path, not_placeholder};
use crate::redact::work;

/// The shortest and the longest run that counts as a token.
const SHORTEST: u32 = 12;
const LONGEST: usize = 300;
/// The shortest token that may have slashes in it.
const BASE64: usize = 32;
/// How far before a token its vendor is searched.
const BEFORE: usize = 72;

/// Finds tokens by what stands around them and by their form, but for those that are known.
pub(super) fn scan(window: &ScanWindow<'_>, known: &CoveredRanges, hits: &mut Vec<Hit>) {
    for run in window.tokens(SHORTEST).filter(|run| run.len() <= LONGEST && !known.holds(run)) {
        consider(window.bytes(), run, hits);
    }
}

fn consider(bytes: &[u8], run: Range<usize>, hits: &mut Vec<Hit>) {
    let whole = part(bytes, run.clone());
    work::add(whole.len());
    if !whole.iter().any(u8::is_ascii_alphabetic) {
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
    // Short texts with slashes are paths.
    if is_dated(raw) || raw.len() < BASE64 && raw.contains(&b'/') {
        return;
    }
    let shape = Shape::of(raw);
    let uuid = is_uuid(raw);
    if !uuid && (!shape.random() || shape.len < 14) {
        return;
    }
    let Ok(text) = std::str::from_utf8(raw) else { return };
    if !is_one_token(text, &shape) || vendor_id::is_vendor_id(raw) {
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
    let base64 = shape.len >= BASE64 && shape.odd >= 2 && shape.turns >= 4;
    let dotted = text.split('.').any(|part| part.len() >= 14) || !text.contains('.');
    let dated = text.get(4..5) == Some("-") && text.get(7..8) == Some("-") && shape.letters <= 3;
    (slashes == 0 || base64 && slashes <= shape.len / 8) && dotted && !dated && not_a_path(text)
}

/// The rule by which the token counts, if any.
fn counts(bytes: &[u8], shape: &Shape, uuid: bool, near: &KeywordContext) -> Option<usize> {
    if near.refused {
        return None;
    }
    let common = uuid || shape.hex && matches!(shape.len, 40 | 64 | 128);
    let named = part(bytes, near.name.clone());
    let identifier = name::is_identifier(named);
    if near.word != Keyword::Vendor && (name::is_about(named) || name::is_open(named)) {
        return None;
    }
    match near.word {
        Keyword::Vendor if uuid && !near.quoted && near.gap > 3 && !near.is_called_a_secret => None,
        Keyword::Vendor if !identifier || near.in_name => Some(VENDOR),
        Keyword::Plain
            if shape.len >= 16 && !identifier && near.quoted && (!common || near.in_name) =>
        {
            Some(VENDOR)
        }
        Keyword::Strong if shape.len >= 16 && !identifier && (!common || near.signed) => {
            Some(NAMED)
        }
        Keyword::Weak if shape.len >= 16 && !identifier && near.quoted && !common && !shape.hex => {
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
