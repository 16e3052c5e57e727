//! The name that a value is assigned to, and the kind of secret that it announces.

use std::ops::Range;

use super::secret_name::{self, SecretKind};
use super::{byte_at, slice};

/// The longest name that is read, in bytes.
pub(super) const MAX_NAME_BYTES: usize = 64;
/// How far before its sign a name may end, in bytes.
const MAX_NAME_GAP: usize = 32;
/// How far apart the name and the value of a pair may be, in bytes.
const MAX_PAIR_GAP: usize = 48;
/// How far before the value of an object its brace may be, in bytes.
const MAX_OBJECT_BYTES: usize = 80;

/// Names of objects and lists that hold the text of a field.
const CONTAINERS: [&str; 8] =
    ["rich_text", "text", "value", "values", "data", "content", "fields", "val"];

/// The kind of secret that the name before a sign announces.
pub(super) fn kind_before(bytes: &[u8], sign: usize) -> Option<SecretKind> {
    let sign = before_remark(bytes, sign).unwrap_or(sign);
    let Some(mut name) = name_before(bytes, sign) else {
        let name = name_before(bytes, before_ordinal(bytes, sign)?)?;
        return secret_name::secret_kind(slice(bytes, name))
            .filter(|kind| *kind != SecretKind::Pass);
    };
    let is_quoted = b"\"'".contains(&byte_at(bytes, name.start.wrapping_sub(1)));
    if !is_quoted && is_type_name(slice(bytes, name.clone())) {
        name = name_before(bytes, name.start)?;
    }
    let text = slice(bytes, name.clone());
    if secret_name::is_name_of_type(bytes, name.start) || is_folder_of_shell(bytes, text, sign) {
        return None;
    }
    let (_, word) = secret_name::split_last_word(text);
    if is_value_key(text) || is_value_key(word) && secret_name::secret_kind(text).is_none() {
        return kind_of_pair(bytes, name.start)
            .or_else(|| kind_of_parent(bytes, name.start))
            .or_else(|| kind_of_object(bytes, name.start));
    }
    if text.eq_ignore_ascii_case(b"id") {
        return parent_name(bytes, name.start)
            .filter(|parent| slice(bytes, parent.clone()).eq_ignore_ascii_case(b"session"))
            .map(|_| SecretKind::Weak);
    }
    let kind = secret_name::secret_kind(text)?;
    let is_public = kind == SecretKind::Weak && secret_name::is_public_phrase(bytes, name.start);
    (!is_public).then_some(kind)
}

/// True for the variables of a shell that name folders: `PWD=/srv`.
fn is_folder_of_shell(bytes: &[u8], name: &[u8], sign: usize) -> bool {
    let after = slice(bytes, sign + 1..(sign + 5).min(bytes.len()));
    let first = after.iter().find(|b| !b" \t\"'".contains(b));
    matches!(name, b"PWD" | b"OLDPWD") && first == Some(&b'/')
}

/// Where a remark in brackets begins before a sign: `master key (base64): …`.
fn before_remark(bytes: &[u8], sign: usize) -> Option<usize> {
    const MAX_REMARK_BYTES: usize = 40;
    if byte_at(bytes, sign.wrapping_sub(1)) != b')' {
        return None;
    }
    let run = slice(bytes, sign.saturating_sub(MAX_REMARK_BYTES)..sign - 1);
    let open = run.iter().rposition(|b| !(b.is_ascii_alphanumeric() || b" -,./+".contains(b)))?;
    let at = sign - 1 - run.len() + open;
    let before = byte_at(bytes, at.wrapping_sub(2));
    let is_remark = byte_at(run, open) == b'(' && byte_at(bytes, at.wrapping_sub(1)) == b' ';
    (is_remark && before.is_ascii_alphanumeric()).then_some(at)
}

/// Where the name ends before a number that says which of several it is: `key 1: …`.
fn before_ordinal(bytes: &[u8], sign: usize) -> Option<usize> {
    let at = sign.checked_sub(2)?;
    let is_ordinal = byte_at(bytes, at + 1).is_ascii_digit() && byte_at(bytes, at) == b' ';
    (is_ordinal && byte_at(bytes, at.wrapping_sub(1)).is_ascii_alphabetic()).then_some(at)
}

/// The name that ends before this position; quotes, brackets and blanks may intervene.
pub(super) fn name_before(bytes: &[u8], end: usize) -> Option<Range<usize>> {
    let between = slice(bytes, end.saturating_sub(MAX_NAME_GAP)..end);
    let end = end - between.iter().rev().take_while(|b| has_class(**b, NAME_GAP)).count();
    let end = end - size_of_array(bytes, end);
    let run = slice(bytes, end.saturating_sub(MAX_NAME_BYTES)..end);
    let len = run.iter().rev().take_while(|b| has_class(**b, NAME_CHAR)).count();
    (len > 1).then(|| end - len..end)
}

/// The bytes of the size of an array of characters, `[` or `[32`, before its closing bracket, which is
/// skipped as a part of a gap: `char pass[32] = "…"`.
fn size_of_array(bytes: &[u8], end: usize) -> usize {
    const MAX_SIZE_DIGITS: usize = 4;
    if byte_at(bytes, end) != b']' {
        return 0;
    }
    let run = slice(bytes, end.saturating_sub(MAX_SIZE_DIGITS + 1)..end);
    let digits = run.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    let bracket = run.len().checked_sub(digits + 1).and_then(|at| run.get(at));
    if bracket == Some(&b'[') { digits + 1 } else { 0 }
}

/// Characters between a name and its sign, or parts of the sign.
const NAME_GAP: u8 = 1;
/// Characters of a name.
const NAME_CHAR: u8 = 2;

