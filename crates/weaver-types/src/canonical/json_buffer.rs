//! An append-only output buffer for JSON. The hot paths reserve space once per string and write
//! through a slice, without a capacity check per byte.

use std::ops::{Range, RangeBounds};

use super::unescaped_text::{copy_plain_ascii, plain_prefix_len};
use crate::id::hex_pair;

/// The smallest number with more than eight digits.
const EIGHT_DIGITS: u64 = 100_000_000;
/// The ASCII digit zero in each of eight bytes.
const ASCII_ZEROS: u64 = u64::from_ne_bytes([b'0'; 8]);

/// How many bytes of a string are examined at once.
const WORD: usize = 8;

/// A growing JSON text. The free space after the written part consists of initialised bytes, so a
/// whole string with its quotes is written into one reserved slice instead of being pushed byte by
/// byte.
///
/// ```
/// use weaver_types::canonical::JsonBuffer;
///
/// let mut json = JsonBuffer::with_capacity(64);
/// json.write_member_name(b'{', "a");
/// json.write_string("a \"b\"");
/// json.write_member_name(b',', "n");
/// json.write_integer(7);
/// json.push(b'}');
/// assert_eq!(json.into_vec(), br#"{"a":"a \"b\"","n":7}"#);
/// ```
#[derive(Debug)]
pub struct JsonBuffer {
    /// The written bytes, up to `len`, followed by free space.
    bytes: Vec<u8>,
    len: usize,
}

impl JsonBuffer {
    /// An empty buffer with a capacity in bytes.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self { bytes: vec![0; capacity], len: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Part of the written bytes.
    pub(super) fn get(&self, range: impl RangeBounds<usize>) -> Option<&[u8]> {
        let written = self.bytes.get(..self.len)?;
        written.get((range.start_bound().cloned(), range.end_bound().cloned()))
    }

    /// Discards everything written from `len` on.
    pub(super) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// The written bytes.
    #[must_use]
    pub fn into_vec(mut self) -> Vec<u8> {
        self.bytes.truncate(self.len);
        self.bytes
    }

    /// Reserves the next `count` bytes; `None` when they do not fit into the current allocation.
    #[inline(always)]
    fn reserve_within_capacity(&mut self, count: usize) -> Option<&mut [u8]> {
        let target = self.bytes.get_mut(self.len..)?.get_mut(..count)?;
        self.len += count;
        Some(target)
    }

    /// As above, but grows the allocation when needed.
    #[inline(always)]
    fn reserve(&mut self, count: usize) -> &mut [u8] {
        if self.bytes.len() - self.len < count {
            self.grow_by(count);
        }
        self.reserve_within_capacity(count).unwrap_or_default()
    }

    #[cold]
    #[inline(never)]
    fn grow_by(&mut self, count: usize) {
        self.bytes.resize((self.len + count).max(self.bytes.len() * 2), 0);
    }

    /// Appends one byte.
    pub fn push(&mut self, byte: u8) {
        if let [target] = self.reserve(1) {
            *target = byte;
        }
    }

    /// Appends bytes without escaping.
    #[inline(always)]
    pub fn write_raw(&mut self, word: &[u8]) {
        self.reserve(word.len()).copy_from_slice(word);
    }

    /// Appends an unsigned integer.
    pub fn write_integer(&mut self, value: u64) {
        if let 0..10 = value {
            return self.push(b'0' + u8::try_from(value).unwrap_or(0));
        }
        if value >= EIGHT_DIGITS {
            self.write_integer(value / EIGHT_DIGITS);
            return self
                .write_raw(&(eight_digits(value % EIGHT_DIGITS) | ASCII_ZEROS).to_le_bytes());
        }
        let digits = eight_digits(value);
        // The first digits are in the lowest bytes; leading zeros are shifted out.
        let zeros = digits.trailing_zeros() / 8;
        self.write_raw(&((digits | ASCII_ZEROS) >> (8 * zeros)).to_le_bytes());
        self.len -= zeros as usize;
    }

    /// Appends a string in quotes, with escapes where JSON needs them.
    #[inline(always)]
    pub fn write_string(&mut self, text: &str) {
        let (text, start) = (text.as_bytes(), self.len);
        if let Some([open, target @ .., close]) = self.reserve_within_capacity(text.len() + 2) {
            (*open, *close) = (b'"', b'"');
            if copy_plain_ascii(text, target).is_some() {
                return;
            }
        }
        self.len = start;
        self.write_escaped_string(text);
    }

