//! Estimates how random a token looks.

use super::{byte_at, slice};

/// Statistics of a token.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct TokenStats {
    pub(super) len: usize,
    pub(super) digits: usize,
    pub(super) letters: usize,
    /// The number of changes between letters and digits.
    pub(super) letter_digit_transitions: usize,
    /// Capitals that begin no word: none in `aBc`, one in `aB9` and in `xQZ`.
    pub(super) irregular_capitals: usize,
    /// The number of different characters.
    pub(super) distinct: u32,
    /// The longest sequence of lower-case consonants.
    pub(super) consonant_run: usize,
    /// Only hexadecimal digits of one case.
    pub(super) is_hex: bool,
}

impl TokenStats {
    pub(super) fn of(token: &[u8]) -> Self {
        let mut shape = Self { len: token.len(), is_hex: true, ..Self::default() };
        let mut seen = 0_u128;
        let (mut has_lower, mut has_upper) = (false, false);
        let (mut last, mut row) = (0_u8, 0_usize);
        for (at, &this) in token.iter().enumerate() {
            seen |= 1 << (this & 127);
            let (digit, letter) = (this.is_ascii_digit(), this.is_ascii_alphabetic());
            shape.digits += usize::from(digit);
            shape.letters += usize::from(letter);
            let turned = digit && last.is_ascii_alphabetic() || letter && last.is_ascii_digit();
            shape.letter_digit_transitions += usize::from(turned);
            shape.is_hex &= this.is_ascii_hexdigit();
            has_lower |= this.is_ascii_lowercase();
            has_upper |= this.is_ascii_uppercase();
            let begins = byte_at(token, at + 1).is_ascii_lowercase();
            let odd = this.is_ascii_uppercase() && last.is_ascii_lowercase() && !begins;
            shape.irregular_capitals += usize::from(odd);
            row = if this.is_ascii_lowercase() && !b"aeiouy".contains(&this) { row + 1 } else { 0 };
            shape.consonant_run = shape.consonant_run.max(row);
            last = this;
        }
        shape.is_hex &= !(has_lower && has_upper);
        shape.distinct = seen.count_ones();
        shape
    }

    /// Letters and digits in an order that no word, name or version has.
    ///
    /// A random token has many different characters and often changes between letters, digits and
    /// cases; words and versions rarely do. The thresholds trade precision against recall, which
    /// `cargo xtask eval redaction` measures on labelled texts.
    pub(super) fn looks_random(&self) -> bool {
        let varied =
            self.distinct as usize >= (self.len / 3).clamp(6, if self.is_hex { 7 } else { 10 });
        let disorder = self.letter_digit_transitions + self.irregular_capitals;
        let mixed = self.digits > 0 && self.letters > 0;
        varied
            && match (mixed, self.is_hex) {
                (true, true) => {
                    self.letter_digit_transitions >= 4 && self.len >= 16
                        || self.letter_digit_transitions >= 3 && self.len < 16
                }
                (true, false) => disorder >= 3 && disorder * 9 >= self.len,
                (false, _) => self.digits == 0 && self.len >= 20 && self.is_gibberish(),
            }
    }

    /// Letters that form no words.
    fn is_gibberish(&self) -> bool {
        self.irregular_capitals * 8 >= self.len
            || self.letters == self.len && self.consonant_run >= 5
    }
}

/// True for at least sixteen characters in no order, which are no hash and no identifier.
pub(crate) fn is_random_token(token: &[u8]) -> bool {
    let shape = TokenStats::of(token);
    shape.len >= 16 && shape.looks_random() && !shape.is_hex && !is_uuid(token) && !is_dated(token)
}

/// True for a date, possibly followed by a time or a short word: `2026-11-27T08:14`, `20261127T081422Z`.
pub(crate) fn is_dated(raw: &[u8]) -> bool {
    let are_digits = |at: usize, len: usize| {
        slice(raw, at..at + len).iter().filter(|b| b.is_ascii_digit()).count() == len
    };
    let is_basic = byte_at(raw, 8) == b'T' && are_digits(0, 8) && are_digits(9, 6);
    let is_extended = byte_at(raw, 4) == b'-' && byte_at(raw, 7) == b'-' && are_digits(0, 4);
    (is_basic || is_extended) && raw.iter().filter(|b| b.is_ascii_alphabetic()).count() <= 3
}

/// True for `8-4-4-4-12` hexadecimal digits.
pub(super) fn is_uuid(token: &[u8]) -> bool {
    token.len() == 36
        && token.iter().enumerate().all(|(at, b)| match at {
            8 | 13 | 18 | 23 => *b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

/// True for the name of a type: `MLKEM768X25519PrivateKey` ends in two words with capitals.
pub(super) fn ends_in_words(raw: &[u8]) -> bool {
    const MIN_LETTERS: usize = 9;
    /// A longer text may end so by chance.
    const MAX_BYTES: usize = 40;
    let same_word =
        |left: &u8, right: &u8| left.is_ascii_alphabetic() && right.is_ascii_lowercase();
    let mut words = raw.chunk_by(same_word).rev();
    let mut word_len = || match words.next() {
        Some([first, rest @ ..]) if first.is_ascii_uppercase() && rest.len() > 1 => rest.len() + 1,
        _ => 0,
    };
    let (last, before) = (word_len(), word_len());
    raw.len() <= MAX_BYTES && last > 0 && before > 0 && last + before >= MIN_LETTERS
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
            let TokenStats {
                digits,
                letters,
                letter_digit_transitions: turns,
                irregular_capitals: odd,
                distinct,
                consonant_run: row,
                len,
                ..
            } = TokenStats::of(token.as_bytes());
            assert_eq!((digits, letters, turns, odd, distinct, row), counts, "{token}");
            assert_eq!(len, token.len());
        }
        for (token, hex) in
            [("dead01", true), ("DEAD01", true), ("deaD01", false), ("dead0g", false), ("", true)]
        {
            assert_eq!(TokenStats::of(token.as_bytes()).is_hex, hex, "{token}");
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
            assert_eq!(TokenStats::of(token.as_bytes()).looks_random(), random, "{token}");
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
