//! Decodes separated pairs of hexadecimal digits: `6a 61 6e`, `6a:61:6e`, `0x6a, 0x61`.

use std::ops::Range;

use super::decoded_runs::{MIN_TEXT, is_control};
use super::edit::Edits;
use super::encoded_runs::{HEX, SEPARATOR};
use super::layer::Layer;
use super::map::Shape;
use super::web::number;
use crate::byte_classes::ByteClassBitmaps;
use crate::work;

/// A run of pairs that encodes text.
pub(super) struct PairRun {
    pub(super) span: Range<usize>,
    text: String,
    form: PairFormat,
}

/// The notation of the pairs of a run, the same for all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PairFormat {
    prefix: usize,
    between: usize,
    sign: u8,
}

impl PairFormat {
    /// The distance from one pair to the next.
    fn step(self) -> usize {
        self.prefix + 2 + self.between
    }
}

impl PairRun {
    /// Replaces the pairs with the text.
    pub(super) fn replace_in(&self, edits: &mut Edits) {
        let width = self.form.prefix + 2;
        for at in 0..self.text.len() {
            let start = self.span.start + at * self.form.step();
            edits.add_source(start..start + width, 1, Shape::packed(1, width));
        }
        edits.push_text(&self.text);
        edits.close(self.span.clone(), Layer::Hex);
    }
}

/// The first run of pairs in `range` that encodes text.
pub(super) fn next_run(
    bytes: &[u8],
    bitmaps: &ByteClassBitmaps,
    range: Range<usize>,
) -> Option<PairRun> {
    let bytes = bytes.get(..range.end)?;
    // Two digits and a separator, with the same again 3 to 8 bytes later.
    let starts = bitmaps.positions_where(range.clone(), |near| {
        let digits = near.class_bits(HEX);
        let pairs = digits & digits >> 1 & near.class_bits(SEPARATOR) >> 2;
        pairs & (3..=8).fold(0, |any, step| any | pairs >> step)
    });
    let mut floor = range.start;
    for at in starts {
        if at >= floor && has_two_more_pairs(bytes, at) {
            match read_run(bytes, at, floor) {
                Ok(found) => return Some(found),
                // Keeps the search linear: rejected bytes are not read again.
                Err(end) => floor = end.max(at + 1),
            }
        }
    }
    None
}

/// Two digits followed by a separator.
fn is_pair(three: &[u8]) -> bool {
    matches!(three, [a, b, sign] if is_separator(*sign) && a.is_ascii_hexdigit() && b.is_ascii_hexdigit())
}

/// Whether two more pairs of the same notation follow the one at `at`, which dates and times do
/// not have. The last pairs of a run fail, but an earlier pair of it was tried first.
fn has_two_more_pairs(bytes: &[u8], at: usize) -> bool {
    let Some(sign) = bytes.get(at + 2) else { return false };
    let next = |from: usize| {
        let gap = bytes.get(from..from + 4)?.iter().position(u8::is_ascii_hexdigit)?;
        let after = bytes.get(from..from + gap + 4).unwrap_or_default();
        let digits =
            if matches!(after.get(gap..gap + 2), Some(b"0x" | b"0X")) { gap + 2 } else { gap };
        let three = bytes.get(from + digits..from + digits + 3)?;
        (is_pair(three) && three.get(2) == Some(sign)).then_some(from + digits + 3)
    };
    next(at + 3).and_then(next).is_some()
}

/// True for a byte that may separate two pairs.
pub(super) fn is_separator(byte: u8) -> bool {
    matches!(byte, b' ' | b':' | b'-' | b',')
}

/// The run around the pair at `at`, from `floor` on; an error with its end if it encodes no text.
fn read_run(bytes: &[u8], at: usize, floor: usize) -> Result<PairRun, usize> {
    let Some(&sign) = bytes.get(at + 2) else { return Err(at) };
    let prefixed = at >= floor + 2 && matches!(bytes.get(at - 2..at), Some(b"0x" | b"0X"));
    let between = if sign == b',' && bytes.get(at + 3) == Some(&b' ') { 2 } else { 1 };
    let form = PairFormat { prefix: if prefixed { 2 } else { 0 }, between, sign };
    let mut start = at - form.prefix;
    while start >= floor + form.step() && pair_value(bytes, start - form.step(), form).is_some() {
        if bytes.get(start - form.between) != Some(&form.sign) {
            break;
        }
        start -= form.step();
    }
    let (mut text, mut end) = (Vec::new(), start);
    let mut next = start;
    while let Some(byte) = pair_value(bytes, next, form) {
        text.push(byte);
        end = next + form.prefix + 2;
        if bytes.get(end) != Some(&form.sign) {
            break;
        }
        next += form.step();
    }
    let valid = std::str::from_utf8(&text).map_or_else(|e| e.valid_up_to(), str::len);
    text.truncate(valid);
    let odd = text.iter().filter(|b| is_control(**b)).count();
    match String::from_utf8(text) {
        Ok(text) if valid >= MIN_TEXT && odd * 8 <= valid => {
            let last = start + (valid - 1) * form.step();
            Ok(PairRun { span: start..last + form.prefix + 2, text, form })
        }
        _ => Err(end),
    }
}

/// The value of the pair at `at`, if it has this notation.
fn pair_value(bytes: &[u8], at: usize, form: PairFormat) -> Option<u8> {
    work::add_steps(form.step());
    let digits = at + form.prefix;
    if form.prefix > 0 && !matches!(bytes.get(at..digits)?, b"0x" | b"0X") {
        return None;
    }
    if bytes.get(digits + 2).is_some_and(u8::is_ascii_alphanumeric) {
        return None;
    }
    number(bytes.get(digits..digits + 2)?, 16).and_then(|n| u8::try_from(n).ok())
}
