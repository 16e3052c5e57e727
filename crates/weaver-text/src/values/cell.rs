//! Values that stand alone: what a row or a field of an answer holds.

use super::word::Word;
use super::{Class, Token, address, gram, moment, number};

/// The longest value that is taken as a whole, in bytes.
const MAX_CELL: usize = 160;
/// Fewest letters and digits of an account, and fewest digits in it.
const ACCOUNT: (usize, usize) = (8, 4);
/// Words that say of a value that it names a thing.
const NAMING: [&str; 9] = ["id", "ids", "number", "no", "key", "code", "uuid", "ref", "reference"];

/// An account, a card or a telephone: its letters and digits, in upper case.
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

/// What names one thing, as it is written but for the `#` before it.
#[must_use]
pub fn identifier(text: &str) -> Option<String> {
    let text = text.trim();
    let text = text.strip_prefix('#').filter(|rest| !rest.is_empty()).unwrap_or(text);
    let sound = !text.is_empty() && text.len() <= MAX_CELL && !text.contains(char::is_whitespace);
    sound.then(|| super::plain(text))
}

/// What may be a password, as it is written.
#[must_use]
pub fn secret(text: &str) -> Option<String> {
    (!text.is_empty() && text.len() <= MAX_CELL).then(|| text.to_owned())
}

/// A path: one kind of separator, no `.` and no empty part. `None` for one with `..`, which is a
/// path to somewhere else.
#[must_use]
pub fn path(text: &str) -> Option<String> {
    let text = super::plain(text.trim()).replace('\\', "/");
    let root = if text.starts_with('/') { "/" } else { "" };
    let parts: Vec<_> = text.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let sound = !parts.is_empty() && !parts.contains(&"..") && text.len() <= 4096;
    sound.then(|| format!("{root}{}", parts.join("/")))
}

/// Whether a word is written as a path or as the name of a file.
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

/// Accounts in words, also in groups.
pub(super) fn accounts(words: &[Word<'_>], out: &mut Vec<Token>) {
    for (at, word) in words.iter().enumerate() {
        if moment::day(word.text).is_some() {
            continue;
        }
        out.extend(account(word.text).map(|key| Token::new(Class::Account, key)));
        let mut joined = String::new();
        for (length, part) in words.iter().skip(at).take(12).enumerate() {
            let group = part.text.len() <= 6
                && part.text.chars().any(|c| c.is_ascii_digit() || c.is_ascii_uppercase())
                && part.text.chars().all(|c| c.is_ascii_alphanumeric() || "+-()".contains(c));
            if !group || length > 0 && part.breaks {
                break;
            }
            joined.push_str(part.text);
            if length > 0 {
                out.extend(account(&joined).map(|key| Token::new(Class::Account, key)));
            }
        }
    }
}

/// What a text of somebody's answer names. `label` is the name of its field, where it has one.
/// Rows, and parts between commas and such, are read as values of their own; a `name: value` at
/// their start gives the label. Appends to `out`.
pub fn told(label: Option<&str>, text: &str, out: &mut Vec<Token>) {
    let text = super::plain(text);
    for line in text.lines() {
        let line = line.trim().trim_start_matches("- ").trim();
        let (label, rest) = match line.split_once(':') {
            Some((name, rest)) if is_label(name) && (rest.is_empty() || rest.starts_with(' ')) => {
                (Some(name.trim()), rest.trim())
            }
            _ => (label, line),
        };
        value(label, rest, out);
        for part in rest.split([',', ';', '|', '\t']).filter(|part| part.len() < rest.len()) {
            value(label, part, out);
        }
        for part in rest.split(|c: char| c.is_whitespace() || ",;|<>\"'".contains(c)) {
            out.extend(address::email(part).map(|key| Token::new(Class::Email, key)));
        }
        address::find(rest, out);
    }
}

fn is_label(name: &str) -> bool {
    !name.is_empty() && name.len() <= 40 && name.split(' ').count() <= 3
}

/// One value that stands alone.
fn value(label: Option<&str>, text: &str, out: &mut Vec<Token>) {
    let text = text.trim().trim_matches(['"', '\'', '`']).trim();
    if text.is_empty() || text.len() > MAX_CELL {
        return;
    }
    let name = gram::words(text);
    if !name.is_empty() && name.len() <= super::GRAM * 2 {
        out.push(Token::new(Class::Name, name.join(" ")));
    }
    if let Some(day) = moment::day(text) {
        out.extend(day.keys().into_iter().map(|key| Token::new(Class::Day, key)));
        return;
    }
    if let Some(key) = number::number(text) {
        out.push(Token::new(Class::Number, key.clone()));
        out.push(Token::new(Class::Amount, key));
    }
    out.extend(account(text).map(|key| Token::new(Class::Account, key)));
    if is_path(text) {
        out.extend(path(text).map(|key| Token::new(Class::Path, key)));
    }
    let words = label.map(crate::split::identifier).unwrap_or_default();
    let names = words.last().is_some_and(|word| NAMING.contains(&word.as_str()));
    let mixed = text.len() >= 6 && text.bytes().any(|b| b.is_ascii_digit());
    if let Some(key) = identifier(text) {
        if names || mixed {
            out.push(Token::new(Class::Identifier, key.clone()));
        }
        let cue = words.iter().rev().find(|word| !NAMING.contains(&word.as_str()));
        out.extend(
            cue.map(|cue| Token::new(Class::Cued, gram::cued_name(cue, &key.to_lowercase()))),
        );
    }
}
