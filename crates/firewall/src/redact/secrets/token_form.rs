//! Tokens recognised by their form, whose prefix is too short to search for.

use std::ops::Range;

use super::key_prefix::{is_base32_seed, is_id_and_secret, is_mailgun, is_marked_key};
use super::token_stats::TokenStats;
use super::{byte_at, slice};
use crate::redact::validators::not_placeholder;

/// The token in the run, if it has a known form.
pub(super) fn known_token(bytes: &[u8], run: Range<usize>) -> Option<Range<usize>> {
    // Behind a scheme the slashes are a part of the run.
    let slashes = slice(bytes, run.clone()).iter().take_while(|b| **b == b'/').count();
    let run = run.start + slashes..run.end;
    let raw = slice(bytes, run.clone());
    let is_known = is_twilio(raw) && !is_behind_sid(bytes, run.start)
        || is_mailchimp(raw)
        || has_inner_mark(raw)
        || is_dotted_token(raw)
        || is_mailgun(raw)
        || is_marked_key(raw)
        || is_base32_seed(raw)
        || is_id_and_secret(raw);
    let range = if is_known { run } else { telegram_bot_token(bytes, run)? };
    std::str::from_utf8(raw).is_ok_and(not_placeholder).then_some(range)
}

/// True behind a name that says that the secret stands elsewhere: `"sid": "SK…"`.
fn is_behind_sid(bytes: &[u8], start: usize) -> bool {
    const MAX_GAP: usize = 16;
    let before = slice(bytes, start.saturating_sub(MAX_GAP)..start);
    let is_sign = |b: &&u8| !b.is_ascii_alphanumeric();
    let gap = before.iter().rev().take_while(is_sign).count();
    let name = slice(before, 0..before.len() - gap);
    name.len() >= 3
        && name.get(name.len() - 3..).is_some_and(|end| end.eq_ignore_ascii_case(b"sid"))
}

/// A Twilio key: `SK` and 32 hexadecimal digits. Those with other letters are accounts and messages.
fn is_twilio(raw: &[u8]) -> bool {
    raw.len() == 34
        && raw.starts_with(b"SK")
        && raw.get(2..).is_some_and(|rest| {
            rest.iter().all(|b| b.is_ascii_digit() || matches!(b, b'a'..=b'f'))
                && TokenStats::of(rest).letter_digit_transitions >= 3
        })
}

/// A Mailchimp key: 32 hexadecimal digits, `-us` and a number.
fn is_mailchimp(raw: &[u8]) -> bool {
    let (Some(head), Some(tail)) = (raw.get(..32), raw.get(32..)) else { return false };
    let place = tail.strip_prefix(b"-us").unwrap_or_default();
    matches!(place.len(), 1 | 2)
        && place.iter().all(u8::is_ascii_digit)
        && head.iter().all(u8::is_ascii_hexdigit)
}

/// Vendors whose tokens contain a marker in the middle.
fn has_inner_mark(raw: &[u8]) -> bool {
    let has = |mark: &[u8]| raw.windows(mark.len()).any(|window| window == mark);
    let azure = || {
        (38..=42).contains(&raw.len())
            && raw.get(3..6).is_some_and(|w| {
                w.first().is_some_and(u8::is_ascii_digit) && w.get(1..) == Some(b"Q~")
            })
    };
    match raw.len() {
        51 | 56 if has(b"T3BlbkFJ") => true,
        60..=100 if has(b".atlasv1.") => true,
        84 if has(b"JQQJ99") || has(b"AZDO") => true,
        40 if raw.ends_with(b"_mmk") => true,
        _ => azure(),
    }
}

/// A Discord bot token, or a Vault token of the old form.
fn is_dotted_token(raw: &[u8]) -> bool {
    if !raw.first().is_some_and(|b| b"MNOs".contains(b)) {
        return false;
    }
    let mut parts = raw.split(|b| *b == b'.');
    let (first, second) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let Some(third) = parts.next() else {
        return first == b"s" && second.len() == 24 && TokenStats::of(second).looks_random();
    };
    parts.next().is_none()
        && matches!(first.len(), 23..=28)
        && matches!(second.len(), 6 | 7)
        && matches!(third.len(), 27..=38)
        && TokenStats::of(first).looks_random()
}

