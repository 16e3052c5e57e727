//! Tokens that their form gives away, without a prefix that is long enough to search for.

use std::ops::Range;

use super::shape::Shape;
use super::{byte, part};
use crate::redact::validate::not_placeholder;

/// The token in the run, if the run is one whose form is known.
pub(super) fn known(bytes: &[u8], run: Range<usize>) -> Option<Range<usize>> {
    let raw = part(bytes, run.clone());
    let range = if is_twilio(raw) || is_mailchimp(raw) || is_marked(raw) || is_dotted(raw) {
        run
    } else {
        bot(bytes, run)?
    };
    std::str::from_utf8(raw).is_ok_and(not_placeholder).then_some(range)
}

/// `SK` or `AC` and 32 hexadecimal digits.
fn is_twilio(raw: &[u8]) -> bool {
    raw.len() == 34
        && (raw.starts_with(b"SK") || raw.starts_with(b"AC"))
        && raw.get(2..).is_some_and(|rest| {
            rest.iter().all(|b| b.is_ascii_digit() || matches!(b, b'a'..=b'f'))
                && Shape::of(rest).turns >= 3
        })
}

/// 32 hexadecimal digits, `-us` and a number.
fn is_mailchimp(raw: &[u8]) -> bool {
    let (Some(head), Some(tail)) = (raw.get(..32), raw.get(32..)) else { return false };
    let place = tail.strip_prefix(b"-us").unwrap_or_default();
    matches!(place.len(), 1 | 2)
        && place.iter().all(u8::is_ascii_digit)
        && head.iter().all(u8::is_ascii_hexdigit)
}

/// Marks that stand inside a token, not at its start.
fn is_marked(raw: &[u8]) -> bool {
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

/// A Discord bot's token, a Vault token of the old form.
fn is_dotted(raw: &[u8]) -> bool {
    if !raw.first().is_some_and(|b| b"MNOs".contains(b)) {
        return false;
    }
    let mut parts = raw.split(|b| *b == b'.');
    let (first, second) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let Some(third) = parts.next() else {
        return first == b"s" && second.len() == 24 && Shape::of(second).random();
    };
    parts.next().is_none()
        && matches!(first.len(), 23..=28)
        && matches!(second.len(), 6 | 7)
        && matches!(third.len(), 27..=38)
        && Shape::of(first).random()
}

/// A Telegram bot's token: a number, a colon, and 35 characters from `A` on.
fn bot(bytes: &[u8], run: Range<usize>) -> Option<Range<usize>> {
    let raw = part(bytes, run.clone());
    if !(34..=36).contains(&raw.len()) || raw.first() != Some(&b'A') {
        return None;
    }
    if byte(bytes, run.start.wrapping_sub(1)) != b':' {
        return None;
    }
    let before = part(bytes, run.start.saturating_sub(18)..run.start - 1);
    let digits = before.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    (5..=16).contains(&digits).then(|| run.start - 1 - digits..run.end)
}
