//! Bytes in the making.

use std::ops::{Range, RangeBounds};

use super::unescaped_text::{copy, plain_bytes};
use crate::id::hex_pair;

/// A number of this size has more than eight digits.
const EIGHT_DIGITS: u64 = 100_000_000;
/// The digit zero in each byte.
const ZEROS: u64 = u64::from_ne_bytes([b'0'; 8]);

/// Bytes of a text that are looked at together.
const WORD: usize = 8;

/// JSON that grows at its end. The room ahead is there as bytes already, so that a text with its
/// quotes asks for its place once, where pushes onto a vector would ask for each byte.
///
/// ```
/// use weaver_types::canonical::Buffer;
///
/// let mut json = Buffer::with_room(64);
/// json.member(b'{', "a");
/// json.text("a \"b\"");
/// json.member(b',', "n");
/// json.number(7);
/// json.push(b'}');
/// assert_eq!(json.into_vec(), br#"{"a":"a \"b\"","n":7}"#);
/// ```
#[derive(Debug)]
pub struct Buffer {
    /// What is written, up to `len`, and room.
    bytes: Vec<u8>,
    len: usize,
}

impl Buffer {
    /// An empty buffer with a capacity in bytes.
    #[must_use]
    pub fn with_room(room: usize) -> Self {
        Self { bytes: vec![0; room], len: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// A part of what was written.
    pub(super) fn get(&self, range: impl RangeBounds<usize>) -> Option<&[u8]> {
        let written = self.bytes.get(..self.len)?;
        written.get((range.start_bound().cloned(), range.end_bound().cloned()))
    }

    /// Takes back what was written from `len` on.
    pub(super) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// What was written.
    #[must_use]
    pub fn into_vec(mut self) -> Vec<u8> {
        self.bytes.truncate(self.len);
        self.bytes
    }

    /// The place of the next bytes; nothing where there is no room for them.
    #[inline(always)]
    fn claim(&mut self, count: usize) -> Option<&mut [u8]> {
        let place = self.bytes.get_mut(self.len..)?.get_mut(..count)?;
        self.len += count;
        Some(place)
    }

    /// The same, with room made where there is none.
    #[inline(always)]
    fn place(&mut self, count: usize) -> &mut [u8] {
        if self.bytes.len() - self.len < count {
            self.grow(count);
        }
        self.claim(count).unwrap_or_default()
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, count: usize) {
        self.bytes.resize((self.len + count).max(self.bytes.len() * 2), 0);
    }

    /// Writes a byte.
    pub fn push(&mut self, byte: u8) {
        if let [place] = self.place(1) {
            *place = byte;
        }
    }

    /// Writes bytes as they are.
    #[inline(always)]
    pub fn word(&mut self, word: &[u8]) {
        self.place(word.len()).copy_from_slice(word);
    }

    /// Writes a number without a sign.
    pub fn number(&mut self, value: u64) {
        if let 0..10 = value {
            return self.push(b'0' + u8::try_from(value).unwrap_or(0));
        }
        if value >= EIGHT_DIGITS {
            self.number(value / EIGHT_DIGITS);
            return self.word(&(digits(value % EIGHT_DIGITS) | ZEROS).to_le_bytes());
        }
        let digits = digits(value);
        // The first digits are in the lowest bytes, and those that are zero are not written.
        let zeros = digits.trailing_zeros() / 8;
        self.word(&((digits | ZEROS) >> (8 * zeros)).to_le_bytes());
        self.len -= zeros as usize;
    }

    /// Writes a text with its quotes, and escapes what does not stand for itself between them.
    #[inline(always)]
    pub fn text(&mut self, text: &str) {
        let (text, start) = (text.as_bytes(), self.len);
        if let Some([open, place @ .., close]) = self.claim(text.len() + 2) {
            (*open, *close) = (b'"', b'"');
            if copy(text, place).is_some() {
                return;
            }
        }
        self.len = start;
        self.escape(text);
    }

    /// Writes a text of which not every byte may stand for itself, or for which there is no room yet.
    #[cold]
    #[inline(never)]
    fn escape(&mut self, mut text: &[u8]) {
        self.push(b'"');
        loop {
            let room = self.place(2 * text.len() + WORD);
            let (rest, left) = escape_shortly(text, room);
            self.len -= left;
            match rest {
                [byte, rest @ ..] => {
                    self.word(b"\\u00");
                    self.word(&hex_pair(*byte));
                    text = rest;
                }
                [] => break,
            }
        }
        self.push(b'"');
    }

    /// Writes what begins a member of an object: `lead`, the name in quotes, a colon.
    pub fn member(&mut self, lead: u8, name: &str) {
        let start = self.len;
        if self.name(lead, name.as_bytes()).is_none() {
            self.len = start;
            self.push(lead);
            self.text(name);
            self.push(b':');
        }
    }

    /// Writes what begins a member: `lead`, the name in quotes, a colon. Gives the head of the name;
    /// nothing where a byte of it may not stand for itself, or where there is no room yet.
    #[inline(always)]
    pub(super) fn name(&mut self, lead: u8, name: &[u8]) -> Option<u64> {
        let [first, open, place @ .., close, colon] = self.claim(name.len() + 4)? else {
            return None;
        };
        (*first, *open, *close, *colon) = (lead, b'"', b'"', b':');
        copy(name, place)
    }

    /// Brings the members that are all of what was written from `start` on into the order of `parts`,
    /// which say where each stands after the brace or the comma before it.
    pub(super) fn reorder(
        &mut self,
        start: usize,
        parts: impl Iterator<Item = Range<usize>>,
    ) -> Option<()> {
        let end = self.len;
        self.place(end - start);
        self.len = end;
        let (written, room) = self.bytes.split_at_mut_checked(end)?;
        let mut place = written.get_mut(start..)?;
        let copy = room.get_mut(..place.len())?;
        copy.copy_from_slice(place);
        let mut lead = b'{';
        for part in parts {
            let part = copy.get(part.start - start..part.end - start)?;
            let [before, rest @ ..] = place else { return None };
            *before = lead;
            let (this, after) = rest.split_at_mut_checked(part.len())?;
            this.copy_from_slice(part);
            (place, lead) = (after, b',');
        }
        Some(())
    }
}

/// The eight digits of a number, the first in the lowest byte. It is taken apart into halves, into
/// pairs, and into digits, side by side; a division is a multiplication and a shift, exact for
/// numbers so small.
fn digits(value: u64) -> u64 {
    let halves = (value / 10_000) | ((value % 10_000) << 32);
    let hundreds = ((halves * 10_486) >> 20) & 0x0000_007f_0000_007f;
    let pairs = hundreds | ((halves - hundreds * 100) << 16);
    let tens = ((pairs * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | ((pairs - tens * 10) << 8)
}

/// Writes a text as it stands between quotes, up to the first byte of which not even an escape is
/// short. Gives the rest of the text, and how many places are left.
fn escape_shortly<'t>(mut text: &'t [u8], mut places: &mut [u8]) -> (&'t [u8], usize) {
    while !text.is_empty() {
        let word = text.first_chunk().copied().unwrap_or_else(|| padded(text));
        // The whole word is written, and what comes after its plain bytes is written over.
        let Some(place) = places.first_chunk_mut() else { break };
        *place = word;
        let plain = plain_bytes(word).min(text.len());
        text = text.get(plain..).unwrap_or_default();
        places = std::mem::take(&mut places).get_mut(plain..).unwrap_or_default();
        if plain == WORD {
            continue;
        }
        let Some((byte, rest)) = text.split_first() else { break };
        let Some(letter) = letter(*byte) else { break };
        let Some((place, left)) = std::mem::take(&mut places).split_first_chunk_mut() else {
            break;
        };
        *place = [b'\\', letter];
        (text, places) = (rest, left);
    }
    (text, places.len())
}

/// Few bytes with blanks after them.
fn padded(bytes: &[u8]) -> [u8; WORD] {
    let mut word = [b' '; WORD];
    word.iter_mut().zip(bytes).for_each(|(place, byte)| *place = *byte);
    word
}

/// What follows the backslash in the short escape of a byte.
fn letter(byte: u8) -> Option<u8> {
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
