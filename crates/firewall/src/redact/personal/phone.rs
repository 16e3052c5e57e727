//! Phone numbers: international ones, national layouts of many countries, and numbers next to a
//! word that names a phone.

use std::ops::Range;

use super::candidate::{BRACKET, Candidate, HYPHEN, POINT, byte_at, byte_before};
use super::context::{CandidateContext, topic};
use super::phone_layout::{
    DigitGroups, has_phone_layout, is_count, is_date, is_dialled_number, is_international,
    is_planned, is_regional_mobile,
};
use super::{iban, mentions, reserved};

/// The most digits of an extension.
const MAX_EXTENSION_DIGITS: usize = 6;

/// The phone number that a candidate is, if any.
pub(super) fn phone_number(
    context: &CandidateContext<'_>,
    candidate: &Candidate,
) -> Option<Range<usize>> {
    let bytes = context.bytes;
    if candidate.letter_mask.count_ones() > 1
        || is_date(candidate.chars(), candidate.group_sizes())
        || is_years(candidate)
        || is_in_resource_name(bytes, candidate.start)
    {
        return None;
    }
    let (digits, sizes) = without_extension(candidate)?;
    let sizes = sizes.as_slice();
    if !(6..=17).contains(&digits.len()) {
        return None;
    }
    let (start, plus, opened) = number_start(bytes, candidate);
    if reserved::is_fictional_number(digits, plus) {
        return None;
    }
    let whole = DigitGroups { digits, sizes, separators: candidate.separators, opened };
    if is_part(bytes, candidate) {
        // `5551234567,12` may be two cells of a table.
        let cell = byte_at(bytes, candidate.end) == b',' && is_in_column(context, &whole);
        return cell.then_some(start..candidate.end);
    }
    let cuts = if candidate.letter_mask != 0 { 0 } else { 1 };
    // A latitude and a longitude: `+4612-05957`.
    if plus && sizes == [4, 5] && candidate.separators == HYPHEN {
        return None;
    }
    if plus {
        return longest_prefix(bytes, candidate, &whole, cuts * 3, is_planned)
            .or_else(|| is_international(&whole).then_some(candidate.end))
            .map(|end| start..with_extension(bytes, end));
    }
    let fits = |number: &DigitGroups<'_>| has_phone_layout(number) || is_regional_mobile(number);
    if is_ordinal(context, candidate.end) || is_in_hex_dump(bytes, candidate) {
        return None;
    }
    let written = byte_before(bytes, start) != b'#' && fits(&whole) && !is_denied(context);
    if iban::is_behind_head(bytes, candidate.start) {
        return None;
    }
    if written || is_named(context, &whole, start) || is_in_column(context, &whole) {
        return Some(start..with_extension(bytes, candidate.end));
    }
    let end = longest_prefix(bytes, candidate, &whole, cuts, fits)?;
    (byte_before(bytes, start) != b'#' && !is_denied(context))
        .then(|| start..with_extension(bytes, end))
}

/// The phone number that begins within other groups: with a bracket, or where words name a phone.
pub(super) fn restarted_number(
    context: &CandidateContext<'_>,
    candidate: &Candidate,
) -> Option<Range<usize>> {
    let found = phone_number(context, candidate)?;
    let named = || context.get().anywhere & topic::PHONE != 0;
    (byte_at(context.bytes, found.start) == b'(' || named()).then_some(found)
}

/// The digits and groups without an extension after an `x`.
fn without_extension(candidate: &Candidate) -> Option<(&[u8], Vec<u8>)> {
    let compact = candidate.chars();
    let mut sizes = candidate.group_sizes().to_vec();
    if candidate.letter_mask == 0 {
        return Some((compact, sizes));
    }
    let place = usize::try_from(candidate.letter_mask.trailing_zeros()).ok()?;
    let tail = compact.len().checked_sub(place)?;
    let one = candidate.letter_mask.count_ones() == 1 && compact.get(place) == Some(&b'X');
    let last = sizes.pop()?.checked_sub(u8::try_from(tail).ok()?)?;
    sizes.extend((last > 0).then_some(last));
    (one && (2..=MAX_EXTENSION_DIGITS + 1).contains(&tail) && !sizes.is_empty())
        .then(|| (compact.get(..place).unwrap_or_default(), sizes))
}

