//! Random access to the bytes that a run of base64 or hexadecimal digits encodes.

use std::ops::Range;

use super::decoded_runs::{MIN_TEXT, may_start_text};
use crate::work;

/// The value of each base64 digit of both alphabets; 64 for any other byte.
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

pub(super) fn sextet(byte: u8) -> Option<u8> {
    SEXTETS.get(usize::from(byte)).copied().filter(|s| *s < 64)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Hex,
    Base64,
}

/// Digits from `start` on. If a line break follows them, further lines belong to the same run as
/// long as every line but the last is as long as the first.
pub(super) struct DigitRun<'a> {
    pub(super) bytes: &'a [u8],
    start: usize,
    pub(super) encoding: Encoding,
    /// Digits in each line.
    line_len: usize,
    /// Bytes in each line break; 0 if there is none.
    line_break_len: usize,
    /// Decoded bytes that are left out at the beginning.
    skipped_bytes: usize,
}

impl<'a> DigitRun<'a> {
    pub(super) fn new(bytes: &'a [u8], start: usize, end: usize, encoding: Encoding) -> Self {
        let line_break_len = match bytes.get(end..) {
            Some([b'\n', next, ..]) if sextet(*next).is_some() => 1,
            Some([b'\r', b'\n', next, ..]) if sextet(*next).is_some() => 2,
            _ => 0,
        };
        let line_len =
            if line_break_len == 0 { usize::MAX } else { end.saturating_sub(start).max(1) };
        Self { bytes, start, encoding, line_len, line_break_len, skipped_bytes: 0 }
    }

    /// The same run without its first decoded bytes.
    pub(super) fn skipping(self, bytes: usize) -> Self {
        Self { skipped_bytes: bytes, ..self }
    }

    /// How many decoded bytes end the group of digits in which the byte with this index lies.
    pub(super) fn bytes_to_group_end(&self, at: usize) -> usize {
        let group = match self.encoding {
            Encoding::Hex => 1,
            Encoding::Base64 => 3,
        };
        group - (at + self.skipped_bytes) % group
    }

    /// The position of the digit with this index.
    #[inline]
    pub(super) fn position(&self, digit: usize) -> usize {
        if self.line_break_len == 0 {
            return self.start + digit;
        }
        self.start + digit + digit / self.line_len * self.line_break_len
    }

    #[inline]
    fn digit(&self, digit: usize) -> Option<u8> {
        work::add_steps(1);
        let at = self.position(digit);
        if self.line_break_len > 0 && digit > 0 && digit.is_multiple_of(self.line_len) {
            let between = self.bytes.get(at - self.line_break_len..at)?;
            if !matches!(between, b"\n" | b"\r\n") {
                return None;
            }
        }
        let byte = *self.bytes.get(at)?;
        match self.encoding {
            Encoding::Hex => char::from(byte).to_digit(16).and_then(|n| u8::try_from(n).ok()),
            Encoding::Base64 => sextet(byte),
        }
    }

    /// The first decoded bytes, or `None` if text cannot start with them.
    pub(super) fn head(&self) -> Option<[u8; MIN_TEXT]> {
        let mut head = [0; MIN_TEXT];
        let quick = self
            .bytes
            .get(self.start..self.start + 3)
            .filter(|_| self.line_break_len + self.skipped_bytes == 0);
        if let (Some([a, b, c]), Encoding::Base64) = (quick, self.encoding) {
            work::add_steps(3);
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

    /// The decoded byte with this index.
    pub(super) fn byte(&self, at: usize) -> Option<u8> {
        let at = at + self.skipped_bytes;
        let (first, high, low) = match (self.encoding, at % 3) {
            (Encoding::Hex, _) => (2 * at, 4, 0),
            (Encoding::Base64, 0) => (at / 3 * 4, 2, 4),
            (Encoding::Base64, 1) => (at / 3 * 4 + 1, 4, 2),
            (Encoding::Base64, _) => (at / 3 * 4 + 2, 6, 0),
        };
        let (a, b) = (self.digit(first)?, self.digit(first + 1)?);
        Some((a << high) | (b >> low))
    }

    /// The input that encodes these decoded bytes, extended to whole groups of digits.
    pub(super) fn input_range(&self, bytes: Range<usize>) -> Range<usize> {
        let bytes = bytes.start + self.skipped_bytes..bytes.end + self.skipped_bytes;
        let last = bytes.end.saturating_sub(1);
        let (first, mut last) = match self.encoding {
            Encoding::Hex => (2 * bytes.start, 2 * last + 1),
            Encoding::Base64 => (bytes.start / 3 * 4, last / 3 * 4 + 3),
        };
        // The last group may be short: one byte of it needs two digits, two bytes need three.
        let needed = match self.encoding {
            Encoding::Hex => last,
            Encoding::Base64 => last - 2 + (bytes.end - 1) % 3,
        };
        while last > needed && self.digit(last).is_none() {
            last -= 1;
        }
        self.position(first)..self.position(last) + 1
    }
}
