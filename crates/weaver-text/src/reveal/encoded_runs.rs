//! Base64 and hexadecimal runs that hold text.

use std::ops::Range;

use super::decoded_runs::decode;
use super::digit_run::{DigitRun, Encoding, sextet};
use super::edit::Edits;
use super::layer::{Layer, Layers};
use super::pairs;
use super::{Source, work};
use crate::byte_classes::ByteClassBitmaps;

/// Fewest digits, padding not counted, in a run that is looked into.
const SHORTEST: usize = 11;
const LEAST: u32 = SHORTEST as u32;

/// Fewest bytes between two places in a run at which a reading is tried.
const STRIDE: usize = 4;

/// The classes of bytes of which runs are made.
const SEXTET: usize = 5;
pub(super) const HEX: usize = 6;
pub(super) const BETWEEN: usize = 7;

pub(super) fn classes(byte: u8) -> u8 {
    let low = (byte | 0x20).wrapping_sub(b'a');
    let digit = byte.is_ascii_digit();
    let sextet = digit | (low < 26) | matches!(byte, b'+' | b'-' | b'/' | b'_');
    u8::from(sextet) << SEXTET
        | u8::from(digit | (low < 6)) << HEX
        | u8::from(pairs::is_between(byte)) << BETWEEN
}

/// Finds runs of base64, runs of hexadecimal digits, and separated pairs of them in a text.
pub(super) struct Digits<'a> {
    bytes: &'a [u8],
    masks: &'a ByteClassBitmaps,
    known: &'a [Range<usize>],
    layers: Layers,
}

impl<'a> Digits<'a> {
    /// Those of a text beside what is known; only these layers are undone.
    pub(super) fn of(source: Source<'a>, layers: Layers) -> Self {
        let Source { text, masks, known } = source;
        Self { bytes: text.as_bytes(), masks, known, layers }
    }

    fn is_known(&self, run: &Range<usize>) -> bool {
        let after = self.known.partition_point(|known| known.start <= run.start);
        let known = after.checked_sub(1).and_then(|at| self.known.get(at));
        known.is_some_and(|known| run.end <= known.end)
    }

    /// Replaces the runs in `range` that hold text, and hexadecimal digits in pairs.
    pub(super) fn replace(&self, range: Range<usize>, edits: &mut Edits) {
        if range.len() < SHORTEST {
            return;
        }
        let mut from = range.start;
        if self.layers.contains(Layer::Hex) {
            while let Some(found) = pairs::next(self.bytes, self.masks, from..range.end) {
                self.runs(from..found.span.start, edits);
                from = found.span.end;
                found.put(edits);
            }
        }
        self.runs(from..range.end, edits);
    }

    /// Replaces the runs in `range` that hold text.
    fn runs(&self, range: Range<usize>, edits: &mut Edits) {
        let bytes = self.bytes.get(..range.end).unwrap_or(self.bytes);
        let mut after = range.start;
        for found in self.masks.runs(SEXTET, LEAST, range) {
            work::looked_at(found.len());
            // Lines that the run before has consumed are skipped.
            if found.end > after && !self.is_known(&found) {
                after = run(bytes, found.start.max(after)..found.end, self.layers, edits);
            }
        }
    }
}

/// Replaces what can be read in one run. Returns where to go on: behind the run, or behind the
/// lines that belong to it.
///
/// Every try that fails ends after a few bytes, and what a try reads is not read again.
fn run(bytes: &[u8], run: Range<usize>, layers: Layers, edits: &mut Edits) -> usize {
    let mut at = run.start;
    while at + SHORTEST <= run.end {
        if let Some(end) = readings(bytes, at, run.end, layers, edits) {
            at = end;
            continue;
        }
        // Perhaps something stands before it: a path, a name.
        at += STRIDE;
        let rest = bytes.get(at..run.end).unwrap_or_default();
        match rest.iter().position(|b| !b.is_ascii_alphanumeric()) {
            Some(i) => {
                work::looked_at(i);
                at += i + 1;
            }
            None => break,
        }
    }
    at.max(run.end)
}

/// Tries the ways to read the digits from `at` on; the end of the one that holds text.
fn readings(
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
    // Letters glued to the front shift the groups of four.
    (0..4)
        .filter(|shift| may_start(bytes, at + shift))
        .find_map(|shift| decode(&DigitRun::new(bytes, at + shift, end, Encoding::Base64), edits))
}

/// Whether text can start with the first two digits at `at`, of which nearly all runs have others:
/// an ASCII character, a character of several bytes, or a zero and a character.
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
