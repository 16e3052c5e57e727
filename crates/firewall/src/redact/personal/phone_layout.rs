//! Layouts of phone numbers: how many digits, in which groups, with which separators.

use super::candidate::{BLANK, BRACKET, HYPHEN, POINT, SLASH};
use super::checksum::{is_day, parse_digits};
use super::dialing_plan;

/// Digits in groups, as they are dialled.
pub(super) struct DigitGroups<'c> {
    pub(super) digits: &'c [u8],
    pub(super) sizes: &'c [u8],
    pub(super) separators: u8,
    pub(super) opened: bool,
}

/// A layout with separators that only phone numbers have.
pub(super) fn has_phone_layout(number: &DigitGroups<'_>) -> bool {
    let DigitGroups { digits, sizes, separators, opened } = *number;
    if sizes.len() < 2 {
        return false;
    }
    let mixed = separators & !(BLANK | BRACKET) != 0 && separators & BLANK != 0;
    if separators & POINT != 0 && separators != POINT {
        return false;
    }
    match (digits, sizes) {
        ([b'0', b'0', rest @ ..], [first @ 2..=5, ..]) if sizes.len() > 2 => match first {
            2 => dialing_plan::is_international(rest),
            _ => dialing_plan::has_country_code(rest, usize::from(*first) - 2),
        },
        ([b'0', b'2'..=b'5', ..], [1, 3, 3, 2, 2]) => true,
        ([b'0', ..], _) => is_trunk_number(number),
        (_, [3, 3, 4] | [1, 3, 3, 4] | [3, 7] | [6, 4]) => {
            let plain = !mixed || opened || separators & (HYPHEN | BLANK) == separators;
            let grouped = sizes.len() > 2 || opened;
            plain && grouped && separators & SLASH == 0 && dialing_plan::is_north_american(digits)
        }
        ([b'8', ..], [1, 3, 3, 2, 2]) => true,
        ([b'1', b'3'..=b'9', ..], [3, 4, 4]) => separators & (BLANK | HYPHEN) == separators,
        ([b'6'..=b'9', ..], [3, 2, 2, 2]) => separators == BLANK,
        (_, [1 | 2, 4 | 5, 4]) => opened,
        (_, [2..=4, ..]) => opened && (9..=11).contains(&digits.len()) && sizes.len() > 2,
        _ => false,
    }
}

/// A number with a trunk zero before the area code.
fn is_trunk_number(number: &DigitGroups<'_>) -> bool {
    let DigitGroups { digits, sizes, separators, opened } = *number;
    let (Some(first), Some(last)) = (sizes.first(), sizes.last()) else { return false };
    let area = match digits.get(1) {
        Some(b'0') | None => return false,
        Some(_) if *first == 1 => opened || separators & BRACKET != 0,
        Some(_) => (2..=6).contains(first),
    };
    if opened && (8..=11).contains(&digits.len()) && *last >= 3 {
        return true;
    }
    let counted = sizes.len() > 2 && all_groups_start_with_zero(digits, sizes);
    let pointed = separators == POINT && sizes.len() < 3;
    let fits = match (digits.len(), sizes.len()) {
        (8, groups) => groups >= 4 && separators == BLANK | HYPHEN,
        (9, 3) if *sizes == [3, 2, 4] => false,
        // The number of an article: `0441-722-08`.
        (9, 3) if *sizes == [4, 3, 2] && separators == HYPHEN => false,
        (9, 2) if separators & SLASH != 0 => false,
        // One slash ends the area code: `0441/17/2208` is something else.
        (_, 3..) if separators == SLASH => false,
        (9, groups) => groups >= 3 || (2..=4).contains(first),
        // Where a slash ends the area code, as in Germany, the number begins with no zero.
        (10 | 11, 2) => {
            let begins_with_zero = digits.get(usize::from(*first)) == Some(&b'0');
            let is_fraction = separators & SLASH != 0 && begins_with_zero;
            (2..=6).contains(first) && (4..=8).contains(last) && !is_fraction
        }
        (10 | 11, groups) => groups <= 5,
        (12, groups) => {
            let long = matches!(digits.get(1), Some(b'1' | b'8'));
            long && (2..=4).contains(&groups) && *first <= 5
        }
        _ => false,
    };
    area && fits && *last >= 2 && !counted && !pointed && sizes.iter().skip(1).all(|n| *n >= 2)
}

