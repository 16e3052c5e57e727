//! Payment cards: a brand, a length of that brand, and the Luhn sum.

use std::ops::Range;

use super::candidate::{Token, byte_at, byte_before};
use super::checksum::is_luhn_valid;
use super::test_cards;

/// The most digits of a card number.
const MAX_DIGITS: usize = 19;

/// A card number.
pub(super) struct Card {
    pub(super) range: Range<usize>,
    /// Its form alone is weak evidence.
    pub(super) has_weak_form: bool,
    /// It has thirteen digits, like article numbers and timestamps in milliseconds, or twelve like the
    /// latter, so a word must name it.
    pub(super) needs_keyword: bool,
    /// It is a published test number, which belongs to nobody.
    pub(super) is_test_card: bool,
    /// Another card follows after a blank, so nothing that spans both is a card.
    pub(super) followed_by_card: bool,
}

/// The longest card number that begins with this token.
pub(super) fn card_at(bytes: &[u8], token: Token) -> Option<Card> {
    if !token.is_numeric {
        return None;
    }
    let first = token.end - token.start;
    let left = byte_before(bytes, token.start);
    let after_point = left == b'.' && byte_before(bytes, token.start - 1).is_ascii_digit();
    let inside =
        matches!(left, b'/' | b'-') && byte_before(bytes, token.start - 1).is_ascii_alphanumeric();
    if !(4..=MAX_DIGITS).contains(&first) || inside && first < 14 || left == b'_' || after_point {
        return None;
    }
    if first < 12
        && !byte_at(bytes, token.end + 1).is_ascii_digit()
        && byte_at(bytes, token.end + 1) != b' '
    {
        return None;
    }
    let mut digits = [0_u8; MAX_DIGITS];
    let mut count = 0;
    let mut at = token.start;
    let mut sign = GroupSeparators::default();
    let mut groups = 0;
    let mut found = None;
    loop {
        let group = at;
        while byte_at(bytes, at).is_ascii_digit() {
            if let Some(slot) = digits.get_mut(count) {
                *slot = byte_at(bytes, at);
            }
            count += 1;
            at += 1;
        }
        groups += 1;
        if count > MAX_DIGITS || at - group < 2 {
            break;
        }
        let number = digits.get(..count).unwrap_or_default();
        // The last of several groups has five digits only in 4-6-5.
        let has_last_group = groups == 1 || at - group <= 4 || count == 15;
        let layout = sign.is_uniform() && has_card_layout(first, groups) && has_last_group
            || (count, groups, first) == (16, 4, 4);
        if may_end(bytes, at, sign.last) && layout && is_valid_card(number) {
            let has_weak_form =
                sign.last == 0 && (!matches!(count, 14 | 16) || number.first() == Some(&b'1'));
            let is_test_card = test_cards::is_published(number);
            let is_time = number.ends_with(b"00000");
            let needs_keyword = sign.last == 0 && (count == 13 || count == 12 && is_time);
            let followed_by_card = sign.last == b' ' && is_next_card(bytes, at + 1);
            let range = token.start..at;
            found =
                Some(Card { range, has_weak_form, needs_keyword, is_test_card, followed_by_card });
        }
        let Some(next) = next_group(bytes, at, &mut sign) else { break };
        at = next;
    }
    found
}

/// The separators between the groups.
#[derive(Default)]
struct GroupSeparators {
    /// The last separator; 0 before the first one.
    last: u8,
    /// Both blanks and hyphens occur: only four groups of four can then be a card.
    mixed: bool,
}

impl GroupSeparators {
    fn is_uniform(&self) -> bool {
        !self.mixed
    }
}

/// The start of the next group, after the same separator as before or a blank instead of a hyphen.
fn next_group(bytes: &[u8], end: usize, sign: &mut GroupSeparators) -> Option<usize> {
    let here = byte_at(bytes, end);
    let either = |sign: u8| matches!(sign, b' ' | b'-');
    let other = sign.last != 0 && sign.last != here;
    if !matches!(here, b' ' | b'-' | b'.' | b'/' | b'_')
        || other && !(either(here) && either(sign.last))
    {
        return None;
    }
    sign.mixed |= other;
    sign.last = here;
    let doubled = here == b' ' && byte_at(bytes, end + 1) == b' ';
    let next = if doubled { end + 2 } else { end + 1 };
    byte_at(bytes, next).is_ascii_digit().then_some(next)
}

/// True if the number may end here.
fn may_end(bytes: &[u8], at: usize, sign: u8) -> bool {
    let next = byte_at(bytes, at);
    let goes_on = byte_at(bytes, at + 1).is_ascii_alphanumeric();
    match next {
        b'_' => false,
        // A card number in a table of floats ends in `.0`.
        b'.' => !byte_at(bytes, at + 1).is_ascii_digit() || is_zero_decimal(bytes, at + 1),
        b'-' => !(goes_on && (sign == b'-' || sign == 0)),
        // Five groups of four are not a card, whatever the sum of the first four; eight groups may
        // be two cards.
        b' ' if sign == b' ' => {
            !(is_group_of_four(bytes, at + 1) || is_hexadecimal_group(bytes, at + 1))
                || is_next_card(bytes, at + 1)
        }
        _ => !next.is_ascii_alphanumeric(),
    }
}

fn is_group_of_four(bytes: &[u8], at: usize) -> bool {
    (at..at + 4).all(|at| byte_at(bytes, at).is_ascii_digit())
        && !byte_at(bytes, at + 4).is_ascii_alphanumeric()
        && byte_at(bytes, at + 4) != b'/'
}

