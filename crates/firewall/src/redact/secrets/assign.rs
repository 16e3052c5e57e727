//! `name = value` in every notation: configuration, program text, JSON, YAML, XML, flags.
//!
//! The scan looks at the signs between a name and its value, and from there at most
//! [`NAME`] bytes back and [`LONG`](super::LONG) bytes on.

use std::ops::Range;

use super::name::{self, SecretKind};
use super::value::{self, Value};
use super::{Hit, PASSWORD, SECRET, byte, part, table};
use crate::redact::scan_window::ScanWindow;
use crate::redact::work;

/// The longest name that is read.
const NAME: usize = 64;
/// How far a name may stand before its sign.
const GAP: usize = 32;
/// How far apart the name and the value of a pair may stand.
const PAIR: usize = 48;

/// Finds values by the names before them.
pub(super) fn scan(window: &ScanWindow<'_>, hits: &mut Vec<Hit>) {
    let bytes = window.bytes();
    let mut columns = table::Columns::default();
    for at in window.signs() {
        let assignment = match byte(bytes, at) {
            b'=' => equals(bytes, at),
            b':' => colon(bytes, at),
            b'>' => element(bytes, at),
            b',' | b';' | b'|' => {
                table::below(bytes, at, &mut columns, hits);
                listed(bytes, at)
            }
            b'\t' => {
                table::below(bytes, at, &mut columns, hits);
                None
            }
            b'-' => flag(bytes, at),
            _ => None,
        };
        let Some(Assignment { kind, value }) = assignment else { continue };
        if window.covered.holds(&value.range) {
            continue;
        }
        work::add(value.range.len());
        if value::is_secret(bytes, &value, kind) {
            let rule = if matches!(kind, SecretKind::Password | SecretKind::Pass) {
                PASSWORD
            } else {
                SECRET
            };
            hits.push(Hit { range: value.range, rule });
        }
    }
}

/// A value, and what its name tells of it.
struct Assignment {
    kind: SecretKind,
    value: Value,
}

fn equals(bytes: &[u8], at: usize) -> Option<Assignment> {
    let before = byte(bytes, at.wrapping_sub(1));
    let after = byte(bytes, at + 1);
    if after == b'=' || b"=!<>~".contains(&before) && at > 0 {
        return None;
    }
    let from = if after == b'>' { at + 2 } else { at + 1 };
    let kind = named(bytes, at)?;
    let mut value = value::after(bytes, from, b'=')?;
    if byte(bytes, value.range.end) == b'&' && is_behind_semicolon(bytes, at) {
        value.range.end = value::to_semicolon(bytes, value.range.end);
    }
    Some(Assignment { kind, value })
}

/// True for a name in a connection string, `;Password=`, where `&` is a character like any other.
fn is_behind_semicolon(bytes: &[u8], sign: usize) -> bool {
    let Some(name) = name_before(bytes, sign) else { return false };
    let before = part(bytes, name.start.saturating_sub(2)..name.start).trim_ascii_end();
    before.last() == Some(&b';')
}

fn colon(bytes: &[u8], at: usize) -> Option<Assignment> {
    let (after, second) = (byte(bytes, at + 1), byte(bytes, at + 2));
    if b"=:".contains(&after) || after == b'/' && second == b'/' {
        return None;
    }
    if byte(bytes, at.wrapping_sub(1)) == b':' && byte(bytes, at.wrapping_sub(2)) != b':' {
        return None;
    }
    let kind = named(bytes, at)?;
    Some(Assignment { kind, value: value::after(bytes, at + 1, b':')? })
}

/// What the name before the sign at this place tells.
fn named(bytes: &[u8], sign: usize) -> Option<SecretKind> {
    let mut name = name_before(bytes, sign)?;
    if is_type(part(bytes, name.clone())) {
        name = name_before(bytes, name.start)?;
    }
    let text = part(bytes, name.clone());
    if is_value(text) {
        return paired(bytes, name.start);
    }
    name::secret_kind(text)
}

/// The name that ends before this place, with quotes, brackets and blanks between.
fn name_before(bytes: &[u8], end: usize) -> Option<Range<usize>> {
    let between = part(bytes, end.saturating_sub(GAP)..end);
    let end = end - between.iter().rev().take_while(|b| is(**b, BETWEEN)).count();
    let run = part(bytes, end.saturating_sub(NAME)..end);
    let len = run.iter().rev().take_while(|b| is(**b, NAMED)).count();
    (len > 1).then(|| end - len..end)
}

/// Characters between a name and its sign, or parts of the sign.
const BETWEEN: u8 = 1;
/// Characters of names.
const NAMED: u8 = 2;

const CLASSES: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut table = [0_u8; 256];
    let mut at = 0;
    #[expect(clippy::indexing_slicing, reason = "evaluated at compile time, in bounds")]
    while at < 256 {
        table[at] = match at as u8 {
            b':' | b'?' | b'|' | b'+' | b'&' | b'*' | b' ' | b'\t' | b'"' | b'\'' | b'`'
            | b'\\' | b']' => BETWEEN,
            b'.' => BETWEEN | NAMED,
            b'_' | b'-' | b'$' | b'@' => NAMED,
            byte if byte.is_ascii_alphanumeric() || !byte.is_ascii() => NAMED,
            _ => 0,
        };
        at += 1;
    }
    table
}

