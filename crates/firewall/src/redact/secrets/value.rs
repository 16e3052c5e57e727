//! Values: where one ends, and whether it is a secret.

use std::ops::Range;

use super::name::{self, SecretKind};
use super::shape::{Shape, is_uuid};
use super::{LONG, byte, part};
use crate::redact::checksum;
use crate::redact::validate::{not_a_path, not_an_identifier, not_placeholder};

/// A value and how it stands there.
#[derive(Debug)]
pub(super) struct Value {
    pub(super) range: Range<usize>,
    pub(super) quoted: bool,
    /// Its sign: `=`, `:`, `,`, `>` or a blank.
    pub(super) sign: u8,
    /// No blank between sign and value.
    pub(super) tight: bool,
    /// Only a value that looks like a token counts.
    pub(super) strict: bool,
}

/// The value after a sign.
pub(super) fn after(bytes: &[u8], from: usize, sign: u8) -> Option<Value> {
    let rest = part(bytes, from..(from + 24).min(bytes.len()));
    let mut start = from + rest.iter().take_while(|b| b" \t=".contains(b)).count();
    let tight = start == from;
    let mut strict = false;
    let folded = byte(bytes, start) == b'\\' && b"\r\n".contains(&byte(bytes, start + 1));
    if (folded || b"\r\n".contains(&byte(bytes, start))) && b"=:".contains(&sign) {
        (start, strict) = (next_line(bytes, start), true);
    }
    start +=
        usize::from(b"brfuLN@".contains(&byte(bytes, start)) && is_quote(byte(bytes, start + 1)));
    let rest = part(bytes, start..(start + 8).min(bytes.len()));
    let slashes = rest.iter().take_while(|b| **b == b'\\').count();
    let quote = byte(bytes, start + slashes);
    if is_quote(quote) && slashes < 8 {
        let from = start + slashes + 1;
        let run = part(bytes, from..(from + LONG).min(bytes.len()));
        let mut escaped = false;
        let len = run.iter().position(|b| {
            let ends = !escaped && (*b == quote || slashes > 0 && *b == b'\\') || *b == b'\n';
            escaped = !escaped && *b == b'\\';
            ends
        });
        let closed = len.is_some_and(|len| byte(bytes, from + len) != b'\n');
        if closed || sign == b',' {
            let range = from..from + len?;
            return Some(Value { range, quoted: true, sign, tight, strict });
        }
        start = from;
    }
    let run = part(bytes, start..(start + LONG).min(bytes.len()));
    let ends = |b: &u8| b.is_ascii_whitespace() || b"\"'`<>,;&)]}\\".contains(b);
    let len = run.iter().position(ends).unwrap_or(run.len());
    let trimmed = part(bytes, start..start + len);
    let len = len - trimmed.iter().rev().take_while(|b| **b == b'.').count();
    Some(Value { range: start..start + len, quoted: false, sign, tight, strict })
}

/// Past the end of a line and the blanks after it.
fn next_line(bytes: &[u8], at: usize) -> usize {
    let run = part(bytes, at..(at + 48).min(bytes.len()));
    let lines = run.iter().take_while(|b| b"\\\r\n \t".contains(b));
    at + lines.count()
}

/// The text of an XML element.
pub(super) fn in_element(bytes: &[u8], from: usize) -> Option<Value> {
    let run = part(bytes, from..(from + 64).min(bytes.len()));
    let mut start = from + run.iter().take_while(|b| b.is_ascii_whitespace()).count();
    if part(bytes, start..start + 9) == b"<![CDATA[" {
        start += 9;
    }
    let run = part(bytes, start..(start + LONG).min(bytes.len()));
    let ends = |b: &u8| b"<]\r\n".contains(b);
    let len = run.iter().position(ends)?;
    let trimmed = part(bytes, start..start + len);
    let len = len - trimmed.iter().rev().take_while(|b| b.is_ascii_whitespace()).count();
    Some(Value { range: start..start + len, quoted: true, sign: b'>', tight: true, strict: false })
}

/// Where a value of a list that semicolons separate ends: `;Password=a&b;` has the whole of `a&b`.
pub(super) fn to_semicolon(bytes: &[u8], end: usize) -> usize {
    let run = part(bytes, end..(end + LONG).min(bytes.len()));
    let ends = |b: &u8| b.is_ascii_whitespace() || b"\"'`<>;".contains(b);
    run.iter()
        .position(ends)
        .filter(|len| run.get(*len) == Some(&b';'))
        .map_or(end, |len| end + len)
}

fn is_quote(byte: u8) -> bool {
    b"\"'`".contains(&byte)
}

