//! Phone numbers: international, of the forms that countries write at home, and next to a word
//! that names a phone.

use std::ops::Range;

use super::checksum::{is_day, number};
use super::cluster::{BLANK, BRACKET, Cluster, HYPHEN, POINT, SLASH, before, byte};
use super::context::{Words, topic};
use super::{iban, mentions, plan};

/// The most digits of an extension.
const EXTENSION: usize = 6;

/// Digits in groups, as they may be dialled.
struct Number<'c> {
    digits: &'c [u8],
    sizes: &'c [u8],
    separators: u8,
    opened: bool,
}

/// The phone number that a cluster of digits is.
pub(super) fn phone(words: &Words<'_>, cluster: &Cluster) -> Option<Range<usize>> {
    let bytes = words.bytes;
    if cluster.letters.count_ones() > 1 || is_date(cluster.compact(), cluster.sizes()) {
        return None;
    }
    let (digits, sizes) = dialled(cluster)?;
    let sizes = sizes.as_slice();
    if !(6..=17).contains(&digits.len()) {
        return None;
    }
    let (start, plus, opened) = opening(bytes, cluster);
    let whole = Number { digits, sizes, separators: cluster.separators, opened };
    if is_part(bytes, cluster) {
        // `5551234567,12` may be two cells of a table.
        let cell = byte(bytes, cluster.end) == b',' && is_in_column(words, &whole);
        return cell.then_some(start..cluster.end);
    }
    let cuts = if cluster.letters != 0 { 0 } else { 1 };
    if plus {
        return prefixes(bytes, cluster, &whole, cuts * 3, is_planned)
            .or_else(|| is_international(&whole).then_some(cluster.end))
            .map(|end| start..extended(bytes, end));
    }
    let fits = |number: &Number<'_>| is_written(number) || is_dialled(number);
    let written = before(bytes, start) != b'#' && fits(&whole) && !denied(words);
    if iban::is_behind_head(bytes, cluster.start) {
        return None;
    }
    if written || is_named(words, &whole, start) || is_in_column(words, &whole) {
        return Some(start..extended(bytes, cluster.end));
    }
    let end = prefixes(bytes, cluster, &whole, cuts, fits)?;
    (before(bytes, start) != b'#' && !denied(words)).then(|| start..extended(bytes, end))
}

/// The phone number that starts inside other groups: in a bracket, or where words name a phone.
pub(super) fn restarted(words: &Words<'_>, cluster: &Cluster) -> Option<Range<usize>> {
    let found = phone(words, cluster)?;
    let named = || words.get().wide & topic::PHONE != 0;
    (byte(words.bytes, found.start) == b'(' || named()).then_some(found)
}

/// The digits, without an extension after an `x` in or as the last group, and their groups.
fn dialled(cluster: &Cluster) -> Option<(&[u8], Vec<u8>)> {
    let compact = cluster.compact();
    let mut sizes = cluster.sizes().to_vec();
    if cluster.letters == 0 {
        return Some((compact, sizes));
    }
    let place = usize::try_from(cluster.letters.trailing_zeros()).ok()?;
    let tail = compact.len().checked_sub(place)?;
    let one = cluster.letters.count_ones() == 1 && compact.get(place) == Some(&b'X');
    let last = sizes.pop()?.checked_sub(u8::try_from(tail).ok()?)?;
    sizes.extend((last > 0).then_some(last));
    (one && (2..=EXTENSION + 1).contains(&tail) && !sizes.is_empty())
        .then(|| (compact.get(..place).unwrap_or_default(), sizes))
}

/// Where the number starts with its bracket and sign, and whether it has a plus or a bracket.
fn opening(bytes: &[u8], cluster: &Cluster) -> (usize, bool, bool) {
    let mut start = cluster.start;
    let mut opened = false;
    let closed = cluster.separators & BRACKET != 0;
    if closed && before(bytes, start) == b'(' {
        start -= 1;
        opened = true;
    }
    if before(bytes, start) == b'+' && !before(bytes, start - 1).is_ascii_alphanumeric() {
        start -= 1;
        if closed && before(bytes, start) == b'(' {
            start -= 1;
        }
        return (start, true, opened);
    }
    (start, false, opened)
}

