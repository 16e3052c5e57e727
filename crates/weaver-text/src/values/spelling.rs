//! Brings texts into one spelling, and tells spellings apart that are not one value.
//!
//! What a person said is read as written and with compatibility forms folded (NFKC). A value of a
//! call must be spelled in one of these two ways: a name in full-width letters is another name than
//! the plain one unless the person wrote it so.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

use super::{MAX_TEXT, address, date, gram, number};
use crate::invisible::{is_blank_symbol, is_invisible, is_private};

/// Digits of other widths and styles, the decimal digits among the compatibility forms.
const STYLED_DIGITS: [std::ops::RangeInclusive<char>; 3] =
    ['\u{ff10}'..='\u{ff19}', '\u{1d7ce}'..='\u{1d7ff}', '\u{1fbf0}'..='\u{1fbf9}'];

/// Whether a reader sees every character of a value, and it is short enough to be read as a whole.
/// Nothing vouches for a value with characters that are not displayed: with them it is another
/// value that looks the same.
#[must_use]
pub fn is_displayed(text: &str) -> bool {
    let plain = |b: u8| (b' '..=b'~').contains(&b) || matches!(b, b'\n' | b'\r' | b'\t');
    if text.len() > MAX_TEXT {
        return false;
    }
    if text.bytes().all(plain) {
        return true;
    }
    let mut before = None;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let hidden = is_invisible(c) && !joins(before, c, rest.peek().copied())
            || is_private(c)
            || is_blank_symbol(c)
            || c.is_control() && !matches!(c, '\n' | '\r' | '\t');
        if hidden {
            return false;
        }
        before = Some(c);
    }
    true
}

/// Whether an invisible character changes how its neighbours are displayed: a joiner between letters
/// of a script that has them, or a selector or joiner in an emoji.
fn joins(before: Option<char>, c: char, after: Option<char>) -> bool {
    let Some(before) = before else { return false };
    let pictured = |c: char| matches!(c, '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}');
    match c {
        '\u{fe0e}' | '\u{fe0f}' => pictured(before),
        '\u{200d}' if after.is_some_and(pictured) => pictured(before) || before == '\u{fe0f}',
        '\u{200c}' | '\u{200d}' => is_joined_script(before) && after.is_some_and(is_joined_script),
        _ => false,
    }
}

/// Whether joiners change how letters of this script look: Arabic and the scripts of India.
fn is_joined_script(c: char) -> bool {
    matches!(c, '\u{600}'..='\u{6ff}' | '\u{750}'..='\u{77f}' | '\u{900}'..='\u{dff}')
}

/// The values in a text, in a form that does not depend on how they are written: numbers, days and
/// addresses as such, of anything else the letters and digits. Different values may have the same
/// form, so that it can only tell that two are not the same.
#[must_use]
pub fn bare_values(text: &str) -> Vec<String> {
    if text.contains('@') {
        let parts = text.split([',', ';']).map(|part| match part.rsplit_once('<') {
            Some((_, address)) => bare(address),
            None => bare(part),
        });
        return parts.filter(|part| !part.is_empty()).collect();
    }
    Some(bare(text)).filter(|found| !found.is_empty()).into_iter().collect()
}

fn bare(text: &str) -> String {
    let folded = fold(text);
    let text = folded.trim();
    if let Some(found) = number::number(text) {
        return found;
    }
    let known = date::day(text).and_then(|day| day.keys().into_iter().next());
    let known = known.or_else(|| address::url(text).map(|token| token.key));
    let written = known.unwrap_or_else(|| gram::words(text).concat());
    written.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The spellings in which a text of a person, or of a source, is read: with compatibility forms
/// folded, and as written if that is another one.
pub(super) fn spellings(text: &str) -> Vec<String> {
    let folded = fold_text(text);
    let text = super::truncate(text);
    let as_written = has_styled_letters(text).then(|| compose(&number::join_groups(text)));
    std::iter::once(folded).chain(as_written).collect()
}

/// The spelling in which a value of a call is compared.
pub(super) fn fold_value(text: &str) -> String {
    if has_styled_letters(text) { compose(super::truncate(text)) } else { fold_text(text) }
}

/// Folds a text that may be too long, with the blanks that group digits removed.
pub(super) fn fold_text(text: &str) -> String {
    let text = super::truncate(text);
    if text.is_ascii() { fold(text) } else { fold(&number::join_groups(text)) }
}

/// Folds compatibility forms (NFKC) and removes invisible characters other than white space.
/// Superscripts, fractions and other numbers that are no decimal digits stay: `10²` is not 102.
pub(super) fn fold(text: &str) -> String {
    let text = without_invisible(text);
    if text.is_ascii() {
        return text.into_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut plain = 0;
    for (at, c) in text.char_indices().filter(|(_, c)| is_other_number(*c)) {
        out.extend(text.get(plain..at).unwrap_or_default().nfkc());
        out.push(c);
        plain = at.saturating_add(c.len_utf8());
    }
    out.extend(text.get(plain..).unwrap_or_default().nfkc());
    out
}

/// Composes accents (NFC) and removes invisible characters, and leaves letters as they are written.
fn compose(text: &str) -> String {
    without_invisible(text).nfc().collect()
}

fn without_invisible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_invisible) {
        return Cow::Borrowed(text);
    }
    let mut before = None;
    let mut rest = text.chars().peekable();
    let mut out = String::with_capacity(text.len());
    while let Some(c) = rest.next() {
        let joiner = matches!(c, '\u{200c}' | '\u{200d}') && before.is_some_and(is_joined_script);
        if !is_invisible(c) || c.is_whitespace() || joiner && joins(before, c, rest.peek().copied())
        {
            out.push(c);
        }
        before = Some(c);
    }
    Cow::Owned(out)
}

/// Whether a text has letters or digits that NFKC makes others of: full-width ones, ligatures,
/// letters of mathematics. Decimal digits of a number are not meant.
fn has_styled_letters(text: &str) -> bool {
    let styled = |c: char| {
        let digit = STYLED_DIGITS.iter().any(|digits| digits.contains(&c));
        let (folded, composed) = (std::iter::once(c).nfkc(), std::iter::once(c).nfc());
        !digit && folded.clone().any(char::is_alphanumeric) && !folded.eq(composed)
    };
    !text.is_ascii() && text.chars().any(|c| !c.is_ascii() && !is_other_number(c) && styled(c))
}

/// Whether a character is a number and no decimal digit, and NFKC would make digits of it.
fn is_other_number(c: char) -> bool {
    c.is_numeric()
        && !c.is_ascii()
        && !STYLED_DIGITS.iter().any(|digits| digits.contains(&c))
        && std::iter::once(c).nfkc().any(|c| c.is_ascii_alphanumeric())
}
