//! Finds and decodes the encodings in a text.

use super::ClassifiedText;
use super::ansi;
use super::backslash::{self, EscapeMatch};
use super::edit::Edits;
use super::encoded_runs::EncodedRunDecoder;
use super::glyph::{TagHandling, replace_glyph};
use super::layer::{Layer, Layers};
use super::web::{self, CharReference};
use crate::work;

/// Bytes tested at a time.
const BLOCK: usize = 32;

/// The barrier as a byte; see [`super::BARRIER`].
const BARRIER: u8 = super::BARRIER as u8;

/// The layers that are found as runs of digits, not by an introducing byte.
const RUNS: Layers = Layers::only(Layer::Base64).with(Layer::Hex);

/// Collects the replacements of one decoding pass over every encoding in `layers`. Runs of digits in
/// [`ClassifiedText::skipped_ranges`] are not decoded.
pub(super) fn encodings(
    source: ClassifiedText<'_>,
    layers: Layers,
    tags: TagHandling,
    edits: &mut Edits,
) {
    let (text, bytes) = (source.text, source.text.as_bytes());
    let digits = layers.overlaps(RUNS).then(|| EncodedRunDecoder::new(source, layers));
    let mut at = 0;
    while let Some(found) = next_candidate(bytes, at) {
        // No introducing byte is a base64 digit, so that runs lie between candidates.
        if let Some(digits) = &digits {
            digits.replace(at..found, edits);
        }
        at = match plain_letters(bytes, found) {
            0 => decode_at(text, found, layers, tags, edits),
            len => found + len,
        };
    }
    if let Some(digits) = &digits {
        digits.replace(at..bytes.len(), edits);
    }
}

/// The length of the run of letters at `at` that never need decoding, by their first bytes: Greek,
/// Cyrillic, Hebrew, most ideographs and Hangul.
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

/// True for a byte with which an encoding other than a run of digits may start.
fn may_start_encoding(byte: u8) -> bool {
    !byte.is_ascii()
        || matches!(byte, b'%' | b'&' | b'\\' | 0x7f)
        || (byte < BARRIER && !matches!(byte, b'\t' | b'\n' | b'\r'))
}

fn next_candidate(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at..)?;
    if rest.first().copied().is_some_and(may_start_encoding) {
        return Some(at);
    }
    let (blocks, tail) = rest.as_chunks::<BLOCK>();
    // No branch for each byte, so that it compiles to vector instructions.
    let clean = blocks
        .iter()
        .take_while(|block| !block.iter().fold(false, |any, byte| any | may_start_encoding(*byte)))
        .count();
    let from = clean * BLOCK;
    let left = blocks.get(clean).map_or(tail, |block| block.as_slice());
    work::add_steps(from + left.len());
    left.iter().position(|byte| may_start_encoding(*byte)).map(|i| at + from + i)
}

/// Decodes the encoding at `at`, if there is one. Returns the end of the bytes read.
fn decode_at(text: &str, at: usize, layers: Layers, tags: TagHandling, edits: &mut Edits) -> usize {
    let bytes = text.as_bytes();
    let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) else { return at + 1 };
    match c {
        '%' if layers.contains(Layer::Percent) => match web::percent(bytes, at) {
            Some((end, c)) => replace_with(at, end, c, Layer::Percent, edits),
            None => at + 1,
        },
        '&' if layers.contains(Layer::Entity) => match web::char_reference(bytes, at) {
            Some((end, CharReference::Char(c))) => replace_with(at, end, c, Layer::Entity, edits),
            Some((end, CharReference::Unseen)) => {
                edits.replace(at..end, "", Layer::Entity);
                end
            }
            None => at + 1,
        },
        '\\' => match backslash::match_escape(bytes, at) {
            EscapeMatch::Plain(end) => end,
            EscapeMatch::Char(end, _) | EscapeMatch::Nothing(end)
                if !layers.contains(Layer::Escape) =>
            {
                end
            }
            EscapeMatch::Char(end, c) => replace_with(at, end, c, Layer::Escape, edits),
            EscapeMatch::Nothing(end) => {
                edits.replace(at..end, "", Layer::Escape);
                end
            }
        },
        '\u{1b}' | '\u{9b}' if layers.contains(Layer::Ansi) => {
            let end = ansi::sequence_end(bytes, at);
            edits.replace(at..end, "", Layer::Ansi);
            end
        }
        '%' | '&' => at + 1,
        _ => replace_glyph(text, at, c, layers, tags, edits),
    }
}

fn replace_with(at: usize, end: usize, c: char, layer: Layer, edits: &mut Edits) -> usize {
    edits.replace(at..end, c.encode_utf8(&mut [0; 4]), layer);
    end
}