/// Where the number begins, including its bracket and sign; whether it has a plus; whether it has a
/// bracket.
fn number_start(bytes: &[u8], candidate: &Candidate) -> (usize, bool, bool) {
    let mut start = candidate.start;
    let mut opened = false;
    let closed = candidate.separators & BRACKET != 0;
    if closed && byte_before(bytes, start) == b'(' {
        start -= 1;
        opened = true;
    }
    if byte_before(bytes, start) == b'+' && !byte_before(bytes, start - 1).is_ascii_alphanumeric() {
        start -= 1;
        if closed && byte_before(bytes, start) == b'(' {
            start -= 1;
        }
        return (start, true, opened);
    }
    (start, false, opened)
}

/// True if the surrounding bytes make the digits part of something longer.
fn is_part(bytes: &[u8], candidate: &Candidate) -> bool {
    let left = byte_before(bytes, candidate.start);
    let further = byte_before(bytes, candidate.start.saturating_sub(1));
    let right = byte_at(bytes, candidate.end);
    let beyond = byte_at(bytes, candidate.end + 1);
    // `LIN+1++4364…` has empty parts, `-0351-03225` is a coordinate.
    let signed = left == b'+' && further == b'+' || left == b'-' && further == b'\t';
    // A short hash that links to its commit: `[0483042](https://…)`.
    let link = bytes.get(candidate.end..).is_some_and(|rest| rest.starts_with(b"](http"));
    signed
        || left == b'[' && link
        || matches!(left, b'_' | b'$' | b'@' | b'%')
        || matches!(left, b'.' | b'-' | b'/' | b':') && further.is_ascii_digit()
        || matches!(left, b'-' | b'/' | b'.') && further.is_ascii_alphabetic()
        || left == b'.'
        || right == b'_'
        || right == b'%'
        || right == b'@'
        || matches!(right, b':' | b'.' | b',' | b'-' | b'/') && beyond.is_ascii_digit()
}

/// True for a span of years: `2003-2009`.
fn is_years(candidate: &Candidate) -> bool {
    let is_year = |at: usize| matches!(candidate.chars().get(at..at + 2), Some(b"19" | b"20"));
    candidate.group_sizes() == [4, 4] && candidate.separators == HYPHEN && is_year(0) && is_year(4)
}

/// True for the number of an account in `arn:aws:ssm:*:111122223333:contact/x`.
fn is_in_resource_name(bytes: &[u8], start: usize) -> bool {
    const MAX_RESOURCE_BYTES: usize = 48;
    let run = bytes.get(start.saturating_sub(MAX_RESOURCE_BYTES)..start).unwrap_or_default();
    let Some(run) = run.strip_suffix(b":") else { return false };
    let is_part = |b: &&u8| b.is_ascii_alphanumeric() || b":_-*".contains(b);
    let len = run.iter().rev().take_while(is_part).count();
    run.get(run.len() - len..).unwrap_or_default().starts_with(b"arn:")
}