/// A Telegram bot token: a number, a colon, and 35 characters beginning with `A`.
fn telegram_bot_token(bytes: &[u8], run: Range<usize>) -> Option<Range<usize>> {
    let raw = slice(bytes, run.clone());
    // In a URL the name of a method follows: `bot…/sendMessage`.
    let raw = raw.split(|b| *b == b'/').next().unwrap_or_default();
    let run = run.start..run.start + raw.len();
    if !(34..=36).contains(&raw.len()) || raw.first() != Some(&b'A') {
        return None;
    }
    if byte_at(bytes, run.start.wrapping_sub(1)) != b':' {
        return None;
    }
    let before = slice(bytes, run.start.saturating_sub(18)..run.start - 1);
    let digits = before.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    (5..=16).contains(&digits).then(|| run.start - 1 - digits..run.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEX: &str = "a1b2c3d4e5f60718a1b2c3d4e5f60718";

    fn cut(text: &str, range: impl std::slice::SliceIndex<str, Output = str>) -> &str {
        text.get(range).unwrap()
    }

    #[track_caller]
    fn check(is: fn(&[u8]) -> bool, rows: &[(String, bool)]) {
        let wrong: Vec<&String> = rows
            .iter()
            .filter(|(raw, wanted)| is(raw.as_bytes()) != *wanted)
            .map(|row| &row.0)
            .collect();
        assert!(wrong.is_empty(), "{wrong:?}");
    }

    #[test]
    fn an_identifier_of_twilio_has_its_letters_and_32_mixed_digits() {
        check(
            is_twilio,
            &[
                (format!("SK{HEX}"), true),
                (format!("AC{HEX}"), false),
                (format!("AK{HEX}"), false),
                (format!("SK{HEX}0"), false),
                (format!("SK{}", cut(HEX, 1..)), false),
                (format!("SK{}", HEX.to_uppercase()), false),
                (format!("SK{}", "a".repeat(32)), false),
                (format!("SK{}", HEX.replace('a', "g")), false),
            ],
        );
    }

    #[test]
    fn a_key_of_mailchimp_ends_with_its_place() {
        check(
            is_mailchimp,
            &[
                (format!("{HEX}-us1"), true),
                (format!("{HEX}-us12"), true),
                (format!("{HEX}-us123"), false),
                (format!("{HEX}-us"), false),
                (format!("{HEX}-usa"), false),
                (format!("{HEX}-eu1"), false),
                (format!("{}-us1", HEX.replace('a', "g")), false),
                (HEX.to_owned(), false),
                ("a1".to_owned(), false),
            ],
        );
    }

    #[test]
    fn a_mark_inside_counts_in_a_token_of_its_length() {
        let with = |mark: &str, length: usize| {
            format!("{}{mark}{}", "x".repeat(10), "y".repeat(length - 10 - mark.len()))
        };
        let ends = |length: usize| format!("{}_mmk", "x".repeat(length - 4));
        let azure =
            |head: &str, length: usize| format!("{head}{}", "x".repeat(length - head.len()));
        check(
            has_inner_mark,
            &[
                (with("T3BlbkFJ", 51), true),
                (with("T3BlbkFJ", 56), true),
                (with("T3BlbkFJ", 52), false),
                (with("T3BlbkFK", 51), false),
                (with(".atlasv1.", 60), true),
                (with(".atlasv1.", 100), true),
                (with(".atlasv1.", 59), false),
                (with(".atlasv1.", 101), false),
                (with("JQQJ99", 84), true),
                (with("AZDO", 84), true),
                (with("AZDO", 83), false),
                (with("AZDP", 84), false),
                (ends(40), true),
                (ends(41), false),
                (azure("abc8Q~", 38), true),
                (azure("abc8Q~", 40), true),
                (azure("abc8Q~", 42), true),
                (azure("abc8Q~", 37), false),
                (azure("abc8Q~", 43), false),
                (azure("abcdQ~", 40), false),
                (azure("abc8Q-", 40), false),
                (azure("ab8Q~x", 40), false),
            ],
        );
    }

    #[test]
    fn a_dotted_token_has_parts_of_their_lengths() {
        let (first, third) = ("MTk4NjIyNDgzNDcxOTI1MjQ4", "ZnCjm1XVW7vRze4b7Cq4se7kKWs");
        let old = "q8Vn2LmZ7rKdq8Vn2LmZ7rKd";
        check(
            is_dotted_token,
            &[
                (format!("{first}.Cl2FMQ.{third}"), true),
                (format!("{first}.Cl2FMQa.{third}"), true),
                (format!("{first}.Cl2FM.{third}"), false),
                (format!("{first}.Cl2FMQab.{third}"), false),
                (format!("{first}.Cl2FMQ.{}", cut(third, 1..)), false),
                (format!("{first}.Cl2FMQ.{third}{}", cut(third, ..11)), true),
                (format!("{first}.Cl2FMQ.{third}{}", cut(third, ..12)), false),
                (format!("{first}.Cl2FMQ.{third}.a"), false),
                (format!("{first}abcd.Cl2FMQ.{third}"), true),
                (format!("{first}abcde.Cl2FMQ.{third}"), false),
                (format!("{}.Cl2FMQ.{third}", cut(first, ..23)), true),
                (format!("{}.Cl2FMQ.{third}", cut(first, ..22)), false),
                (format!("{}.Cl2FMQ.{third}", "M".repeat(24)), false),
                (format!("A{}.Cl2FMQ.{third}", cut(first, 1..)), false),
                (format!("s.{old}"), true),
                (format!("s.{old}a"), false),
                (format!("s.{}", cut(old, 1..)), false),
                (format!("sa.{old}"), false),
                (format!("s.{}", "a".repeat(24)), false),
                ("s".to_owned(), false),
            ],
        );
    }

    #[test]
    fn a_token_of_a_bot_follows_on_its_number() {
        let found = |digits: usize, sign: char, first: char, length: usize| {
            let text = format!("x{}{sign}{first}{}", "7".repeat(digits), "b".repeat(length - 1));
            let start = digits + 2;
            telegram_bot_token(text.as_bytes(), start..start + length)
                .map(|range| (range.start, range.len()))
        };
        for (digits, length, is_found) in [
            (5, 35, true),
            (16, 35, true),
            (4, 35, false),
            (17, 35, false),
            (9, 34, true),
            (9, 36, true),
            (9, 33, false),
            (9, 37, false),
        ] {
            let range = is_found.then_some((1, digits + 1 + length));
            assert_eq!(found(digits, ':', 'A', length), range, "{digits} and {length}");
        }
        assert_eq!((found(9, '-', 'A', 35), found(9, ':', 'B', 35)), (None, None));
    }
}
