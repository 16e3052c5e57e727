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
