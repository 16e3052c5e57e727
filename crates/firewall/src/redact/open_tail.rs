//! The open tail of a text that goes on: what later text may still make a part of a value.
//!
//! A machine that decides in whole windows holds back up to 16 KiB. That is too long for whoever
//! watches rows or lines come in. So a stream may also decide up to its open tail: the last word,
//! the numbers and the literals near the end of which a rule has not seen enough yet. What stands
//! before it was looked at together with all that a rule would see.
//!
//! Every bound here follows a bound of the rules. A word of letters alone becomes a value only as
//! the front of an address, and that has at most 64 bytes; the words that say what a number is are
//! looked for within 64 bytes of it; a pattern sees no further than its reach.

use super::engine::{ActiveRules, Detection, NEAR};

/// The longest front of an e-mail address.
const LETTERS: usize = 64;
/// The longest word of other characters that is held back as a whole. A key that is longer begins
/// with a literal of its rule, and is held back for that.
const WORD: usize = 256;
/// How near to the end a number may still belong to a longer one, or be named by what follows.
const NUMBER: usize = 64;
/// The longest group of letters in front of a number that may be a part of it.
const PREFIX: usize = 4;
/// The longest piece of a value that was given out before.
const GIVEN_OUT: usize = 256;

/// Where the open tail of a text begins, in which these values were found.
pub(super) fn start(rules: ActiveRules<'_>, text: &str, found: &[Detection]) -> usize {
    let bytes = text.as_bytes();
    let mut open = word(bytes).min(number(bytes));
    if rules.knows_values() {
        open = open.min(bytes.len().saturating_sub(GIVEN_OUT));
    }
    if let Some(anchor) = rules.unfinished(text, found) {
        open = open.min(anchor);
    }
    // A value that reaches the open tail may go on there.
    for value in found.iter().rev() {
        if value.range.end >= open {
            open = open.min(value.range.start);
        }
    }
    text.floor_char_boundary(open.max(bytes.len().saturating_sub(NEAR)))
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// Where the last word begins; blanks after it may still be inside of a value.
fn word(bytes: &[u8]) -> usize {
    let end = bytes.len() - bytes.iter().rev().take(PREFIX).take_while(|b| is_blank(**b)).count();
    let mut letters = true;
    let mut length = 0;
    for byte in bytes.iter().take(end).rev() {
        let most = if letters { LETTERS } else { WORD };
        if byte.is_ascii_whitespace() || length >= most {
            break;
        }
        letters &= byte.is_ascii_alphabetic();
        length += 1;
    }
    end - length
}

/// Where the groups of digits begin that stand near the end, with a short word before them.
fn number(bytes: &[u8]) -> usize {
    let end = bytes.len();
    let near = end.saturating_sub(NUMBER);
    let tail = bytes.get(near..).unwrap_or_default();
    let Some(digit) = tail.iter().position(u8::is_ascii_digit) else { return end };
    let mut start = near + digit;
    let least = start.saturating_sub(2 * NUMBER);
    loop {
        // The rest of the group, and the group before it.
        start -= group(bytes, start);
        let blanks = bytes.iter().take(start).rev().take_while(|b| is_blank(**b)).count();
        let before = group(bytes, start - blanks);
        let words = bytes.get(start - blanks - before..start - blanks).unwrap_or_default();
        let belongs = words.iter().any(u8::is_ascii_digit) || words.len() <= PREFIX;
        if blanks == 0 || blanks > PREFIX || before == 0 || !belongs || start <= least {
            return start;
        }
        start -= blanks + before;
    }
}

/// How many bytes without a blank stand before a place.
fn group(bytes: &[u8], end: usize) -> usize {
    let before = bytes.iter().take(end).rev().take(2 * NUMBER);
    before.take_while(|b| !b.is_ascii_whitespace()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_is_open_as_far_as_a_value_may_begin() {
        let (letters, mixed) = ("x".repeat(70), format!("{}1", "x".repeat(70)));
        let (front, long) = (format!("1{letters}"), format!("{}1", "x".repeat(299)));
        for (text, start) in [
            ("", 0),
            ("abc", 0),
            ("abc def", 4),
            ("abc\ndef", 4),
            ("abc def  ", 4),
            ("abc def    ", 4),
            ("abc def     ", 8),
            (letters.as_str(), 6),
            (mixed.as_str(), 0),
            (front.as_str(), 7),
            (long.as_str(), 44),
        ] {
            assert_eq!(word(text.as_bytes()), start, "{text}");
        }
    }

    #[test]
    fn groups_of_digits_near_the_end_are_open_with_a_short_word_before_them() {
        let near = |dots: usize| format!("phone 1{}", ".".repeat(dots));
        let (last, gone) = (near(63), near(64));
        let before = |head: &str| format!("{head}34{}", ".".repeat(62));
        let (four, five) = (before("12    "), before("12     "));
        let many = before(&"12 ".repeat(100));
        for (text, start) in [
            ("no digits", 9),
            ("tel 12 34", 0),
            ("phone 12", 6),
            ("x 12 phone 34", 0),
            ("number x 12 phone 34", 7),
            ("phone a1 12", 6),
            ("phones 12    34", 7),
            ("phone 12     34", 6),
            ("phone     12", 10),
            ("phone\n12", 6),
            (last.as_str(), 6),
            (gone.as_str(), 71),
            (four.as_str(), 0),
            (five.as_str(), 7),
            (many.as_str(), 171),
        ] {
            assert_eq!(number(text.as_bytes()), start, "{text}");
        }
    }

    #[test]
    fn a_group_ends_at_a_blank() {
        for (text, end, length) in [("ab cd", 5, 2), ("ab cd", 3, 0), ("ab cd", 2, 2), ("", 0, 0)] {
            assert_eq!(group(text.as_bytes(), end), length, "{text} {end}");
        }
        assert_eq!(group("x".repeat(300).as_bytes(), 300), 128);
    }
}
