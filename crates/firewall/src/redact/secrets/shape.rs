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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_counted_by_its_characters_and_their_borders() {
        // Digits, letters, borders between them, odd capitals, different ones, consonants in a row.
        for (token, counts) in [
            ("", (0, 0, 0, 0, 0, 0)),
            ("a1b2", (2, 2, 3, 0, 4, 1)),
            ("12-ab", (2, 2, 0, 0, 5, 1)),
            ("aBc", (0, 3, 0, 0, 3, 1)),
            ("aB9", (1, 2, 1, 1, 3, 0)),
            ("xQZ", (0, 3, 0, 1, 3, 1)),
            ("xQxQ", (0, 4, 0, 1, 2, 1)),
            ("bcdfa", (0, 5, 0, 0, 5, 4)),
            ("bcdyfg", (0, 6, 0, 0, 6, 3)),
            ("bcBdfg", (0, 6, 0, 0, 6, 3)),
            ("aaaa", (0, 4, 0, 0, 1, 0)),
        ] {
            let Shape { digits, letters, turns, odd, distinct, row, len, .. } =
                Shape::of(token.as_bytes());
            assert_eq!((digits, letters, turns, odd, distinct, row), counts, "{token}");
            assert_eq!(len, token.len());
        }
        for (token, hex) in
            [("dead01", true), ("DEAD01", true), ("deaD01", false), ("dead0g", false), ("", true)]
        {
            assert_eq!(Shape::of(token.as_bytes()).hex, hex, "{token}");
        }
    }

    #[test]
    fn a_token_is_random_where_no_word_a_name_or_a_version_is_like_it() {
        for (token, random) in [
            // Hexadecimal digits turn from letters to digits four times, three where they are few.
            ("a1b2c3d4e5f60718", true),
            ("abcdef0123456789", false),
            ("abc012def345aaa6", true),
            ("abc012def3456789", false),
            ("abc012def34567", true),
            ("abcd0123ef", false),
            ("a1a1a1a1a1a1a1a1", false),
            // Others have a border or an odd capital in nine characters.
            ("q8Vn2LmZ7rKd", true),
            ("userToken12", false),
            ("qwertyuiopasdfghjklzxcvbnm123", false),
            // Letters alone are many and make no words.
            ("xQZBtRWQlMNPvCXKjHGF", true),
            ("xqzbtrwqlmnpvcxkjhgf", true),
            ("xqzbtrwqlmnpvcxkjhg", false),
            ("informationalservices", false),
            ("12345678901234567890", false),
        ] {
            assert_eq!(Shape::of(token.as_bytes()).random(), random, "{token}");
        }
    }

    #[test]
    fn a_uuid_has_its_hyphens_in_their_places() {
        for (token, is_one) in [
            ("123e4567-e89b-12d3-a456-426614174000", true),
            ("123e4567-e89b-12d3-a456-42661417400", false),
            ("123e4567-e89b-12d3-a456-4266141740001", false),
            ("123e4567ae89b-12d3-a456-426614174000", false),
            ("123e4567-e89b-12d3-a456-42661417400g", false),
        ] {
            assert_eq!(is_uuid(token.as_bytes()), is_one, "{token}");
        }
    }
}
