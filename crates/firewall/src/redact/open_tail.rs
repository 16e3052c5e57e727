//! The open tail of a text that continues: the part that later text may still turn into a value.
//!
//! A scanner that decides whole windows holds back up to 16 KiB, which is too much for rows or
//! lines that are watched as they arrive. So a stream may also decide up to its open tail: the last
//! word, numbers near the end, the marker of a PEM block, and literals whose rule could still read
//! further. Everything before that was scanned together with all the text a rule would read.
//!
//! Every bound here follows from a bound of the rules. A word of letters becomes a value only as
//! the local part of an address, which has at most 64 bytes; words that describe a number are
//! searched within 64 bytes of it; a pattern sees no further than its reach.

use super::engine::{ActiveRules, CONTEXT_BYTES, Detection};
use super::pem;

/// The longest local part of an e-mail address.
const MAX_LOCAL_PART: usize = 64;
/// The longest word with other characters that is held back as a whole. A longer key begins with a
/// literal of its rule, and is held back because of that.
const MAX_HELD_WORD: usize = 256;
/// How near to the end a number may be continued or described by later text.
const NUMBER_CONTEXT_BYTES: usize = 64;
/// The longest group of letters before a number that may be part of it.
const MAX_NUMBER_PREFIX: usize = 4;
/// The longest piece of a disclosed value.
const MAX_DISCLOSED_PIECE: usize = 256;

/// Where the open tail of a text begins, given the values found in it.
pub(super) fn open_tail_start(rules: ActiveRules<'_>, text: &str, found: &[Detection]) -> usize {
    let bytes = text.as_bytes();
    let mut open = last_word_start(bytes).min(number_start(bytes));
    if rules.has_disclosed_values() {
        open = open.min(bytes.len().saturating_sub(MAX_DISCLOSED_PIECE));
    }
    if let Some(anchor) = rules.first_unfinished_anchor(text, found) {
        open = open.min(anchor);
    }
    if let Some(marker) = pem::cut_marker_start(text) {
        open = open.min(marker);
    }
    // A value that reaches the open tail may continue.
    for value in found.iter().rev() {
        if value.range.end >= open {
            open = open.min(value.range.start);
        }
    }
    text.floor_char_boundary(open.max(bytes.len().saturating_sub(2 * CONTEXT_BYTES)))
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// Where the last word begins; blanks after it may still lie within a value.
fn last_word_start(bytes: &[u8]) -> usize {
    let end = bytes.len()
        - bytes.iter().rev().take(MAX_NUMBER_PREFIX).take_while(|b| is_blank(**b)).count();
    let mut letters = true;
    let mut length = 0;
    for byte in bytes.iter().take(end).rev() {
        let most = if letters { MAX_LOCAL_PART } else { MAX_HELD_WORD };
        if byte.is_ascii_whitespace() || length >= most {
            break;
        }
        letters &= byte.is_ascii_alphabetic();
        length += 1;
    }
    end - length
}

/// Where the digit groups near the end begin, including a short word before them.
fn number_start(bytes: &[u8]) -> usize {
    let end = bytes.len();
    let near = end.saturating_sub(NUMBER_CONTEXT_BYTES);
    let tail = bytes.get(near..).unwrap_or_default();
    let Some(digit) = tail.iter().position(u8::is_ascii_digit) else { return end };
    let mut start = near + digit;
    let least = start.saturating_sub(2 * NUMBER_CONTEXT_BYTES);
    loop {
        // The rest of this group, and the group before it.
        start -= group_len(bytes, start);
        let blanks = bytes.iter().take(start).rev().take_while(|b| is_blank(**b)).count();
        let before = group_len(bytes, start - blanks);
        let words = bytes.get(start - blanks - before..start - blanks).unwrap_or_default();
        let belongs = words.iter().any(u8::is_ascii_digit) || words.len() <= MAX_NUMBER_PREFIX;
        if blanks == 0 || blanks > MAX_NUMBER_PREFIX || before == 0 || !belongs || start <= least {
            return start;
        }
        start -= blanks + before;
    }
}

/// How many non-blank bytes precede a position.
fn group_len(bytes: &[u8], end: usize) -> usize {
    let before = bytes.iter().take(end).rev().take(2 * NUMBER_CONTEXT_BYTES);
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
            assert_eq!(last_word_start(text.as_bytes()), start, "{text}");
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
            assert_eq!(number_start(text.as_bytes()), start, "{text}");
        }
    }

    #[test]
    fn a_group_ends_at_a_blank() {
        for (text, end, length) in [("ab cd", 5, 2), ("ab cd", 3, 0), ("ab cd", 2, 2), ("", 0, 0)] {
            assert_eq!(group_len(text.as_bytes(), end), length, "{text} {end}");
        }
        assert_eq!(group_len("x".repeat(300).as_bytes(), 300), 128);
    }
}