/// True if every group begins with a zero.
pub(super) fn all_groups_start_with_zero(digits: &[u8], sizes: &[u8]) -> bool {
    let mut at = 0;
    sizes.iter().all(|size| {
        let zero = digits.get(at) == Some(&b'0');
        at += usize::from(*size);
        zero
    })
}

/// Digits without separators that only a mobile number of some region has.
pub(super) fn is_regional_mobile(number: &DigitGroups<'_>) -> bool {
    if number.sizes.len() != 1 {
        return false;
    }
    match number.digits {
        [b'0', b'1' | b'3' | b'5' | b'7' | b'8' | b'9', rest @ ..] if rest.len() == 9 => {
            !rest.starts_with(b"0000")
        }
        [b'0', b'4'..=b'7', rest @ ..] if rest.len() == 8 => !rest.starts_with(b"000"),
        _ => false,
    }
}

/// Groups that read as a date with the year first or last.
pub(super) fn is_date(digits: &[u8], sizes: &[u8]) -> bool {
    let century = |at: usize| matches!(digits.get(at..at + 2), Some(b"19" | b"20"));
    let day = |a: usize, b: usize| {
        let (left, right) = (parse_digits(digits, 0, a), parse_digits(digits, a, b));
        is_day(left, right) || is_day(right, left)
    };
    match sizes {
        [4, month @ (1 | 2), ..] => {
            century(0) && parse_digits(digits, 4, 4 + usize::from(*month)) <= 12
        }
        [2, 2, 4, ..] => century(4) && day(2, 4),
        [1, 2, 4, ..] => century(3) && day(1, 3),
        [2, 1, 4, ..] => century(3) && day(2, 3),
        _ => false,
    }
}

/// Groups of a whole number with its trunk zero or its bracket.
pub(super) fn is_dialled_number(number: &DigitGroups<'_>) -> bool {
    let DigitGroups { digits, sizes, opened, .. } = *number;
    let begins = opened || matches!(digits, [b'0', b'1'..=b'9', ..]);
    begins && sizes.len() > 1 && (9..=13).contains(&digits.len())
}

/// Groups like those of a count, `449 000`, with no more digits than a small one has.
pub(super) fn is_count(number: &DigitGroups<'_>) -> bool {
    let DigitGroups { digits, sizes, separators, .. } = *number;
    let [_, rest @ ..] = sizes else { return false };
    let thousands = !rest.is_empty() && rest.iter().all(|size| *size == 3);
    thousands && matches!(separators, BLANK | POINT) && digits.len() < 9
}

/// A country code with as many digits as its dialing plan has, possibly with a trunk zero in
/// between.
pub(super) fn is_planned(number: &DigitGroups<'_>) -> bool {
    if dialing_plan::is_international(number.digits) {
        return true;
    }
    let mut place = 0;
    for size in number.sizes {
        if *size == 1 && number.digits.get(place) == Some(&b'0') && place > 0 {
            let mut dialled = number.digits.to_vec();
            dialled.remove(place);
            return dialing_plan::is_international(&dialled);
        }
        place += usize::from(*size);
    }
    false
}

/// A country code and groups, of roughly the length that dialing plans have.
pub(super) fn is_international(number: &DigitGroups<'_>) -> bool {
    let DigitGroups { digits, sizes, separators, .. } = *number;
    let grouped = sizes.len() >= 3 && separators != POINT;
    let code = digits.first() != Some(&b'0') && sizes.first().is_some_and(|size| *size <= 4);
    grouped && code && (9..=14).contains(&digits.len())
}
