//! Check sums over the digits of a number. Digits are ASCII; letters count from `A` = 10.

use crate::redact::checksum;

/// The value of a character: a digit, or a letter from `A` = 10.
pub(super) fn char_value(byte: u8) -> u32 {
    match byte {
        b'0'..=b'9' => u32::from(byte - b'0'),
        b'A'..=b'Z' => u32::from(byte - b'A') + 10,
        _ => 0,
    }
}

/// The value of the character at an index; 0 if there is none.
pub(super) fn value_at(text: &[u8], place: usize) -> u32 {
    text.get(place).map_or(0, |byte| char_value(*byte))
}

/// The number that a range of digits represents; 0 if it is out of bounds.
pub(super) fn parse_digits(text: &[u8], from: usize, to: usize) -> u32 {
    let digits = text.get(from..to).unwrap_or_default();
    digits.iter().fold(0_u32, |sum, byte| sum.wrapping_mul(10).wrapping_add(char_value(*byte)))
}

/// The weighted sum of the first characters.
pub(super) fn weighted_sum(text: &[u8], weights: &[u32]) -> u32 {
    text.iter().zip(weights).map(|(byte, weight)| char_value(*byte) * weight).sum()
}

/// True if the Luhn sum is a multiple of 10 and not all digits are equal.
pub(super) fn is_luhn_valid(digits: &[u8]) -> bool {
    checksum::is_luhn_valid(digits) && !all_same(digits) && !counts_up(digits)
}

/// True for digits in the order of counting, as examples have them: `123456789`, `67890123`.
pub(super) fn counts_up(text: &[u8]) -> bool {
    text.len() > 5
        && text.windows(2).all(|pair| match pair {
            [b'9', next] => *next == b'0',
            [digit, next] => digit.is_ascii_digit() && *next == digit + 1,
            _ => false,
        })
}

/// True if all characters are equal.
pub(super) fn all_same(text: &[u8]) -> bool {
    text.iter().all(|byte| Some(byte) == text.first())
}

/// The remainder of a number modulo `modulus`; a letter counts as two digits.
pub(super) fn remainder(text: impl Iterator<Item = u8>, modulus: u32) -> u32 {
    text.fold(0, |sum, byte| match char_value(byte) {
        digit @ 0..=9 => (sum * 10 + digit) % modulus,
        letter => (sum * 100 + letter) % modulus,
    })
}

/// ISO/IEC 7064, MOD 11,10, with the check digit last.
pub(super) fn is_mod_11_10_valid(digits: &[u8]) -> bool {
    let Some((last, rest)) = digits.split_last() else { return false };
    let product = rest.iter().fold(10, |product, byte| {
        let sum = match (char_value(*byte) + product) % 10 {
            0 => 10,
            sum => sum,
        };
        sum * 2 % 11
    });
    char_value(*last) == (11 - product) % 10
}

/// The Verhoeff check: the sum in the dihedral group D5 is 0.
pub(super) fn is_verhoeff_valid(digits: &[u8]) -> bool {
    const STEP: [u32; 10] = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4];
    let multiply = |a: u32, b: u32| match (a < 5, b < 5) {
        (true, true) => (a + b) % 5,
        (true, false) => (a + b) % 5 + 5,
        (false, true) => (a - b) % 5 + 5,
        (false, false) => (a + 5 - b) % 5,
    };
    let permute = |digit: u32, times: usize| {
        (0..times % 8).fold(digit, |digit, _| {
            usize::try_from(digit).ok().and_then(|digit| STEP.get(digit)).copied().unwrap_or(0)
        })
    };
    let sum = digits
        .iter()
        .rev()
        .enumerate()
        .fold(0, |sum, (place, byte)| multiply(sum, permute(char_value(*byte), place)));
    sum == 0
}

/// True if the month has such a day; February has 29.
pub(super) fn is_day(month: u32, day: u32) -> bool {
    let longest = match month {
        2 => 29,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    (1..=longest).contains(&day)
}
