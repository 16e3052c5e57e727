//! Finds the encodings in a text.

use super::ansi;
use super::backslash::{self, EscapeMatch};
use super::edit::Edits;
use super::encoded_runs::Digits;
use super::glyph::{Tags, glyph};
use super::layer::{Layer, Layers};
use super::web::{self, Reference};
use super::{Source, work};

/// Bytes that are looked over at once.
const BLOCK: usize = 32;

/// The one control character that hides nothing and is never undone.
const BARRIER: u8 = super::BARRIER as u8;

/// The layers that are found by digits in a row, not by a sign.
const RUNS: Layers = Layers::only(Layer::Base64).with(Layer::Hex);

/// Collects the replacements that undo every encoding in `layers`, once; of digits in a row only
/// those beside what is known.
pub(super) fn encodings(source: Source<'_>, layers: Layers, tags: Tags, edits: &mut Edits) {
    let (text, bytes) = (source.text, source.text.as_bytes());
    let digits = layers.overlaps(RUNS).then(|| Digits::of(source, layers));
    let mut at = 0;
    while let Some(found) = next_sign(bytes, at) {
        // No sign is a digit of base64, so that runs lie between them.
        if let Some(digits) = &digits {
            digits.replace(at..found, edits);
        }
        at = match plain_letters(bytes, found) {
            0 => sign(text, found, layers, tags, edits),
            len => found + len,
        };
    }
    if let Some(digits) = &digits {
        digits.replace(at..bytes.len(), edits);
    }
}

/// The bytes from `at` on that belong to letters in which nothing hides, as their first bytes tell:
/// Greek, Cyrillic, Hebrew, most ideographs and Hangul.
fn plain_letters(bytes: &[u8], at: usize) -> usize {
    let mut len = 0;
    while let Some(first) = bytes.get(at + len) {
        len += match first {
            0xce..=0xd7 => 2,
            0xe4..=0xe9 | 0xeb | 0xec => 3,
            _ => break,
        };
    }
    len
}

/// A byte with which an encoding may start, runs of digits apart.
fn is_sign(byte: u8) -> bool {
    !byte.is_ascii()
        || matches!(byte, b'%' | b'&' | b'\\' | 0x7f)
        || (byte < BARRIER && !matches!(byte, b'\t' | b'\n' | b'\r'))
}

fn next_sign(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at..)?;
    if rest.first().copied().is_some_and(is_sign) {
        return Some(at);
    }
    let (blocks, tail) = rest.as_chunks::<BLOCK>();
    // Without a branch per byte, so that it compiles to vector code.
    let clean = blocks
        .iter()
        .take_while(|block| !block.iter().fold(false, |any, byte| any | is_sign(*byte)))
        .count();
    let from = clean * BLOCK;
    let left = blocks.get(clean).map_or(tail, |block| block.as_slice());
    work::looked_at(from + left.len());
    left.iter().position(|byte| is_sign(*byte)).map(|i| at + from + i)
}

/// Replaces what the sign at `at` stands for. Returns the end of what was looked at.
fn sign(text: &str, at: usize, layers: Layers, tags: Tags, edits: &mut Edits) -> usize {
    let bytes = text.as_bytes();
    let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) else { return at + 1 };
    match c {
        '%' if layers.contains(Layer::Percent) => match web::percent(bytes, at) {
            Some((end, c)) => put(at, end, c, Layer::Percent, edits),
            None => at + 1,
        },
        '&' if layers.contains(Layer::Entity) => match web::entity(bytes, at) {
            Some((end, Reference::Char(c))) => put(at, end, c, Layer::Entity, edits),
            Some((end, Reference::Unseen)) => {
                edits.unit(at..end, "", Layer::Entity);
                end
            }
            None => at + 1,
        },
        '\\' => match backslash::escape(bytes, at) {
            EscapeMatch::Plain(end) => end,
            EscapeMatch::Char(end, _) | EscapeMatch::Nothing(end)
                if !layers.contains(Layer::Escape) =>
            {
                end
            }
            EscapeMatch::Char(end, c) => put(at, end, c, Layer::Escape, edits),
            EscapeMatch::Nothing(end) => {
                edits.unit(at..end, "", Layer::Escape);
                end
            }
        },
        '\u{1b}' | '\u{9b}' if layers.contains(Layer::Ansi) => {
            let end = ansi::end(bytes, at);
            edits.unit(at..end, "", Layer::Ansi);
            end
        }
        '%' | '&' => at + 1,
        _ => glyph(text, at, c, layers, tags, edits),
    }
}

fn put(at: usize, end: usize, c: char, layer: Layer, edits: &mut Edits) -> usize {
    edits.unit(at..end, c.encode_utf8(&mut [0; 4]), layer);
    end
}
