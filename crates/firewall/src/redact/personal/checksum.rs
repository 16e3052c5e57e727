//! Sums over the digits of a number. Digits are ASCII; a letter counts as its value from 10 on.

use crate::redact::checksum;

/// The value of one character: a digit, or a letter from `A` = 10.
pub(super) fn value(byte: u8) -> u32 {
    match byte {
        b'0'..=b'9' => u32::from(byte - b'0'),
        b'A'..=b'Z' => u32::from(byte - b'A') + 10,
        _ => 0,
    }
}

/// The value of the character at a place, 0 outside.
pub(super) fn at(text: &[u8], place: usize) -> u32 {
    text.get(place).map_or(0, |byte| value(*byte))
}

/// The number that a stretch of digits writes, 0 outside.
pub(super) fn number(text: &[u8], from: usize, to: usize) -> u32 {
    let digits = text.get(from..to).unwrap_or_default();
    digits.iter().fold(0_u32, |sum, byte| sum.wrapping_mul(10).wrapping_add(value(*byte)))
}

/// The sum of the first characters, each by its weight.
pub(super) fn weighted(text: &[u8], weights: &[u32]) -> u32 {
    text.iter().zip(weights).map(|(byte, weight)| value(*byte) * weight).sum()
}

/// The Luhn sum is a multiple of 10, and not all digits are the same.
pub(super) fn luhn(digits: &[u8]) -> bool {
    checksum::luhn(digits) && !same(digits)
}

/// All characters are the same.
pub(super) fn same(text: &[u8]) -> bool {
    text.iter().all(|byte| Some(byte) == text.first())
}

/// The remainder of a number by another, letters read as two digits.
pub(super) fn remainder(text: impl Iterator<Item = u8>, modulus: u32) -> u32 {
    text.fold(0, |sum, byte| match value(byte) {
        digit @ 0..=9 => (sum * 10 + digit) % modulus,
        letter => (sum * 100 + letter) % modulus,
    })
}

/// ISO 7064, modulus 11 and 10, over digits with the check digit last.
pub(super) fn mod_11_10(digits: &[u8]) -> bool {
    let Some((last, rest)) = digits.split_last() else { return false };
    let product = rest.iter().fold(10, |product, byte| {
        let sum = match (value(*byte) + product) % 10 {
            0 => 10,
            sum => sum,
        };
        sum * 2 % 11
    });
    value(*last) == (11 - product) % 10
}

/// The dihedral sum of Verhoeff is 0.
pub(super) fn verhoeff(digits: &[u8]) -> bool {
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
        .fold(0, |sum, (place, byte)| multiply(sum, permute(value(*byte), place)));
    sum == 0
}

/// A day of a month that exist.
pub(super) fn is_day(month: u32, day: u32) -> bool {
    let longest = match month {
        2 => 29,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    (1..=longest).contains(&day)
}