/// Beginnings of values that say where a secret is kept.
const REFERENCES: [&str; 13] = [
    "./", "../", "~/", "env:", "file:", "fd:", "vault:", "op://", "arn:aws:", "ssm:", "keyring:",
    "keychain:", "secretref:",
];

/// Whether the value is a secret of the kind that its name tells.
pub(super) fn is_secret(bytes: &[u8], value: &Value, tells: SecretKind) -> bool {
    let raw = part(bytes, value.range.clone());
    let Ok(text) = std::str::from_utf8(raw) else { return false };
    if text.is_empty()
        || text.starts_with(['[', '('])
        || text.starts_with("ENC[")
        || !not_placeholder(text)
    {
        return false;
    }
    let shape = Shape::of(raw);
    if shape.digits == 0 && (name::secret_kind(raw).is_some() || name::is_label(raw)) {
        return false;
    }
    if REFERENCES.iter().any(|start| text.starts_with(start)) {
        return false;
    }
    // A name that is given something else, or a call; `password=password1)` gives a variable.
    let next = byte(bytes, value.range.end);
    if !value.quoted && matches!(next, b')' | b',') && name::secret_kind(raw).is_some() {
        return false;
    }
    let open = text.ends_with(':') || text.ends_with('=') && !is_padded(raw);
    let code = !value.quoted && (text.contains(['(', '[', '{']) || open);
    if code || !value.quoted && b"([".contains(&next) {
        return false;
    }
    match tells {
        SecretKind::Password => is_password(text, &shape, value),
        SecretKind::Pass => shape.len >= 6 && shape.letters > 0 && is_password(text, &shape, value),
        SecretKind::Secret => is_token(text, &shape, value),
        SecretKind::Weak => {
            shape.len >= 16 && shape.random() && !is_uuid(raw) && is_token(text, &shape, value)
        }
    }
}

/// True for base64 with padding at its end.
fn is_padded(text: &[u8]) -> bool {
    let is_base64 = |b: &u8| b.is_ascii_alphanumeric() || b"+/=-_".contains(b);
    text.len() >= 24 && text.len().is_multiple_of(4) && text.iter().all(is_base64)
}

fn is_password(text: &str, shape: &Shape, value: &Value) -> bool {
    let word = |c: char| c.is_ascii_alphabetic() || !c.is_ascii();
    let plain = text.chars().all(|c| word(c) || "_.-".contains(c));
    let digits = shape.digits == shape.len;
    if value.strict && (plain || digits) {
        return false;
    }
    // Words in another language, and tags of YAML: `!vault`.
    let words = || text.chars().all(|c| word(c) || " .?'".contains(c));
    if !text.is_ascii() && words() {
        return false;
    }
    if value.quoted {
        return shape.len >= 2 && !is_sentence(text);
    }
    if text.strip_prefix('!').is_some_and(|tag| tag.bytes().all(|b| b.is_ascii_alphabetic())) {
        return false;
    }
    let word = plain && (!value.tight || value.sign != b'=' || text.contains(['_', '.']));
    let odd_word = plain && shape.odd >= 2 && !text.contains('.');
    let member = !plain && text.contains('.') && !not_an_identifier(text);
    let short = if digits { 4 } else { 3 };
    shape.len >= short && (!word || odd_word) && !member && !text.starts_with(['$', '%', '|'])
        || shape.len >= 6 && text.starts_with(['$', '%']) && shape.digits > 0
}

/// Words of a message about a password.
fn is_sentence(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let says_password =
        |word: &str| name::secret_kind(word.as_bytes()) == Some(SecretKind::Password);
    text.contains(' ')
        && text.split(' ').any(says_password)
        && !text.bytes().any(|b| b.is_ascii_digit())
        || text.contains(' ')
            && lower.split(|c: char| !c.is_ascii_alphabetic()).any(|word| {
                [
                    "password", "passwords", "enter", "your", "must", "please", "required",
                    "invalid", "incorrect", "forgot", "least", "confirm", "the", "characters",
                    "new", "reset",
                ]
                .contains(&word)
            })
}

fn is_token(text: &str, shape: &Shape, value: &Value) -> bool {
    let long_number = shape.digits == shape.len && shape.len >= 20;
    let mixed = shape.digits > 0 && shape.letters > 0;
    let letters = shape.digits == 0 && shape.random();
    let spaced = text.contains(' ');
    let enough = if shape.len < 20 { 2.7 } else { 3.0 };
    shape.len >= 10
        && !spaced
        && (mixed || long_number || letters)
        && (!value.strict || shape.random() || shape.turns >= 3)
        && not_a_path(text)
        && (letters || not_an_identifier(text))
        && !text.contains("::")
        && !text.contains("//")
        && checksum::entropy(text) >= enough
}
