//! Estimates how random a token looks.

use super::byte;

/// Counts over a token.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Shape {
    pub(super) len: usize,
    pub(super) digits: usize,
    pub(super) letters: usize,
    /// Borders between a letter and a digit.
    pub(super) turns: usize,
    /// Capitals that begin no word: `aBc` has none, `aB9` and `xQZ` have one.
    pub(super) odd: usize,
    /// Different characters.
    pub(super) distinct: u32,
    /// The longest row of small consonants.
    pub(super) row: usize,
    /// Only hexadecimal digits, of one case.
    pub(super) hex: bool,
}

impl Shape {
    pub(super) fn of(token: &[u8]) -> Self {
        let mut shape = Self { len: token.len(), hex: true, ..Self::default() };
        let mut seen = 0_u128;
        let (mut low, mut high) = (false, false);
        let (mut last, mut row) = (0_u8, 0_usize);
        for (at, &this) in token.iter().enumerate() {
            seen |= 1 << (this & 127);
            let (digit, letter) = (this.is_ascii_digit(), this.is_ascii_alphabetic());
            shape.digits += usize::from(digit);
            shape.letters += usize::from(letter);
            let turned = digit && last.is_ascii_alphabetic() || letter && last.is_ascii_digit();
            shape.turns += usize::from(turned);
            shape.hex &= this.is_ascii_hexdigit();
            low |= this.is_ascii_lowercase();
            high |= this.is_ascii_uppercase();
            let begins = byte(token, at + 1).is_ascii_lowercase();
            let odd = this.is_ascii_uppercase() && last.is_ascii_lowercase() && !begins;
            shape.odd += usize::from(odd);
            row = if this.is_ascii_lowercase() && !b"aeiouy".contains(&this) { row + 1 } else { 0 };
            shape.row = shape.row.max(row);
            last = this;
        }
        shape.hex &= !(low && high);
        shape.distinct = seen.count_ones();
        shape
    }

    /// Letters and digits in no order that a word, a name or a version has.
    pub(super) fn random(&self) -> bool {
        let varied =
            self.distinct as usize >= (self.len / 3).clamp(6, if self.hex { 7 } else { 10 });
        let disorder = self.turns + self.odd;
        let mixed = self.digits > 0 && self.letters > 0;
        varied
            && match (mixed, self.hex) {
                (true, true) => {
                    self.turns >= 4 && self.len >= 16 || self.turns >= 3 && self.len < 16
                }
                (true, false) => disorder >= 3 && disorder * 9 >= self.len,
                (false, _) => self.digits == 0 && self.len >= 20 && self.is_babble(),
            }
    }
}

impl Shape {
    /// Letters that make no words.
    fn is_babble(&self) -> bool {
        self.odd * 8 >= self.len || self.letters == self.len && self.row >= 5
    }
}

/// True for `8-4-4-4-12` hexadecimal digits.
pub(super) fn is_uuid(token: &[u8]) -> bool {
    token.len() == 36
        && token.iter().enumerate().all(|(at, b)| match at {
            8 | 13 | 18 | 23 => *b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}
