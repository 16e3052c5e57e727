//! Finds runs of base64 and hexadecimal digits that encode text.

use std::ops::Range;

use super::ClassifiedText;
use super::decoded_runs::decode;
use super::digit_run::{DigitRun, Encoding, sextet};
use super::edit::Edits;
use super::layer::{Layer, Layers};
use super::pairs;
use crate::byte_classes::ByteClassBitmaps;
use crate::work;

/// Minimum number of digits, without padding, in a run that is decoded.
const MIN_DIGITS: usize = 11;
const MIN_RUN: u32 = MIN_DIGITS as u32;

/// Minimum distance between two positions in a run at which decoding is tried.
const STRIDE: usize = 4;

/// The most bytes of a UTF-8 character after its first.
const MAX_CONTINUATION_BYTES: usize = 3;

/// The byte classes of digits and separators.
const SEXTET: usize = 5;
pub(super) const HEX: usize = 6;
pub(super) const SEPARATOR: usize = 7;

pub(super) fn classes(byte: u8) -> u8 {
    let low = (byte | 0x20).wrapping_sub(b'a');
    let digit = byte.is_ascii_digit();
    let sextet = digit | (low < 26) | matches!(byte, b'+' | b'-' | b'/' | b'_');
    u8::from(sextet) << SEXTET
        | u8::from(digit | (low < 6)) << HEX
        | u8::from(pairs::is_separator(byte)) << SEPARATOR
}

/// Decodes runs of base64, runs of hexadecimal digits and separated pairs of them in a text.
pub(super) struct EncodedRunDecoder<'a> {
    bytes: &'a [u8],
    bitmaps: &'a ByteClassBitmaps,
    skipped: &'a [Range<usize>],
    layers: Layers,
    begins_in_run: bool,
}

impl<'a> EncodedRunDecoder<'a> {
    /// A decoder of only these `layers` for a text.
    pub(super) fn new(source: ClassifiedText<'a>, layers: Layers) -> Self {
        let ClassifiedText { text, bitmaps, skipped_ranges: skipped, begins_in_run } = source;
        Self { bytes: text.as_bytes(), bitmaps, skipped, layers, begins_in_run }
    }

    fn is_skipped(&self, run: &Range<usize>) -> bool {
        let after = self.skipped.partition_point(|known| known.start <= run.start);
        let known = after.checked_sub(1).and_then(|at| self.skipped.get(at));
        known.is_some_and(|known| run.end <= known.end)
    }

    /// Replaces the runs in `range` that encode text, including hexadecimal digits in pairs.
    pub(super) fn replace(&self, range: Range<usize>, edits: &mut Edits) {
        if range.len() < MIN_DIGITS {
            return;
        }
        let mut from = range.start;
        if self.layers.contains(Layer::Hex) {
            while let Some(found) = pairs::next_run(self.bytes, self.bitmaps, from..range.end) {
                self.replace_runs(from..found.span.start, edits);
                from = found.span.end;
                found.replace_in(edits);
            }
        }
        self.replace_runs(from..range.end, edits);
    }

    /// Replaces the runs in `range` that hold text.
    fn replace_runs(&self, range: Range<usize>, edits: &mut Edits) {
        let bytes = self.bytes.get(..range.end).unwrap_or(self.bytes);
        let mut after = range.start;
        for found in self.bitmaps.runs(SEXTET, MIN_RUN, range) {
            work::add_steps(found.len());
            // Skip lines that belong to the previous run.
            if found.end > after && !self.is_skipped(&found) {
                let mut run = found.start.max(after)..found.end;
                if self.begins_in_run && run.start == 0 {
                    run.start = decode_cut_run(bytes, run.end, self.layers, edits).unwrap_or(0);
                }
                after = decode_run(bytes, run, self.layers, edits);
            }
        }
    }
}

/// Replaces what can be decoded in one run. Returns the end of the run, or of further lines that
/// belong to it.
///
/// Linear: a failed attempt reads a few bytes, and decoded bytes are not read again.
fn decode_run(bytes: &[u8], run: Range<usize>, layers: Layers, edits: &mut Edits) -> usize {
    let mut at = run.start;
    while at + MIN_DIGITS <= run.end {
        if let Some(end) = try_decodings(bytes, at, run.end, layers, edits) {
            at = end;
            continue;
        }
        // A path or a name may stand before the encoded part.
        at += STRIDE;
        let rest = bytes.get(at..run.end).unwrap_or_default();
        match rest.iter().position(|b| !b.is_ascii_alphanumeric()) {
            Some(i) => {
                work::add_steps(i);
                at += i + 1;
            }
            None => break,
        }
    }
    at.max(run.end)
}

/// Decodes a run that begins before the text. Its first digit may be any of a group, and its first
/// byte any of a character.
fn decode_cut_run(bytes: &[u8], end: usize, layers: Layers, edits: &mut Edits) -> Option<usize> {
    let encodings = [(Layer::Hex, Encoding::Hex, 2), (Layer::Base64, Encoding::Base64, 4)];
    encodings.into_iter().filter(|(layer, ..)| layers.contains(*layer)).find_map(
        |(_, encoding, digits)| {
            (0..=MAX_CONTINUATION_BYTES)
                .flat_map(|skipped| (0..digits).map(move |shift| (skipped, shift)))
                .find_map(|(skipped, shift)| {
                    decode(&DigitRun::new(bytes, shift, end, encoding).skipping(skipped), edits)
                })
        },
    )
}

/// Tries the encodings for the digits from `at` on. Returns the end of the first that gives text.
fn try_decodings(
    bytes: &[u8],
    at: usize,
    end: usize,
    layers: Layers,
    edits: &mut Edits,
) -> Option<usize> {
    if layers.contains(Layer::Hex) {
        let prefix = matches!(bytes.get(at..at + 2), Some(b"0x" | b"0X"));
        let source = DigitRun::new(bytes, at + if prefix { 2 } else { 0 }, end, Encoding::Hex);
        if let Some(end) = decode(&source, edits) {
            return Some(end);
        }
    }
    if !layers.contains(Layer::Base64) {
        return None;
    }
    // Letters directly before the encoded part shift the groups of four digits.
    (0..4)
        .filter(|shift| may_start(bytes, at + shift))
        .find_map(|shift| decode(&DigitRun::new(bytes, at + shift, end, Encoding::Base64), edits))
}

/// Whether text can start with the two digits at `at`: an ASCII character, a multi-byte character,
/// or a zero byte of UTF-16. Rejects most runs early.
fn may_start(bytes: &[u8], at: usize) -> bool {
    let Some([a, b]) = bytes.get(at..at + 2) else { return false };
    match (sextet(*a), sextet(*b)) {
        (Some(first), Some(second)) => match first {
            0..32 => true,
            48..62 => second & 0b1100 == 0b1000,
            _ => false,
        },
        _ => false,
    }
}