/// The end of the longest prefix of the candidate, cut at blanks, that is such a number.
fn longest_prefix(
    bytes: &[u8],
    candidate: &Candidate,
    whole: &DigitGroups<'_>,
    cuts: usize,
    fits: impl Fn(&DigitGroups<'_>) -> bool,
) -> Option<usize> {
    if fits(whole) {
        return Some(candidate.end);
    }
    let mut end = candidate.end;
    let (mut digits, mut sizes) = (whole.digits, whole.sizes);
    let pairs = sizes.iter().all(|size| *size == 2);
    for _ in 0..cuts {
        let (last, rest) = sizes.split_last()?;
        let size = usize::from(*last);
        let gap = end.checked_sub(size)?;
        if byte_before(bytes, gap) != b' ' || rest.is_empty() || pairs {
            return None;
        }
        end = gap;
        while end > candidate.start && !byte_before(bytes, end).is_ascii_digit() {
            end -= 1;
        }
        sizes = rest;
        digits = digits.get(..digits.len().checked_sub(size)?)?;
        let part =
            DigitGroups { digits, sizes, separators: whole.separators, opened: whole.opened };
        if fits(&part) {
            return Some(end);
        }
    }
    None
}

/// True before a word that makes the number that of a thing, as in Turkish: `0532-441-7220 numaralı
/// sipariş`.
fn is_ordinal(context: &CandidateContext<'_>, end: usize) -> bool {
    let rest = context.bytes.get(end..).unwrap_or_default();
    let is_one = ["numaralı", "nolu", "no'lu", "sayılı"]
        .iter()
        .any(|word| rest.strip_prefix(b" ").is_some_and(|rest| rest.starts_with(word.as_bytes())));
    is_one && context.get().anywhere & topic::PHONE == 0
}

/// True for pairs of digits beside a pair of hexadecimal ones: `1a 01 78 00 00 fe`.
fn is_in_hex_dump(bytes: &[u8], candidate: &Candidate) -> bool {
    let is_pair = |pair: Option<&[u8]>| {
        matches!(pair, Some([b' ', a, b] | [a, b, b' '])
            if a.is_ascii_hexdigit() && b.is_ascii_hexdigit() && a.is_ascii_digit() != b.is_ascii_digit())
    };
    let before = candidate.start.checked_sub(3).and_then(|from| bytes.get(from..candidate.start));
    candidate.group_sizes().iter().all(|size| *size == 2)
        && (is_pair(before) || is_pair(bytes.get(candidate.end..candidate.end + 3)))
}

/// True if words before it say that the number is something else.
fn is_denied(context: &CandidateContext<'_>) -> bool {
    let topics = context.get();
    let other = topic::OTHER | topic::BANK | topic::VERSION;
    topics.last_label & topics.right_before & other != 0 && topics.last_label & topic::PHONE == 0
}

/// True if a word right before or after names a phone and nothing contradicts it.
fn is_named(context: &CandidateContext<'_>, number: &DigitGroups<'_>, start: usize) -> bool {
    let DigitGroups { digits, sizes, separators, .. } = *number;
    let decimal = separators == POINT && sizes.len() == 2 && !matches!(sizes, [3 | 4, 3 | 4]);
    let short = sizes.len() == 1 && digits.len() < 7;
    let long = digits.len() > 15;
    let money = matches!(byte_before(context.bytes, start), b'$' | b'#');
    if decimal || short || long || money || is_value_of_phone_attribute(context.bytes, start) {
        return false;
    }
    let topics = context.get();
    // As in `the phone costs 449 000 won`.
    if is_count(number) && (!topics.is_adjacent || context.is_followed_by_word()) {
        return false;
    }
    let owned =
        topics.last_label & topic::NUMBERED_TOPICS != 0 && topics.last_label & topic::PHONE == 0;
    let before = topics.right_before & topic::PHONE != 0 && !owned;
    // A weaker word, such as `call`, requires a better form and nothing against it.
    let formed = sizes.len() > 1 && digits.len() >= 7 || digits.len() >= 9;
    let called = formed
        && topics.right_before & topic::CALL != 0
        && topics.right_before & topic::NUMBERED_TOPICS == 0;
    before
        || called
        || topics.right_after & topic::PHONE != 0
        || topics.right_before & topic::NUMBERED_TOPICS == 0
            && is_dialled_number(number)
            && is_behind_letter(context.bytes, start)
}

/// True behind the one letter that names a number in a signature, `T 0731 44172-208`: at the
/// beginning of a line or of a part of it.
fn is_behind_letter(bytes: &[u8], start: usize) -> bool {
    let before = bytes.get(start.saturating_sub(12)..start).unwrap_or_default();
    let named = before.trim_ascii_end();
    let is_apart = named.len() < before.len();
    let named = named.strip_suffix(b":").or_else(|| named.strip_suffix(b".")).unwrap_or(named);
    let Some((letter, lead)) = named.split_last() else { return false };
    let part = lead.trim_ascii_end();
    // A blank is between the sign that ends a part and the letter.
    let begins_part = lead.len() > part.len()
        && [&b"|"[..], b",", b";", b"/", b"\xc2\xb7", b"\xe2\x80\xa2", b"\xe2\x80\x93"]
            .iter()
            .any(|sign| part.ends_with(sign));
    let begins_line =
        lead.iter().rev().take_while(|byte| **byte != b'\n').all(|byte| *byte == b' ')
            && (lead.contains(&b'\n') || before.len() == start);
    is_apart && b"TFMPDOCW".contains(letter) && (begins_line || begins_part)
}

/// True for a table cell under a heading that names a phone.
fn is_in_column(context: &CandidateContext<'_>, number: &DigitGroups<'_>) -> bool {
    let names_a_phone = |heading: &[u8]| {
        let other = topic::VERSION | topic::NUMBERED_TOPICS;
        let topics = mentions::topics_of_text(heading);
        topics & (topic::PHONE | topic::CALL) != 0
            && topics & other == 0
            && !is_phone_attribute(heading)
    };
    (7..=15).contains(&number.digits.len()) && context.is_under_phone_heading(names_a_phone)
}

/// True after the key of an attribute of a phone, such as `"phone_views":`.
fn is_value_of_phone_attribute(bytes: &[u8], start: usize) -> bool {
    const MAX_KEY_BYTES: usize = 32;
    let seen = bytes.get(start.saturating_sub(MAX_KEY_BYTES)..start).unwrap_or_default();
    let between = |byte: &&u8| matches!(byte, b' ' | b'"' | b'\'' | b':' | b'=');
    let gap = seen.iter().rev().take_while(between).count();
    let (before, signs) = seen.split_at_checked(seen.len() - gap).unwrap_or_default();
    if !signs.iter().any(|byte| matches!(byte, b':' | b'=')) {
        return false;
    }
    let of_key = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let key = before.iter().rev().take_while(of_key).count();
    is_phone_attribute(before.get(before.len() - key..).unwrap_or_default())
}

/// True for headings of a phone's attributes, such as its type.
fn is_phone_attribute(heading: &[u8]) -> bool {
    const PHONE_ATTRIBUTES: [&[u8]; 28] = [
        b"type", b"typ", b"brand", b"plan", b"cost", b"sales", b"views", b"users", b"traffic",
        b"count", b"counts", b"total", b"minutes", b"minuten", b"seconds", b"duration", b"calls",
        b"sessions", b"clicks", b"visits", b"hits", b"sent", b"revenue", b"share", b"os", b"model",
        b"id", b"ids",
    ];
    let mut words = heading.split(|byte| !byte.is_ascii_alphabetic());
    words.any(|word| PHONE_ATTRIBUTES.iter().any(|about| about.eq_ignore_ascii_case(word)))
}

/// The end including an extension: `x12`, `ext. 12`, `extension 12`.
fn with_extension(bytes: &[u8], end: usize) -> usize {
    let mut at = end;
    while at - end < 2 && matches!(byte_at(bytes, at), b' ' | b',') {
        at += 1;
    }
    let rest = bytes.get(at..).unwrap_or_default();
    let names: [&[u8]; 5] = [b"extension", b"ext.", b"ext", b"x", b"#"];
    for name in names {
        if rest.get(..name.len()).is_some_and(|head| head.eq_ignore_ascii_case(name)) {
            let mut place = at + name.len();
            while place < at + name.len() + 2 && matches!(byte_at(bytes, place), b' ' | b':' | b'.')
            {
                place += 1;
            }
            let digits =
                bytes.get(place..).unwrap_or_default().iter().take(MAX_EXTENSION_DIGITS + 1);
            let count = digits.take_while(|byte| byte.is_ascii_digit()).count();
            let close = place + count;
            let ends = !byte_at(bytes, close).is_ascii_alphanumeric();
            return if (1..=MAX_EXTENSION_DIGITS).contains(&count) && ends { close } else { end };
        }
    }
    end
}

#[cfg(test)]
mod tests;