/// True when the bytes around make the digits a part of something else.
fn is_part(bytes: &[u8], cluster: &Cluster) -> bool {
    let left = before(bytes, cluster.start);
    let further = before(bytes, cluster.start.saturating_sub(1));
    let right = byte(bytes, cluster.end);
    let beyond = byte(bytes, cluster.end + 1);
    matches!(left, b'_' | b'$' | b'@' | b'%')
        || matches!(left, b'.' | b'-' | b'/' | b':') && further.is_ascii_digit()
        || matches!(left, b'-' | b'/' | b'.') && further.is_ascii_alphabetic()
        || left == b'.'
        || right == b'_'
        || right == b'%'
        || right == b'@'
        || matches!(right, b':' | b'.' | b',' | b'-' | b'/') && beyond.is_ascii_digit()
}

/// The end of the longest start of the cluster, cut at blanks, that is such a number.
fn prefixes(
    bytes: &[u8],
    cluster: &Cluster,
    whole: &Number<'_>,
    cuts: usize,
    fits: impl Fn(&Number<'_>) -> bool,
) -> Option<usize> {
    if fits(whole) {
        return Some(cluster.end);
    }
    let mut end = cluster.end;
    let (mut digits, mut sizes) = (whole.digits, whole.sizes);
    let pairs = sizes.iter().all(|size| *size == 2);
    for _ in 0..cuts {
        let (last, rest) = sizes.split_last()?;
        let size = usize::from(*last);
        let gap = end.checked_sub(size)?;
        if before(bytes, gap) != b' ' || rest.is_empty() || pairs {
            return None;
        }
        end = gap;
        while end > cluster.start && !before(bytes, end).is_ascii_digit() {
            end -= 1;
        }
        sizes = rest;
        digits = digits.get(..digits.len().checked_sub(size)?)?;
        let part = Number { digits, sizes, separators: whole.separators, opened: whole.opened };
        if fits(&part) {
            return Some(end);
        }
    }
    None
}

/// A country code and as many digits as its plan has, perhaps with a zero that is not dialled.
fn is_planned(number: &Number<'_>) -> bool {
    if plan::is_international(number.digits) {
        return true;
    }
    let mut place = 0;
    for size in number.sizes {
        if *size == 1 && number.digits.get(place) == Some(&b'0') && place > 0 {
            let mut dialled = number.digits.to_vec();
            dialled.remove(place);
            return plan::is_international(&dialled);
        }
        place += usize::from(*size);
    }
    false
}

/// A country code and groups, of about the length that plans have.
fn is_international(number: &Number<'_>) -> bool {
    let Number { digits, sizes, separators, .. } = *number;
    let grouped = sizes.len() >= 3 && separators != POINT;
    let code = digits.first() != Some(&b'0') && sizes.first().is_some_and(|size| *size <= 4);
    grouped && code && (9..=14).contains(&digits.len())
}

/// A form with separators that only phone numbers have.
fn is_written(number: &Number<'_>) -> bool {
    let Number { digits, sizes, separators, opened } = *number;
    if sizes.len() < 2 {
        return false;
    }
    let mixed = separators & !(BLANK | BRACKET) != 0 && separators & BLANK != 0;
    if separators & POINT != 0 && separators != POINT {
        return false;
    }
    match (digits, sizes) {
        ([b'0', b'0', rest @ ..], [first @ 2..=5, ..]) if sizes.len() > 2 => match first {
            2 => plan::is_international(rest),
            _ => plan::is_of_code(rest, usize::from(*first) - 2),
        },
        ([b'0', b'2'..=b'5', ..], [1, 3, 3, 2, 2]) => true,
        ([b'0', ..], _) => is_trunk(number),
        (_, [3, 3, 4] | [1, 3, 3, 4] | [3, 7] | [6, 4]) => {
            let plain = !mixed || opened || separators & (HYPHEN | BLANK) == separators;
            let grouped = sizes.len() > 2 || opened;
            plain && grouped && separators & SLASH == 0 && plan::is_american(digits)
        }
        ([b'8', ..], [1, 3, 3, 2, 2]) => true,
        ([b'1', b'3'..=b'9', ..], [3, 4, 4]) => separators & (BLANK | HYPHEN) == separators,
        ([b'6'..=b'9', ..], [3, 2, 2, 2]) => separators == BLANK,
        (_, [1 | 2, 4 | 5, 4]) => opened,
        (_, [2..=4, ..]) => opened && (9..=11).contains(&digits.len()) && sizes.len() > 2,
        _ => false,
    }
}

/// A number with the zero of long distance before the area.
fn is_trunk(number: &Number<'_>) -> bool {
    let Number { digits, sizes, separators, opened } = *number;
    let (Some(first), Some(last)) = (sizes.first(), sizes.last()) else { return false };
    let area = match digits.get(1) {
        Some(b'0') | None => return false,
        Some(_) if *first == 1 => opened || separators & BRACKET != 0,
        Some(_) => (2..=6).contains(first),
    };
    if opened && (8..=11).contains(&digits.len()) && *last >= 3 {
        return true;
    }
    let counted = sizes.len() > 2 && counted(digits, sizes);
    let pointed = separators == POINT && sizes.len() < 3;
    let fits = match (digits.len(), sizes.len()) {
        (8, groups) => groups >= 4 && separators == BLANK | HYPHEN,
        (9, 3) if *sizes == [3, 2, 4] => false,
        (9, 2) if separators & SLASH != 0 => false,
        (9, groups) => groups >= 3 || (2..=4).contains(first) && (5..=7).contains(last),
        (10 | 11, 2) => (2..=6).contains(first) && (4..=8).contains(last),
        (10 | 11, groups) => groups <= 5,
        (12, groups) => {
            let long = matches!(digits.get(1), Some(b'1' | b'8'));
            long && (2..=4).contains(&groups) && *first <= 5
        }
        _ => false,
    };
    area && fits && *last >= 2 && !counted && !pointed && sizes.iter().skip(1).all(|n| *n >= 2)
}

/// Every group starts with a zero.
fn counted(digits: &[u8], sizes: &[u8]) -> bool {
    let mut at = 0;
    sizes.iter().all(|size| {
        let zero = digits.get(at) == Some(&b'0');
        at += usize::from(*size);
        zero
    })
}

/// Digits without separators that only a mobile number of the region has.
fn is_dialled(number: &Number<'_>) -> bool {
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
fn is_date(digits: &[u8], sizes: &[u8]) -> bool {
    let century = |at: usize| matches!(digits.get(at..at + 2), Some(b"19" | b"20"));
    let day = |a: usize, b: usize| {
        let (left, right) = (number(digits, 0, a), number(digits, a, b));
        is_day(left, right) || is_day(right, left)
    };
    match sizes {
        [4, month @ (1 | 2), ..] => century(0) && number(digits, 4, 4 + usize::from(*month)) <= 12,
        [2, 2, 4, ..] => century(4) && day(2, 4),
        [1, 2, 4, ..] => century(3) && day(1, 3),
        [2, 1, 4, ..] => century(3) && day(2, 3),
        _ => false,
    }
}

/// Words before say that the number is something else.
fn denied(words: &Words<'_>) -> bool {
    let context = words.get();
    let other = topic::OTHER | topic::BANK | topic::VERSION;
    context.last & context.near & other != 0 && context.last & topic::PHONE == 0
}

/// A word right before or after names a phone, and nothing says otherwise.
fn is_named(words: &Words<'_>, number: &Number<'_>, start: usize) -> bool {
    let Number { digits, sizes, separators, .. } = *number;
    let decimal = separators == POINT && sizes.len() == 2 && !matches!(sizes, [3 | 4, 3 | 4]);
    let short = sizes.len() == 1 && digits.len() < 7;
    let long = digits.len() > 15;
    let money = matches!(before(words.bytes, start), b'$' | b'#');
    if decimal || short || long || money || is_of_key_about(words.bytes, start) {
        return false;
    }
    let context = words.get();
    // `the phone costs 449 000 won`.
    if is_count(number) && (!context.adjoins || words.is_followed_by_word()) {
        return false;
    }
    let owned = context.last & topic::OWNED != 0 && context.last & topic::PHONE == 0;
    let before = context.near & topic::PHONE != 0 && !owned;
    // A weaker word, like `call`, needs a better form and nothing against it.
    let formed = sizes.len() > 1 && digits.len() >= 7 || digits.len() >= 9;
    let called = formed && context.near & topic::CALL != 0 && context.near & topic::OWNED == 0;
    before || called || context.after & topic::PHONE != 0
}

/// Groups as counts have them, `449 000`, and no more digits than a small one has.
fn is_count(number: &Number<'_>) -> bool {
    let Number { digits, sizes, separators, .. } = *number;
    let [_, rest @ ..] = sizes else { return false };
    let thousands = !rest.is_empty() && rest.iter().all(|size| *size == 3);
    thousands && matches!(separators, BLANK | POINT) && digits.len() < 9
}

/// A cell of a table, under a heading that names a phone.
fn is_in_column(words: &Words<'_>, number: &Number<'_>) -> bool {
    let names_a_phone = |heading: &[u8]| {
        let other = topic::OTHER | topic::VERSION | topic::OWNED;
        let topics = mentions::topics(heading);
        topics & (topic::PHONE | topic::CALL) != 0 && topics & other == 0 && !is_about(heading)
    };
    (7..=15).contains(&number.digits.len()) && words.is_under(names_a_phone)
}

/// True behind the key of something that is known of a phone, `"phone_views":`.
fn is_of_key_about(bytes: &[u8], start: usize) -> bool {
    const KEY: usize = 32;
    let seen = bytes.get(start.saturating_sub(KEY)..start).unwrap_or_default();
    let between = |byte: &&u8| matches!(byte, b' ' | b'"' | b'\'' | b':' | b'=');
    let gap = seen.iter().rev().take_while(between).count();
    let (before, signs) = seen.split_at_checked(seen.len() - gap).unwrap_or_default();
    if !signs.iter().any(|byte| matches!(byte, b':' | b'=')) {
        return false;
    }
    let of_key = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let key = before.iter().rev().take_while(of_key).count();
    is_about(before.get(before.len() - key..).unwrap_or_default())
}

/// True for headings of what is known of a phone, such as its type.
fn is_about(heading: &[u8]) -> bool {
    const ABOUT: [&[u8]; 28] = [
        b"type", b"typ", b"brand", b"plan", b"cost", b"sales", b"views", b"users", b"traffic",
        b"count", b"counts", b"total", b"minutes", b"minuten", b"seconds", b"duration", b"calls",
        b"sessions", b"clicks", b"visits", b"hits", b"sent", b"revenue", b"share", b"os", b"model",
        b"id", b"ids",
    ];
    let mut words = heading.split(|byte| !byte.is_ascii_alphabetic());
    words.any(|word| ABOUT.iter().any(|about| about.eq_ignore_ascii_case(word)))
}

/// The end with an extension: `x12`, `ext. 12`, `extension 12`.
fn extended(bytes: &[u8], end: usize) -> usize {
    let mut at = end;
    while at - end < 2 && matches!(byte(bytes, at), b' ' | b',') && at < bytes.len() {
        at += 1;
    }
    let rest = bytes.get(at..).unwrap_or_default();
    let names: [&[u8]; 5] = [b"extension", b"ext.", b"ext", b"x", b"#"];
    for name in names {
        if rest.get(..name.len()).is_some_and(|head| head.eq_ignore_ascii_case(name)) {
            let mut place = at + name.len();
            while place < at + name.len() + 2 && matches!(byte(bytes, place), b' ' | b':' | b'.') {
                place += 1;
            }
            let digits = bytes.get(place..).unwrap_or_default().iter().take(EXTENSION + 1);
            let count = digits.take_while(|byte| byte.is_ascii_digit()).count();
            let close = place + count;
            let ends = !byte(bytes, close).is_ascii_alphanumeric();
            return if (1..=EXTENSION).contains(&count) && ends { close } else { end };
        }
    }
    end
}

#[cfg(test)]
mod tests;