fn is(byte: u8, class: u8) -> bool {
    CLASSES.get(usize::from(byte)).is_some_and(|known| known & class != 0)
}

/// Names of types that stand between a name and the sign.
fn is_type(name: &[u8]) -> bool {
    if !matches!(name.len(), 3..=12) || !name.first().is_some_and(|b| b"satcnbSATCNB".contains(b)) {
        return false;
    }
    [&b"string"[..], b"str", b"any", b"text", b"char", b"nsstring", b"bytes", b"securestring"]
        .iter()
        .any(|known| known.eq_ignore_ascii_case(name))
}

fn is_value(name: &[u8]) -> bool {
    if !matches!(name.len(), 3..=7) || !name.first().is_some_and(|b| b"vdcVDC".contains(b)) {
        return false;
    }
    [&b"value"[..], b"val", b"default", b"content"]
        .iter()
        .any(|known| known.eq_ignore_ascii_case(name))
}

/// What the name of a pair tells: `name: X` before `value: …`.
fn paired(bytes: &[u8], value: usize) -> Option<SecretKind> {
    let run = part(bytes, value.saturating_sub(PAIR)..value);
    let between = |b: &&u8| b.is_ascii_whitespace() || b"\"'`,;{}\\-".contains(b);
    let end = value - run.iter().rev().take_while(between).count();
    let name = name_before(bytes, end)?;
    let sign = part(bytes, name.start.saturating_sub(6)..name.start);
    let sign = sign.iter().rev().find(|b| !b.is_ascii_whitespace() && !b"\"'`\\".contains(b))?;
    b"=:".contains(sign).then(|| name::secret_kind(part(bytes, name)))?
}

/// `<name>value</name>`, `<property name="name">value</property>`.
fn element(bytes: &[u8], at: usize) -> Option<Assignment> {
    let run = part(bytes, at.saturating_sub(96)..at);
    let inside = |b: &&u8| !b"<>\n".contains(b);
    let start = at - run.iter().rev().take_while(inside).count();
    if byte(bytes, start.wrapping_sub(1)) != b'<' || start == at {
        return None;
    }
    let tag = part(bytes, start..at);
    let named = |b: &&u8| b.is_ascii_alphanumeric() || b"_.-:".contains(b);
    let len = tag.iter().take_while(named).count();
    let kind = name::secret_kind(part(bytes, start..start + len)).or_else(|| attribute(tag))?;
    Some(Assignment { kind, value: value::in_element(bytes, at + 1)? })
}

/// What the last attribute of a tag tells, `name="db.password"`.
fn attribute(tag: &[u8]) -> Option<SecretKind> {
    let tag = tag.strip_suffix(b"\"")?;
    let (before, name) = tag.split_at_checked(tag.iter().rposition(|b| *b == b'"')?)?;
    let is_name = [&b" name="[..], b" key=", b" id="].iter().any(|known| before.ends_with(known));
    is_name.then(|| name::secret_kind(name))?
}

/// `("NAME", "value")`.
fn listed(bytes: &[u8], at: usize) -> Option<Assignment> {
    if byte(bytes, at) != b',' {
        return None;
    }
    let quote = byte(bytes, at.wrapping_sub(1));
    if !b"\"'`".contains(&quote) {
        return None;
    }
    let name = name_before(bytes, at)?;
    let open = byte(bytes, name.start.wrapping_sub(1));
    let kind = (open == quote).then(|| name::secret_kind(part(bytes, name.clone())))??;
    let mut value = value::after(bytes, at + 1, b',')?;
    // In a list of names, the next name is no value.
    let call = byte(bytes, name.start.wrapping_sub(2)) == b'(';
    value.strict = !call;
    value.quoted.then_some(Assignment { kind, value })
}

/// `--name value`, `-name value`.
fn flag(bytes: &[u8], at: usize) -> Option<Assignment> {
    let before = byte(bytes, at.wrapping_sub(1));
    if at > 0 && !before.is_ascii_whitespace() && !b"\"'`[(".contains(&before) {
        return None;
    }
    let start = at + 1 + usize::from(byte(bytes, at + 1) == b'-');
    let run = part(bytes, start..(start + 32).min(bytes.len()));
    let named = |b: &&u8| b.is_ascii_alphanumeric() || b"_-".contains(b);
    let len = run.iter().take_while(named).count();
    let end = start + len;
    if len < 2 || !b" \t".contains(&byte(bytes, end)) {
        return None;
    }
    let kind = name::secret_kind(part(bytes, start..end))?;
    let mut value = value::after(bytes, end, b' ')?;
    value.strict = start == at + 1;
    (!part(bytes, value.range.clone()).starts_with(b"-")).then_some(Assignment { kind, value })
}
