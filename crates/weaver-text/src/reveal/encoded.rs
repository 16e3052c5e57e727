//! Base64 and hexadecimal runs that hold text.

use std::ops::Range;

use super::edit::Edits;
use super::layer::{Layer, Layers};
use super::map::Shape;
use super::pairs;
use super::{Source as Text, work};
use crate::masks::Masks;

/// Fewest digits, padding not counted, in a run that is looked into.
const SHORTEST: usize = 11;
const LEAST: u32 = SHORTEST as u32;

/// Fewest bytes of text that a run must hold.
pub(super) const FEWEST: usize = 8;

/// Bytes of valid text that need no closer look.
const CONVINCING: usize = 24;

/// Fewest bytes between two places in a run at which a reading is tried.
const STRIDE: usize = 4;

/// Bytes decoded at a time, and at first: nearly every run that holds no text ends there.
const BLOCK: usize = 192;
const FIRST: usize = 18;

/// The value of each base64 digit, of both alphabets; 64 for what is none.
const SEXTETS: [u8; 256] = {
    let mut table = [64; 256];
    let (mut value, mut byte) = (0u8, 0u8);
    while byte < 128 {
        let known = match byte {
            b'A'..=b'Z' => Some(byte - b'A'),
            b'a'..=b'z' => Some(byte - b'a' + 26),
            b'0'..=b'9' => Some(byte - b'0' + 52),
            b'+' | b'-' => Some(62),
            b'/' | b'_' => Some(63),
            _ => None,
        };
        if let Some(sextet) = known {
            #[expect(clippy::indexing_slicing, reason = "evaluated by the compiler, in bounds")]
            {
                table[byte as usize] = sextet;
            }
            value += 1;
        }
        byte += 1;
    }
    assert!(value == 66, "two alphabets of 62 common digits and two own ones each");
    table
};

fn sextet(byte: u8) -> Option<u8> {
    SEXTETS.get(usize::from(byte)).copied().filter(|s| *s < 64)
}

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

/// Digits in a row: runs of base64 and hexadecimal digits, and hexadecimal digits in pairs.
pub(super) struct Digits<'a> {
    bytes: &'a [u8],
    masks: &'a Masks,
    known: &'a [Range<usize>],
    layers: Layers,
}

impl<'a> Digits<'a> {
    /// Those of a text beside what is known; only these layers are undone.
    pub(super) fn of(source: Text<'a>, layers: Layers) -> Self {
        let Text { text, masks, known } = source;
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
            // Lines that belonged to the run before are read.
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
        let source = Source::new(bytes, at + if prefix { 2 } else { 0 }, end, Base::Sixteen);
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
        .find_map(|shift| decode(&Source::new(bytes, at + shift, end, Base::SixtyFour), edits))
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Base {
    Sixteen,
    SixtyFour,
}

/// Digits from `start` on. If a line of them ends with a line break, the next ones are taken for
/// the same run as long as every line but the last has the length of the first.
struct Source<'a> {
    bytes: &'a [u8],
    start: usize,
    base: Base,
    /// Digits in a line.
    line: usize,
    /// Bytes in a line break.
    gap: usize,
}

impl<'a> Source<'a> {
    fn new(bytes: &'a [u8], start: usize, end: usize, base: Base) -> Self {
        let gap = match bytes.get(end..) {
            Some([b'\n', next, ..]) if sextet(*next).is_some() => 1,
            Some([b'\r', b'\n', next, ..]) if sextet(*next).is_some() => 2,
            _ => 0,
        };
        let line = if gap == 0 { usize::MAX } else { end.saturating_sub(start).max(1) };
        Self { bytes, start, base, line, gap }
    }

    /// Where the digit with this number stands.
    #[inline]
    fn place(&self, digit: usize) -> usize {
        if self.gap == 0 {
            return self.start + digit;
        }
        self.start + digit + digit / self.line * self.gap
    }

    #[inline]
    fn digit(&self, digit: usize) -> Option<u8> {
        work::looked_at(1);
        let at = self.place(digit);
        if self.gap > 0 && digit > 0 && digit.is_multiple_of(self.line) {
            let between = self.bytes.get(at - self.gap..at)?;
            if !matches!(between, b"\n" | b"\r\n") {
                return None;
            }
        }
        let byte = *self.bytes.get(at)?;
        match self.base {
            Base::Sixteen => char::from(byte).to_digit(16).and_then(|n| u8::try_from(n).ok()),
            Base::SixtyFour => sextet(byte),
        }
    }

    /// The first decoded bytes, if text may start with the first two.
    fn head(&self) -> Option<[u8; FEWEST]> {
        let mut head = [0; FEWEST];
        let quick = self.bytes.get(self.start..self.start + 3).filter(|_| self.gap == 0);
        if let (Some([a, b, c]), Base::SixtyFour) = (quick, self.base) {
            work::looked_at(3);
            let (a, b, c) = (sextet(*a)?, sextet(*b)?, sextet(*c)?);
            if !may_start_text(a << 2 | b >> 4, b << 4 | c >> 2) {
                return None;
            }
        } else if !may_start_text(self.byte(0)?, self.byte(1)?) {
            return None;
        }
        for (at, byte) in head.iter_mut().enumerate() {
            *byte = self.byte(at)?;
        }
        Some(head)
    }

    /// The decoded byte with this number.
    fn byte(&self, at: usize) -> Option<u8> {
        let (first, high, low) = match (self.base, at % 3) {
            (Base::Sixteen, _) => (2 * at, 4, 0),
            (Base::SixtyFour, 0) => (at / 3 * 4, 2, 4),
            (Base::SixtyFour, 1) => (at / 3 * 4 + 1, 4, 2),
            (Base::SixtyFour, _) => (at / 3 * 4 + 2, 6, 0),
        };
        let (a, b) = (self.digit(first)?, self.digit(first + 1)?);
        Some((a << high) | (b >> low))
    }

