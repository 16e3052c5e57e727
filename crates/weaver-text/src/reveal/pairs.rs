//! Hexadecimal digits in pairs: `6a 61 6e`, `6a:61:6e`, `0x6a, 0x61`.

use std::ops::Range;

use super::decoded_runs::{MIN_TEXT, is_control};
use super::edit::Edits;
use super::encoded_runs::{BETWEEN, HEX};
use super::layer::Layer;
use super::map::Shape;
use super::web::number;
use super::work;
use crate::byte_classes::ByteClassBitmaps;

/// A stretch of pairs that holds text.
pub(super) struct PairRun {
    pub(super) span: Range<usize>,
    text: String,
    form: Form,
}

/// How the pairs of a stretch are written, alike for all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Form {
    prefix: usize,
    between: usize,
    sign: u8,
}

impl Form {
    /// Bytes from one pair to the next.
    fn step(self) -> usize {
        self.prefix + 2 + self.between
    }
}

impl PairRun {
    /// Replaces the pairs by the text.
    pub(super) fn put(&self, edits: &mut Edits) {
        let width = self.form.prefix + 2;
        for at in 0..self.text.len() {
            let start = self.span.start + at * self.form.step();
            edits.source(start..start + width, 1, Shape::packed(1, width));
        }
        edits.put(&self.text);
        edits.close(self.span.clone(), Layer::Hex);
    }
}

/// The first stretch of pairs in `range` that holds text.
pub(super) fn next(bytes: &[u8], masks: &ByteClassBitmaps, range: Range<usize>) -> Option<PairRun> {
    let bytes = bytes.get(..range.end)?;
    // Two digits with a separator behind them, and again so near that it may be the next pair.
    let starts = masks.places_where(range.start, |near| {
        let digits = near.of(HEX);
        let pairs = digits & digits >> 1 & near.of(BETWEEN) >> 2;
        pairs & (3..=8).fold(0, |any, step| any | pairs >> step)
    });
    let mut floor = range.start;
    for at in starts.take_while(|at| *at < range.end) {
        if at >= floor && goes_on(bytes, at) {
            match stretch(bytes, at, floor) {
                Ok(found) => return Some(found),
                // What was read is not read again.
                Err(end) => floor = end.max(at + 1),
            }
        }
    }
    None
}

/// Two digits with a separator behind them.
fn is_pair(three: &[u8]) -> bool {
    matches!(three, [a, b, sign] if is_between(*sign) && a.is_ascii_hexdigit() && b.is_ascii_hexdigit())
}

/// Whether two more pairs follow the one at `at`, in the same form: a date or a time has fewer.
/// The last pairs of a stretch have none behind them; those before them were tried.
fn goes_on(bytes: &[u8], at: usize) -> bool {
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

/// True for what may stand between two pairs.
pub(super) fn is_between(byte: u8) -> bool {
    matches!(byte, b' ' | b':' | b'-' | b',')
}

/// The stretch with the pair of digits at `at`, not before `floor`; its end if it holds no text.
fn stretch(bytes: &[u8], at: usize, floor: usize) -> Result<PairRun, usize> {
    let Some(&sign) = bytes.get(at + 2) else { return Err(at) };
    let prefixed = at >= floor + 2 && matches!(bytes.get(at - 2..at), Some(b"0x" | b"0X"));
    let between = if sign == b',' && bytes.get(at + 3) == Some(&b' ') { 2 } else { 1 };
    let form = Form { prefix: if prefixed { 2 } else { 0 }, between, sign };
    let mut start = at - form.prefix;
    while start >= floor + form.step() && pair(bytes, start - form.step(), form).is_some() {
        if bytes.get(start - form.between) != Some(&form.sign) {
            break;
        }
        start -= form.step();
    }
    let (mut text, mut end) = (Vec::new(), start);
    let mut next = start;
    while let Some(byte) = pair(bytes, next, form) {
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

/// The value of the pair at `at`, if it stands alone in this form.
fn pair(bytes: &[u8], at: usize, form: Form) -> Option<u8> {
    work::looked_at(form.step());
    let digits = at + form.prefix;
    if form.prefix > 0 && !matches!(bytes.get(at..digits)?, b"0x" | b"0X") {
        return None;
    }
    if bytes.get(digits + 2).is_some_and(u8::is_ascii_alphanumeric) {
        return None;
    }
    number(bytes.get(digits..digits + 2)?, 16).and_then(|n| u8::try_from(n).ok())
}