    /// The slow path of a string: it contains bytes that may need an escape, or the buffer must
    /// grow.
    #[cold]
    #[inline(never)]
    fn write_escaped_string(&mut self, mut text: &[u8]) {
        self.push(b'"');
        loop {
            let room = self.reserve(2 * text.len() + WORD);
            let (rest, left) = write_short_escapes(text, room);
            self.len -= left;
            match rest {
                [byte, rest @ ..] => {
                    self.write_raw(b"\\u00");
                    self.write_raw(&hex_pair(*byte));
                    text = rest;
                }
                [] => break,
            }
        }
        self.push(b'"');
    }

    /// Appends the start of an object member: `lead` (a brace or a comma), the name in quotes, a
    /// colon.
    pub fn write_member_name(&mut self, lead: u8, name: &str) {
        let start = self.len;
        if self.write_plain_member_name(lead, name.as_bytes()).is_none() {
            self.len = start;
            self.push(lead);
            self.write_string(name);
            self.push(b':');
        }
    }

    /// Appends `lead`, the name in quotes and a colon. Returns the sort prefix of the name, or
    /// `None` when a byte of the name may need an escape or the buffer must grow.
    #[inline(always)]
    pub(super) fn write_plain_member_name(&mut self, lead: u8, name: &[u8]) -> Option<u64> {
        let [first, open, target @ .., close, colon] =
            self.reserve_within_capacity(name.len() + 4)?
        else {
            return None;
        };
        (*first, *open, *close, *colon) = (lead, b'"', b'"', b':');
        copy_plain_ascii(name, target)
    }

    /// Sorts the members that make up everything written from `start` on. `parts` gives them in the
    /// new order, each as its range without the brace or comma in front.
    pub(super) fn reorder_members(
        &mut self,
        start: usize,
        parts: impl Iterator<Item = Range<usize>>,
    ) -> Option<()> {
        let end = self.len;
        self.reserve(end - start);
        self.len = end;
        let (written, room) = self.bytes.split_at_mut_checked(end)?;
        let mut target = written.get_mut(start..)?;
        let copy = room.get_mut(..target.len())?;
        copy.copy_from_slice(target);
        let mut lead = b'{';
        for part in parts {
            let part = copy.get(part.start - start..part.end - start)?;
            let [before, rest @ ..] = target else { return None };
            *before = lead;
            let (this, after) = rest.split_at_mut_checked(part.len())?;
            this.copy_from_slice(part);
            (target, lead) = (after, b',');
        }
        Some(())
    }
}

/// The eight decimal digits of a number, the first in the lowest byte. It splits the number into
/// halves, pairs and digits in parallel lanes of one word (SWAR). Each division is a multiplication
/// and a shift, which is exact for numbers this small.
fn eight_digits(value: u64) -> u64 {
    let halves = (value / 10_000) | ((value % 10_000) << 32);
    let hundreds = ((halves * 10_486) >> 20) & 0x0000_007f_0000_007f;
    let pairs = hundreds | ((halves - hundreds * 100) << 16);
    let tens = ((pairs * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | ((pairs - tens * 10) << 8)
}

/// Copies a string with its two-byte escapes, up to the first byte that needs a `\u00XX` escape.
/// Returns the rest of the string and how many reserved bytes are unused.
fn write_short_escapes<'t>(mut text: &'t [u8], mut places: &mut [u8]) -> (&'t [u8], usize) {
    while !text.is_empty() {
        let word = text.first_chunk().copied().unwrap_or_else(|| pad_to_word(text));
        // The whole word is written; bytes after its plain prefix are overwritten later.
        let Some(target) = places.first_chunk_mut() else { break };
        *target = word;
        let plain = plain_prefix_len(word).min(text.len());
        text = text.get(plain..).unwrap_or_default();
        places = std::mem::take(&mut places).get_mut(plain..).unwrap_or_default();
        if plain == WORD {
            continue;
        }
        let Some((byte, rest)) = text.split_first() else { break };
        let Some(escape_letter) = escape_letter(*byte) else { break };
        let Some((target, left)) = std::mem::take(&mut places).split_first_chunk_mut() else {
            break;
        };
        *target = [b'\\', escape_letter];
        (text, places) = (rest, left);
    }
    (text, places.len())
}

/// Up to seven bytes, padded with spaces to a word.
fn pad_to_word(bytes: &[u8]) -> [u8; WORD] {
    let mut word = [b' '; WORD];
    word.iter_mut().zip(bytes).for_each(|(target, byte)| *target = *byte);
    word
}

/// The letter after the backslash in the two-byte escape of a byte.
fn escape_letter(byte: u8) -> Option<u8> {
    match byte {
        b'"' | b'\\' => Some(byte),
        0x08 => Some(b'b'),
        0x09 => Some(b't'),
        0x0a => Some(b'n'),
        0x0c => Some(b'f'),
        0x0d => Some(b'r'),
        _ => None,
    }
}