    /// The input behind these decoded bytes, in whole groups.
    fn input(&self, bytes: Range<usize>) -> Range<usize> {
        let last = bytes.end.saturating_sub(1);
        let (first, mut last) = match self.base {
            Base::Sixteen => (2 * bytes.start, 2 * last + 1),
            Base::SixtyFour => (bytes.start / 3 * 4, last / 3 * 4 + 3),
        };
        // The last group may be short: a byte of it needs two digits, two bytes need three.
        let needed = match self.base {
            Base::Sixteen => last,
            Base::SixtyFour => last - 2 + (bytes.end - 1) % 3,
        };
        while last > needed && self.digit(last).is_none() {
            last -= 1;
        }
        self.place(first)..self.place(last) + 1
    }
}

/// Replaces the digits from the start of the source on, as far as they hold text. Returns the end
/// of that.
fn decode(source: &Source<'_>, edits: &mut Edits) -> Option<usize> {
    // Most runs hold no text, and nearly all of them show it in the first bytes.
    let head = source.head()?;
    if !may_be_text(&head) {
        return None;
    }
    let first: Vec<u8> = (0..FIRST).map_while(|at| source.byte(at)).collect();
    let index = wide(&first);
    let text = match index {
        Some(index) => narrow(source, index),
        None => plain(source, first)?,
    };
    if !is_convincing(&text) {
        return None;
    }
    let (group, digits) = match source.base {
        Base::Sixteen => (1, 2),
        Base::SixtyFour => (3, 4),
    };
    let start = source.place(0);
    let (mut at, mut end) = (0, start);
    while at < text.len() {
        let (to, input, digits) = match index {
            Some(_) => (at + 1, source.input(2 * at..2 * at + 2), 1),
            None => {
                let to = (at + group).min(text.len());
                (to, source.input(at..to), digits)
            }
        };
        end = input.end;
        let shape = Shape::packed(if index.is_some() { 1 } else { group }, input.len().max(digits));
        edits.source(input, to - at, shape);
        at = to;
    }
    edits.put(&text);
    if source.base == Base::SixtyFour {
        let rest = source.bytes.get(end..).unwrap_or_default();
        end += rest.iter().take(2).take_while(|b| **b == b'=').count();
        edits.stretch(end);
        edits.close(start..end, Layer::Base64);
    } else {
        edits.close(start..end, Layer::Hex);
    }
    Some(end)
}

/// The UTF-8 text that starts the decoded bytes, of which the first are given.
fn plain(source: &Source<'_>, mut bytes: Vec<u8>) -> Option<String> {
    let mut good = 0;
    loop {
        let fresh = bytes.get(good..)?;
        let (valid, stop) = match std::str::from_utf8(fresh) {
            Ok(_) => (fresh.len(), false),
            Err(error) => (error.valid_up_to(), error.error_len().is_some()),
        };
        let odd = fresh.iter().take(valid).filter(|b| is_odd(**b)).count();
        if odd * 8 > valid {
            break;
        }
        good += valid;
        let before = bytes.len();
        if stop || good < FEWEST.min(before) {
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

/// Whether this is text and no accident. A few random bytes often are valid UTF-8; more are not.
fn is_convincing(text: &str) -> bool {
    let plain = || text.bytes().filter(|b| is_ascii_text(*b)).count() * 4 >= text.len() * 3;
    let odd = || text.bytes().any(is_odd);
    text.len() >= FEWEST && (text.len() >= CONVINCING || (plain() && !odd()))
}

/// Whether a character, or one of two bytes with a zero in it, could start with these bytes.
fn may_start_text(first: u8, second: u8) -> bool {
    match first {
        0 => is_ascii_text(second),
        0xc2..=0xf4 => second & 0xc0 == 0x80,
        _ => first.is_ascii() && !(0x80..0xc2).contains(&second),
    }
}

/// Whether text could start with these bytes.
fn may_be_text(head: &[u8; FEWEST]) -> bool {
    if head.contains(&0) {
        // Perhaps two bytes for each character.
        return true;
    }
    let whole = std::str::from_utf8(head).map_or_else(|e| e.error_len().is_none(), |_| true);
    whole && head.iter().filter(|b| is_odd(**b)).count() <= 1
}

/// A control character that text does not have.
pub(super) fn is_odd(byte: u8) -> bool {
    byte.is_ascii_control() && !matches!(byte, b'\t' | b'\n' | b'\r')
}

fn is_ascii_text(byte: u8) -> bool {
    byte.is_ascii() && !is_odd(byte)
}

/// Whether these bytes are ASCII in two bytes each: the index of the one with the character.
fn wide(first: &[u8]) -> Option<usize> {
    let fits = |index: usize| {
        first.chunks_exact(2).all(|pair| {
            pair.get(index).copied().is_some_and(is_ascii_text) && pair.get(1 - index) == Some(&0)
        })
    };
    if first.len() < FEWEST {
        return None;
    }
    [0, 1].into_iter().find(|index| fits(*index))
}

/// The text of which each character takes two decoded bytes.
fn narrow(source: &Source<'_>, index: usize) -> String {
    (0..)
        .map_while(|at| {
            let filler = source.byte(2 * at + 1 - index)?;
            source.byte(2 * at + index).filter(|b| filler == 0 && is_ascii_text(*b))
        })
        .map(char::from)
        .collect()
}
