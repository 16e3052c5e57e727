//! Decodes runs of base64 and hexadecimal digits that encode text.

use super::digit_run::{DigitRun, Encoding};
use super::edit::Edits;
use super::layer::Layer;
use super::map::Shape;

/// Minimum number of bytes of text that a run must encode.
pub(super) const MIN_TEXT: usize = 8;

/// Number of valid UTF-8 bytes from which a run counts as text without further checks.
const MIN_CERTAIN_TEXT: usize = 24;

/// Bytes decoded at a time, and in the first step: most runs that encode no text are rejected there.
const BLOCK: usize = 192;
const FIRST_BLOCK: usize = 18;

/// Replaces the longest prefix of the run that encodes text. Returns its end, or `None` if there is
/// none.
pub(super) fn decode(source: &DigitRun<'_>, edits: &mut Edits) -> Option<usize> {
    // Nearly all runs that encode no text are rejected by their first bytes.
    let head = source.head()?;
    if !may_be_text(&head) {
        return None;
    }
    let first: Vec<u8> = (0..FIRST_BLOCK).map_while(|at| source.byte(at)).collect();
    let index = utf16_ascii_offset(&first);
    let text = match index {
        Some(index) => decode_utf16_ascii(source, index),
        None => decode_utf8_prefix(source, first)?,
    };
    if !is_convincing(&text) {
        return None;
    }
    let digits = match source.encoding {
        Encoding::Hex => 2,
        Encoding::Base64 => 4,
    };
    let start = source.input_range(0..1).start;
    let (mut at, mut end, mut group) = (0, start, 0);
    while at < text.len() {
        let (to, input, digits) = match index {
            Some(_) => (at + 1, source.input_range(2 * at..2 * at + 2), 1),
            None => {
                let to = at + source.bytes_to_group_end(at);
                // The last group may be short; the first is if bytes were left out.
                group = if at == 0 { to } else { group.max(to - at) };
                let to = to.min(text.len());
                (to, source.input_range(at..to), digits)
            }
        };
        end = input.end;
        let shape = Shape::packed(if index.is_some() { 1 } else { group }, input.len().max(digits));
        edits.add_source(input, to - at, shape);
        at = to;
    }
    edits.push_text(&text);
    if source.encoding == Encoding::Base64 {
        let rest = source.bytes.get(end..).unwrap_or_default();
        end += rest.iter().take(2).take_while(|b| **b == b'=').count();
        edits.extend_to(end);
        edits.close(start..end, Layer::Base64);
    } else {
        edits.close(start..end, Layer::Hex);
    }
    Some(end)
}

/// The longest UTF-8 prefix of the decoded bytes, of which the first are given.
fn decode_utf8_prefix(source: &DigitRun<'_>, mut bytes: Vec<u8>) -> Option<String> {
    let mut good = 0;
    loop {
        let fresh = bytes.get(good..)?;
        let (valid, stop) = match std::str::from_utf8(fresh) {
            Ok(_) => (fresh.len(), false),
            Err(error) => (error.valid_up_to(), error.error_len().is_some()),
        };
        let odd = fresh.iter().take(valid).filter(|b| is_control(**b)).count();
        if odd * 8 > valid {
            break;
        }
        good += valid;
        let before = bytes.len();
        if stop || good < MIN_TEXT.min(before) {
            break;
        }
        bytes.extend((before..before + BLOCK).map_while(|at| source.byte(at)));
        if bytes.len() == before {
            break;
        }
    }
    bytes.truncate(good);
    String::from_utf8(bytes).ok()
}

/// Whether this is unlikely to be random: a few random bytes are often valid UTF-8, many are not.
fn is_convincing(text: &str) -> bool {
    let plain = || text.bytes().filter(|b| is_ascii_text(*b)).count() * 4 >= text.len() * 3;
    let odd = || text.bytes().any(is_control);
    text.len() >= MIN_TEXT && (text.len() >= MIN_CERTAIN_TEXT || (plain() && !odd()))
}

/// Whether a UTF-8 character, or an ASCII character in UTF-16, can start with these bytes.
pub(super) fn may_start_text(first: u8, second: u8) -> bool {
    match first {
        0 => is_ascii_text(second),
        0xc2..=0xf4 => second & 0xc0 == 0x80,
        _ => first.is_ascii() && !(0x80..0xc2).contains(&second),
    }
}

/// Whether text can start with these bytes.
fn may_be_text(head: &[u8; MIN_TEXT]) -> bool {
    if head.contains(&0) {
        // May be UTF-16.
        return true;
    }
    let whole = std::str::from_utf8(head).map_or_else(|e| e.error_len().is_none(), |_| true);
    whole && head.iter().filter(|b| is_control(**b)).count() <= 1
}

/// True for a control character other than tabs and line breaks.
pub(super) fn is_control(byte: u8) -> bool {
    byte.is_ascii_control() && !matches!(byte, b'\t' | b'\n' | b'\r')
}

fn is_ascii_text(byte: u8) -> bool {
    byte.is_ascii() && !is_control(byte)
}

/// The index of the character byte in each pair if these bytes are ASCII in UTF-16: 1 for big-endian.
fn utf16_ascii_offset(first: &[u8]) -> Option<usize> {
    let fits = |index: usize| {
        first.chunks_exact(2).all(|pair| {
            pair.get(index).copied().is_some_and(is_ascii_text) && pair.get(1 - index) == Some(&0)
        })
    };
    if first.len() < MIN_TEXT {
        return None;
    }
    [0, 1].into_iter().find(|index| fits(*index))
}

/// Decodes ASCII in UTF-16, up to the first other character.
fn decode_utf16_ascii(source: &DigitRun<'_>, index: usize) -> String {
    (0..)
        .map_while(|at| {
            let filler = source.byte(2 * at + 1 - index)?;
            source.byte(2 * at + index).filter(|b| filler == 0 && is_ascii_text(*b))
        })
        .map(char::from)
        .collect()
}
