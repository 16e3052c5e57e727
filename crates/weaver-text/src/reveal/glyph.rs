//! Replaces invisible characters and characters equivalent to ASCII.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization;

use super::edit::Edits;
use super::layer::{Layer, Layers};
use super::map::Shape;
use crate::invisible::is_invisible;

/// Maximum number of ASCII characters that one character may be equivalent to.
const MAX_ASCII: usize = 4;

/// Minimum number of decoded bytes in a run of variation selectors.
const MIN_SELECTORS: usize = 4;

/// The zeros of the non-ASCII decimal digits without an ASCII compatibility form.
const ZEROS: [u32; 61] = [
    0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6,
    0xe50, 0xed0, 0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50,
    0x1bb0, 0x1c40, 0x1c50, 0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0x104a0,
    0x10d30, 0x11066, 0x110f0, 0x11136, 0x111d0, 0x112f0, 0x11450, 0x114d0, 0x11650, 0x116c0,
    0x11730, 0x118e0, 0x11950, 0x11c50, 0x11d50, 0x11da0, 0x11f50, 0x16a60, 0x16ac0, 0x16b50,
    0x1e140, 0x1e2f0, 0x1e4f0, 0x1e950, 0x1ccf0,
];

/// Whether Unicode tags are replaced with the ASCII that they spell, or removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TagHandling {
    Spell,
    Drop,
}

/// Replaces the character `c` at `at` if it is invisible or equivalent to ASCII. Returns the end of
/// the bytes read.
pub(super) fn replace_glyph(
    text: &str,
    at: usize,
    c: char,
    layers: Layers,
    tags: TagHandling,
    edits: &mut Edits,
) -> usize {
    let range = at..at + c.len_utf8();
    let end = range.end;
    if is_plain(c) {
        return end;
    }
    if is_selector(c) && layers.contains(Layer::Invisible) {
        return decode_selectors(text, at, edits);
    }
    if let (Some(spelt), TagHandling::Spell, true) = (tag(c), tags, layers.contains(Layer::Tag)) {
        edits.replace(range, spelt.encode_utf8(&mut [0; 4]), Layer::Tag);
    } else if is_unseen(c) {
        if layers.contains(Layer::Invisible) {
            edits.replace(range, "", Layer::Invisible);
        }
    } else if layers.contains(Layer::Compatible)
        && let Some(plain) = ascii_equivalent(text, &range, c)
    {
        edits.replace(range, plain.as_str(), Layer::Compatible);
    }
    end
}

/// True for letters and pictographs that never need decoding: a fast path for prose.
fn is_plain(c: char) -> bool {
    matches!(c,
        '\u{c0}'..='\u{131}' | '\u{134}'..='\u{17e}' | '\u{370}'..='\u{37d}'
        | '\u{37f}'..='\u{5ff}' | '\u{3041}'..='\u{3163}' | '\u{3400}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7a3}' | '\u{1f300}'..='\u{1faff}')
}

fn tag(c: char) -> Option<char> {
    match c {
        '\u{e0020}'..='\u{e007e}' => char::from_u32(u32::from(c) - 0xe0000),
        _ => None,
    }
}

/// True for invisible characters and for combining marks that strike through others.
fn is_unseen(c: char) -> bool {
    let keeps = matches!(c, '\t' | '\n' | '\r' | super::BARRIER);
    (c.is_control() && !keeps)
        || is_invisible(c)
        || matches!(c, '\u{334}'..='\u{338}' | '\u{20d0}'..='\u{20f0}')
}

fn is_selector(c: char) -> bool {
    selector_byte(c).is_some()
}

/// The byte that a variation selector can encode.
fn selector_byte(c: char) -> Option<u8> {
    let value = match c {
        '\u{fe00}'..='\u{fe0f}' => u32::from(c) - 0xfe00,
        '\u{e0100}'..='\u{e01ef}' => u32::from(c) - 0xe0100 + 16,
        _ => return None,
    };
    u8::try_from(value).ok()
}

