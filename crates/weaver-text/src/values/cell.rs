//! Parses single values: the content of a row or a field of a reply.

use super::word::Word;
use super::{ValueClass, ValueToken, address, date, gram, number, payee};

/// Maximum length of a single value, in bytes.
const MAX_VALUE_BYTES: usize = 160;
/// Minimum numbers of letters and digits, and of digits alone, in an account.
const ACCOUNT: (usize, usize) = (8, 4);
/// Words of a label that mark its value as an identifier.
const IDENTIFIER_CUES: [&str; 9] =
    ["id", "ids", "number", "no", "key", "code", "uuid", "ref", "reference"];

/// Parses an account, card or telephone number: its letters and digits, in upper case.
#[must_use]
pub fn account(text: &str) -> Option<String> {
    let text = text.trim().trim_start_matches('+');
    let mut key = String::new();
    for c in text.chars() {
        match c {
            _ if c.is_ascii_alphanumeric() => key.push(c.to_ascii_uppercase()),
            ' ' | '-' | '.' | '(' | ')' | '\u{a0}' => {}
            _ => return None,
        }
    }
    let digits = key.bytes().filter(u8::is_ascii_digit).count();
    let (least, of_digits) = ACCOUNT;
    (key.len() >= least && digits >= of_digits && key.len() <= 64).then_some(key)
}

/// Parses an identifier: the text as written, without a leading `#`.
#[must_use]
pub fn identifier(text: &str) -> Option<String> {
    let text = text.trim();
    let text = text.strip_prefix('#').filter(|rest| !rest.is_empty()).unwrap_or(text);
    let sound =
        !text.is_empty() && text.len() <= MAX_VALUE_BYTES && !text.contains(char::is_whitespace);
    sound.then(|| super::fold_value(text))
}

/// Parses a possible password: the text as written.
#[must_use]
pub fn secret(text: &str) -> Option<String> {
    (!text.is_empty() && text.len() <= MAX_VALUE_BYTES).then(|| text.to_owned())
}

/// Normalises a path: separated by `/`, without `.` and empty parts. `None` for one with `..`, which
/// can lead elsewhere.
#[must_use]
pub fn path(text: &str) -> Option<String> {
    let text = super::fold_value(text.trim()).replace('\\', "/");
    let root = if text.starts_with('/') { "/" } else { "" };
    let parts: Vec<_> = text.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let sound = !parts.is_empty() && !parts.contains(&"..") && text.len() <= 4096;
    sound.then(|| format!("{root}{}", parts.join("/")))
}

/// Whether a word looks like a path or a file name.
pub(super) fn is_path(text: &str) -> bool {
    let ending = text.rsplit_once('.').is_some_and(|(stem, ending)| {
        let plain = ending.bytes().all(|b| b.is_ascii_alphanumeric());
        !stem.is_empty()
            && plain
            && (1..=5).contains(&ending.len())
            && number::number(text).is_none()
    });
    !text.contains("://") && !text.contains('@') && (ending || text.contains(['/', '\\']))
}

/// Appends the accounts in words, including those written in groups.
pub(super) fn push_accounts(words: &[Word<'_>], out: &mut Vec<ValueToken>) {
    for (at, word) in words.iter().enumerate() {
        if date::day(word.text).is_some() {
            continue;
        }
        out.extend(account(word.text).map(|key| ValueToken::new(ValueClass::Account, key)));
        let mut joined = String::new();
        for (length, part) in words.iter().skip(at).take(12).enumerate() {
            let group = part.text.len() <= 6
                && part.text.chars().any(|c| c.is_ascii_digit() || c.is_ascii_uppercase())
                && part.text.chars().all(|c| c.is_ascii_alphanumeric() || "+-()".contains(c));
            if !group || length > 0 && part.follows_break {
                break;
            }
            joined.push_str(part.text);
            if length > 0 {
                out.extend(account(&joined).map(|key| ValueToken::new(ValueClass::Account, key)));
            }
        }
    }
}

/// Appends the values in a text of a reply to `out`. `label` is the name of its field, if it has
/// one. Lines, and their parts between commas and similar separators, are parsed as single values;
/// `name: value` at the start of a line gives the label.
pub fn tokens_in_reply(label: Option<&str>, text: &str, out: &mut Vec<ValueToken>) {
    for text in super::spellings(text) {
        push_line_tokens(label, &text, out);
    }
}

fn push_line_tokens(label: Option<&str>, text: &str, out: &mut Vec<ValueToken>) {
    for line in text.lines() {
        let line = line.trim().trim_start_matches("- ").trim();
        let (label, rest) = match line.split_once(':') {
            Some((name, rest)) if is_label(name) && (rest.is_empty() || rest.starts_with(' ')) => {
                (Some(name.trim()), rest.trim())
            }
            _ => (label, line),
        };
        push_value_tokens(label, rest, out);
        for part in rest.split([',', ';', '|', '\t']).filter(|part| part.len() < rest.len()) {
            push_value_tokens(label, part, out);
        }
        for part in rest.split(|c: char| c.is_whitespace() || ",;|<>\"'".contains(c)) {
            out.extend(address::email(part).map(|key| ValueToken::new(ValueClass::Email, key)));
        }
        address::find(rest, false, out);
    }
    out.extend(payee::payees(text));
}

fn is_label(name: &str) -> bool {
    !name.is_empty() && name.len() <= 40 && name.split(' ').count() <= 3
}

/// Appends the tokens of a single value.
fn push_value_tokens(label: Option<&str>, text: &str, out: &mut Vec<ValueToken>) {
    let text = text.trim().trim_matches(['"', '\'', '`']).trim();
    if text.is_empty() || text.len() > MAX_VALUE_BYTES {
        return;
    }
    let name = gram::words(text);
    if !name.is_empty() && name.len() <= super::GRAM * 2 {
        out.push(ValueToken::new(ValueClass::Name, name.join(" ")));
    }
    if let Some(day) = date::day(text) {
        out.extend(day.keys().into_iter().map(|key| ValueToken::new(ValueClass::Day, key)));
        return;
    }
    if let Some(key) = number::number(text) {
        out.push(ValueToken::new(ValueClass::Number, key.clone()));
        out.push(ValueToken::new(ValueClass::Count, key.clone()));
        out.push(ValueToken::new(ValueClass::Amount, key));
    }
    out.extend(account(text).map(|key| ValueToken::new(ValueClass::Account, key)));
    if is_path(text) {
        out.extend(path(text).map(|key| ValueToken::new(ValueClass::Path, key)));
    }
    let words = label.map(crate::split::identifier).unwrap_or_default();
    let names = words.last().is_some_and(|word| IDENTIFIER_CUES.contains(&word.as_str()));
    let mixed = text.len() >= 6 && text.bytes().any(|b| b.is_ascii_digit());
    if let Some(key) = identifier(text) {
        if names || mixed {
            out.push(ValueToken::new(ValueClass::Identifier, key.clone()));
        }
        let cue = words.iter().rev().find(|word| !IDENTIFIER_CUES.contains(&word.as_str()));
        out.extend(cue.map(|cue| {
            ValueToken::new(ValueClass::Cued, gram::cued_name(cue, &key.to_lowercase()))
        }));
    }
}