const CLASSES: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut table = [0_u8; 256];
    let mut at = 0;
    #[expect(clippy::indexing_slicing, reason = "evaluated at compile time, in bounds")]
    while at < 256 {
        table[at] = match at as u8 {
            b':' | b'?' | b'|' | b'+' | b'&' | b'*' | b' ' | b'\t' | b'"' | b'\'' | b'`'
            | b'\\' | b']' => NAME_GAP,
            b'.' => NAME_GAP | NAME_CHAR,
            b'_' | b'-' | b'$' | b'@' => NAME_CHAR,
            byte if byte.is_ascii_alphanumeric() || !byte.is_ascii() => NAME_CHAR,
            _ => 0,
        };
        at += 1;
    }
    table
}

fn has_class(byte: u8, class: u8) -> bool {
    CLASSES.get(usize::from(byte)).is_some_and(|known| known & class != 0)
}

/// Names of types that may be between a name and its sign.
fn is_type_name(name: &[u8]) -> bool {
    if !matches!(name.len(), 3..=12) || !name.first().is_some_and(|b| b"satcnbSATCNB".contains(b)) {
        return false;
    }
    [&b"string"[..], b"str", b"any", b"text", b"char", b"nsstring", b"bytes", b"securestring"]
        .iter()
        .any(|known| known.eq_ignore_ascii_case(name))
}

pub(super) fn is_value_key(name: &[u8]) -> bool {
    if !matches!(name.len(), 1..=11) || !name.first().is_some_and(|b| b"vdctsVDCTS".contains(b)) {
        return false;
    }
    [&b"value"[..], b"val", b"default", b"content", b"text", b"stringvalue", b"s"]
        .iter()
        .any(|known| known.eq_ignore_ascii_case(name))
}

/// The kind that the name of a pair announces: `name: X` before `value: …`.
fn kind_of_pair(bytes: &[u8], value: usize) -> Option<SecretKind> {
    let run = slice(bytes, value.saturating_sub(MAX_PAIR_GAP)..value);
    let between = |b: &&u8| b.is_ascii_whitespace() || b"\"'`,;{}\\-".contains(b);
    let end = value - run.iter().rev().take_while(between).count();
    let name = name_before(bytes, end)?;
    let sign = slice(bytes, name.start.saturating_sub(6)..name.start);
    let sign = sign.iter().rev().find(|b| !b.is_ascii_whitespace() && !b"\"'`\\".contains(b))?;
    b"=:".contains(sign).then(|| secret_name::secret_kind(slice(bytes, name)))?
}

/// The kind that the name of the object announces whose value is here: `"db_password": {"type":
/// "string", "value": …`.
fn kind_of_parent(bytes: &[u8], value: usize) -> Option<SecretKind> {
    secret_name::secret_kind(slice(bytes, parent_name(bytes, value)?))
}

/// The name of the object in which this position is, beyond objects and lists that only hold a text:
/// `"password": {"rich_text": [{"plain_text": …`.
fn parent_name(bytes: &[u8], value: usize) -> Option<Range<usize>> {
    const MAX_DEPTH: usize = 6;
    let mut at = value;
    for _ in 0..MAX_DEPTH {
        let run = slice(bytes, at.saturating_sub(MAX_OBJECT_BYTES)..at);
        let open = run.iter().rposition(|b| matches!(b, b'{' | b'}' | b'[' | b']' | b'('))?;
        let sign = at - run.len() + open;
        let bracket = byte_at(run, open);
        let before = slice(bytes, sign.saturating_sub(MAX_NAME_GAP)..sign).trim_ascii_end();
        if bracket == b'{' && before.ends_with(b"[") {
            at = sign;
            continue;
        }
        if !(bracket == b'{' || bracket == b'[' && at < value) || !before.ends_with(b":") {
            return None;
        }
        let name = name_before(bytes, sign)?;
        let is_container = CONTAINERS
            .iter()
            .any(|known| slice(bytes, name.clone()).eq_ignore_ascii_case(known.as_bytes()));
        if !is_container {
            return Some(name);
        }
        at = name.start;
    }
    None
}

/// The kind that the label of an object announces whose value is here: `{"label": "password", "type":
/// "x", "value": …`.
fn kind_of_object(bytes: &[u8], value: usize) -> Option<SecretKind> {
    const LABELS: [&[u8]; 11] = [
        b"label", b"name", b"key", b"field", b"element", b"title", b"placeholder", b"id",
        b"selector", b"locator", b"target",
    ];
    const MAX_FIELDS_BYTES: usize = 160;
    let run = slice(bytes, value.saturating_sub(MAX_FIELDS_BYTES)..value);
    let open = run.iter().rposition(|b| matches!(b, b'{' | b'}' | b'[' | b']'))?;
    let around = |b: &u8| b.is_ascii_whitespace() || b"\"'\\".contains(b);
    let trim = |text: &[u8]| {
        let start = text.iter().position(|b| !around(b))?;
        let end = text.iter().rposition(|b| !around(b))?;
        text.get(start..=end).map(<[u8]>::to_vec)
    };
    let fields = slice(run, open + 1..run.len()).split(|b| *b == b',');
    let labels = fields.filter_map(|field| {
        let (name, label) = field.split_at_checked(memchr::memchr(b':', field)?)?;
        let (_, word) = secret_name::split_last_word(name);
        let is_label = LABELS.iter().any(|known| known.eq_ignore_ascii_case(word));
        is_label.then(|| trim(slice(label, 1..label.len())))?
    });
    let is_object = byte_at(run, open) == b'{';
    labels.filter(|_| is_object).find_map(|label| {
        let label = label.strip_suffix(b" field").unwrap_or(&label);
        // A selector of an element: `input#password`.
        let label = label.rsplit(|b| *b == b'#').next().unwrap_or(label);
        secret_name::kind_of_heading(label)
    })
}