/// Replaces the run of variation selectors at `at` with the text that they encode, or removes it.
fn decode_selectors(text: &str, at: usize, edits: &mut Edits) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    let run = rest.char_indices().map_while(|(i, c)| Some((i, c, selector_byte(c)?)));
    let (mut bytes, mut ends, mut end) = (Vec::new(), Vec::new(), at);
    for (i, c, byte) in run {
        end = at + i + c.len_utf8();
        bytes.push(byte);
        ends.push(end);
    }
    let carried = String::from_utf8(bytes)
        .ok()
        .filter(|carried| carried.len() >= MIN_SELECTORS && !carried.chars().any(char::is_control));
    let Some(carried) = carried else {
        edits.replace(at..end, "", Layer::Invisible);
        return end;
    };
    let mut ends = ends.into_iter();
    let mut from = at;
    for c in carried.chars() {
        let to = ends.nth(c.len_utf8() - 1).unwrap_or(end);
        let text = c.encode_utf8(&mut [0; 4]).to_owned();
        edits.push_piece(from..to, &text, Shape::packed(text.len(), to - from));
        from = to;
    }
    edits.close(at..end, Layer::Invisible);
    end
}

/// A short ASCII string.
struct Ascii {
    bytes: [u8; MAX_ASCII],
    len: usize,
}

impl Ascii {
    fn from_chars(chars: impl Iterator<Item = char>) -> Option<Self> {
        let mut plain = Self { bytes: [0; MAX_ASCII], len: 0 };
        for c in chars {
            let byte = u8::try_from(c).ok().filter(|b| matches!(b, b' '..=b'~'))?;
            *plain.bytes.get_mut(plain.len)? = byte;
            plain.len += 1;
        }
        (plain.len > 0).then_some(plain)
    }

    fn as_str(&self) -> &str {
        self.bytes.get(..self.len).and_then(|b| std::str::from_utf8(b).ok()).unwrap_or_default()
    }
}

/// The ASCII equivalent of `c`, if it has one here.
fn ascii_equivalent(text: &str, range: &Range<usize>, c: char) -> Option<Ascii> {
    let beside = |test: fn(char) -> bool| {
        let before = text.get(..range.start)?.chars().next_back();
        let after = text.get(range.end..)?.chars().next();
        Some((before.is_some_and(test), after.is_some_and(test)))
    };
    match c {
        // Blanks and dashes are common in prose. They are replaced only beside the digits of a
        // number, and some dashes also inside a word.
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => {
            let (before, after) = beside(char::is_numeric)?;
            (before || after).then(|| Ascii::from_chars([' '].into_iter()))?
        }
        '\u{2010}' | '\u{2011}' | '\u{2043}' | '\u{2212}' => {
            let (before, after) = beside(char::is_alphanumeric)?;
            (before && after).then(|| Ascii::from_chars(['-'].into_iter()))?
        }
        '\u{2012}'..='\u{2015}' => {
            let (before, after) = beside(char::is_numeric)?;
            (before && after).then(|| Ascii::from_chars(['-'].into_iter()))?
        }
        '\u{3002}' => {
            let (before, after) = beside(|c| c.is_ascii_alphanumeric())?;
            (before && after).then(|| Ascii::from_chars(['.'].into_iter()))?
        }
        '\u{2025}' | '\u{2026}' | '\u{2120}' | '\u{2122}' | '\u{2103}' | '\u{2109}' => None,
        _ => ascii_digit(c).or_else(|| Ascii::from_chars(std::iter::once(c).nfkc())),
    }
}

/// The ASCII digit for a decimal digit of another script.
fn ascii_digit(c: char) -> Option<Ascii> {
    let code = u32::from(c);
    if code < 0x660 {
        return None;
    }
    let zero = ZEROS.iter().find(|zero| (**zero..**zero + 10).contains(&code))?;
    Ascii::from_chars(char::from_digit(code - zero, 10).into_iter())
}