/// True for a group of four hexadecimal digits, as in a fingerprint: `2201 6819 2201 1900 44F7`.
fn is_hexadecimal_group(bytes: &[u8], at: usize) -> bool {
    let group = bytes.get(at..at + 4).unwrap_or_default();
    group.len() == 4
        && group.iter().all(|b| b.is_ascii_digit() || matches!(b, b'A'..=b'F'))
        && group.iter().any(u8::is_ascii_uppercase)
        && !byte_at(bytes, at + 4).is_ascii_alphanumeric()
}

/// True for four groups of four, separated by blanks, that are a card.
fn is_next_card(bytes: &[u8], at: usize) -> bool {
    let mut digits = [0_u8; 16];
    for (place, digit) in digits.iter_mut().enumerate() {
        *digit = byte_at(bytes, at + place + place / 4);
    }
    let blanks = [4, 9, 14].iter().all(|place| byte_at(bytes, at + place) == b' ');
    blanks && digits.iter().all(u8::is_ascii_digit) && is_valid_card(&digits)
}

/// True for a zero that is not part of a longer number.
fn is_zero_decimal(bytes: &[u8], at: usize) -> bool {
    let next = byte_at(bytes, at + 1);
    let longer = next == b'.' && byte_at(bytes, at + 2).is_ascii_digit();
    byte_at(bytes, at) == b'0' && !next.is_ascii_alphanumeric() && !longer
}

/// True for one group, or for at least three of which the first has four digits.
fn has_card_layout(first: usize, groups: usize) -> bool {
    groups == 1 || groups > 2 && first == 4
}

/// A brand, one of its lengths, and the Luhn sum.
pub(super) fn is_valid_card(digits: &[u8]) -> bool {
    let head = |n: usize| {
        let zero = |sum: u32, digit: &u8| sum * 10 + u32::from(digit.wrapping_sub(b'0'));
        digits.get(..n).unwrap_or_default().iter().fold(0, zero)
    };
    let (two, three, four) = (head(2), head(3), head(4));
    let length = digits.len();
    let brand = match two {
        34 | 37 => length == 15,
        30 => matches!(three, 300..=305 | 309) && matches!(length, 14 | 16),
        36 | 38 | 39 => matches!(length, 14 | 16),
        40..=49 => matches!(length, 13 | 16 | 19),
        51..=55 => length == 16,
        22..=27 => matches!(four, 2200..=2204 | 2221..=2720) && length == 16,
        35 => length == 16,
        21 => four == 2131 && length == 15,
        10..=19 => length == 15,
        60 | 64 | 65 => matches!(length, 16 | 19),
        62 => matches!(length, 16..=19),
        81 => length == 16,
        50 | 56..=59 | 61 | 63 | 66..=69 => matches!(length, 12..=19),
        82 => matches!(three, 820..=829) && length == 16,
        97 => four == 9792 && length == 16,
        6 => four == 604 && length >= 12,
        _ => false,
    };
    brand && is_luhn_valid(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_ends_where_nothing_goes_on_with_it() {
        for (text, sign, is_end) in [
            ("1", 0, true),
            ("1,", 0, true),
            ("1a", 0, false),
            ("1_", 0, false),
            ("1.", 0, true),
            ("1.5", 0, false),
            ("1.0", 0, true),
            ("1.0.", 0, true),
            ("1.0.1", 0, false),
            ("1.0a", 0, false),
            ("1-2", b'-', false),
            ("1-2", 0, false),
            ("1-a", 0, false),
            ("1-2", b' ', true),
            ("1- ", b'-', true),
            ("1 1234", b' ', false),
            ("1 1234 ", b' ', false),
            ("1 123", b' ', true),
            ("1 12345", b' ', true),
            ("1 1234/", b' ', true),
            ("1 1234", b'-', true),
            ("1 1234", 0, true),
            ("1 4539 1488 0343 6467", b' ', true),
            ("1 4539 1488 0343 6468", b' ', false),
            ("1 4539-1488-0343-6467", b' ', false),
        ] {
            assert_eq!(
                may_end(text.as_bytes(), 1, sign),
                is_end,
                "{text} after {}",
                char::from(sign)
            );
        }
    }

    #[test]
    fn groups_are_joined_by_one_sign_or_by_blanks_and_hyphens() {
        let signs = |text: &str| {
            let (mut sign, mut is_one) = (GroupSeparators::default(), true);
            let (mut at, mut places) = (1, Vec::new());
            while let Some(next) = next_group(text.as_bytes(), at, &mut sign) {
                places.push(next);
                at = next + 1;
                is_one = sign.is_uniform();
            }
            (places, is_one)
        };
        for (text, places, is_one) in [
            ("1 2 3", &[2, 4][..], true),
            ("1-2-3", &[2, 4], true),
            ("1.2.3", &[2, 4], true),
            ("1/2_3", &[2], true),
            ("1 2-3", &[2, 4], false),
            ("1-2 3", &[2, 4], false),
            ("1  2  3", &[3, 6], true),
            ("1   2", &[], true),
            ("1--2", &[], true),
            ("1 a", &[], true),
            ("1,2", &[], true),
        ] {
            assert_eq!(signs(text), (places.to_vec(), is_one), "{text}");
        }
        for (first, groups, is_one) in
            [(4, 3, true), (4, 4, true), (4, 2, false), (3, 3, false), (9, 1, true), (4, 1, true)]
        {
            assert_eq!(has_card_layout(first, groups), is_one, "{first} {groups}");
        }
    }
}
