//! IBANs: a country code, the length for that country, and the remainder modulo 97.

use std::ops::Range;

use super::candidate::{Token, byte_at, byte_before};
use super::checksum::remainder;

const COUNTRIES_BY_LENGTH: &[(usize, &str)] = &[
    (15, "NO"),
    (16, "BE BI"),
    (18, "DK FI FK FO GL NL SD"),
    (19, "MK SI"),
    (20, "AT BA EE KZ LT LU MN XK"),
    (21, "CH HR LI LV"),
    (22, "BG BH CR DE GB GE IE ME RS VA"),
    (23, "AE GI IL IQ OM SO TL"),
    (24, "AD CZ DZ ES MD PK RO SA SE SK TN VG"),
    (25, "AO CV LY MZ PT ST"),
    (26, "IR IS TR"),
    (27, "BI CF CG CM DJ FR GA GQ GR IT KM MC MG MR SM TD"),
    (28, "AL AZ BF BJ BY CI CY DO GT GW HN HU LB MA ML NE NI PL SN SV TG"),
    (29, "BR EG PS QA UA"),
    (30, "JO KW MU YE"),
    (31, "MT SC"),
    (32, "LC"),
    (33, "RU"),
];

/// True for `GB29` followed by a group of letters or digits, such as a bank code.
pub(super) fn is_head(bytes: &[u8], token: Token) -> bool {
    token.end - token.start == 4
        && matches!(byte_at(bytes, token.end), b' ' | b'-' | b'.')
        && is_country_and_check(bytes.get(token.start..token.end).unwrap_or_default())
        && bytes
            .get(token.end + 1..token.end + 5)
            .is_some_and(|group| group.iter().all(u8::is_ascii_alphanumeric))
}

/// True for a number after the head and bank code of an IBAN: it belongs to the IBAN, whether or
/// not the check sum is right.
pub(super) fn is_behind_head(bytes: &[u8], start: usize) -> bool {
    let head = start.checked_sub(10).and_then(|from| bytes.get(from..start));
    let Some([country @ .., b' ', a, b, c, d, b' ']) = head else { return false };
    is_country_and_check(country) && [a, b, c, d].iter().all(|byte| byte.is_ascii_uppercase())
}

fn is_country_and_check(group: &[u8]) -> bool {
    let [a, b, c, d] = group else { return false };
    a.is_ascii_alphabetic() && b.is_ascii_alphabetic() && c.is_ascii_digit() && d.is_ascii_digit()
}

/// The IBAN that begins with this token.
pub(super) fn iban_at(bytes: &[u8], token: Token) -> Option<Range<usize>> {
    let group = bytes.get(token.start..token.start + 4)?;
    let [a, b, ..] = group else { return None };
    if !is_country_and_check(group) || byte_before(bytes, token.start) == b'_' {
        return None;
    }
    let country = [a.to_ascii_uppercase(), b.to_ascii_uppercase()];
    COUNTRIES_BY_LENGTH
        .iter()
        .filter(|(_, codes)| codes.split(' ').any(|code| code.as_bytes() == country))
        .find_map(|(length, _)| iban_of_length(bytes, token.start, *length))
}

fn iban_of_length(bytes: &[u8], start: usize, length: usize) -> Option<Range<usize>> {
    let mut iban = [0_u8; 34];
    let mut at = start;
    let mut gap = false;
    let mut count = 0;
    while count < length {
        match byte_at(bytes, at) {
            letter if letter.is_ascii_alphanumeric() => {
                *iban.get_mut(count)? = letter.to_ascii_uppercase();
                count += 1;
                gap = false;
            }
            b' ' | b'-' | b'.' if !gap && at < bytes.len() => gap = true,
            _ => return None,
        }
        at += 1;
    }
    let (head, rest) = iban.get(..length)?.split_at_checked(4)?;
    let ends = !byte_at(bytes, at).is_ascii_alphanumeric();
    let sum = remainder(rest.iter().chain(head).copied(), 97);
    (ends && sum == 1).then_some(start..at)
}
