//! Passwords that a label in markup names: `**Password:** x`, `<td>Password</td><td>x</td>`,
//! `| Password | x |`.

use super::assigned_value::AssignedValue;
use super::chosen_word::{is_chosen_word, is_phrase_with_signs};
use super::secret_name::{self, SecretKind};
use super::token_stats::TokenStats;
use super::{MAX_VALUE_BYTES, byte_at, slice};
use crate::redact::validators::looks_like_password;

/// The kind of secret that labels name here.
pub(super) const LABELLED_KIND: SecretKind = SecretKind::Password;
/// The longest label, in bytes.
const MAX_LABEL_BYTES: usize = 40;
/// The longest tag that is skipped, in bytes.
const MAX_TAG_BYTES: usize = 64;
/// How many tags may be between a label and its value.
const MAX_TAGS: usize = 3;
/// The most blanks between two tags, in bytes.
const MAX_GAP_BYTES: usize = 48;

/// Tags of text within a line.
const INLINE_TAGS: [&[u8]; 15] = [
    b"b", b"i", b"em", b"strong", b"code", b"span", b"tt", b"kbd", b"samp", b"pre", b"font", b"u",
    b"p", b"br", b"label",
];
/// Tags of cells, and of other elements that come in pairs of a name and a value.
const CELL_TAGS: [&[u8]; 8] = [b"td", b"th", b"dt", b"dd", b"key", b"name", b"string", b"value"];

/// The position behind the emphasis and the tags that close a label.
pub(super) fn skip_markup(bytes: &[u8], from: usize) -> usize {
    let first = byte_at(bytes, from);
    let mut at = from;
    if matches!(first, b'*' | b'_') {
        let run = slice(bytes, from..(from + 2).min(bytes.len()));
        let end = from + run.iter().take_while(|b| **b == first).count();
        if b" \t".contains(&byte_at(bytes, end)) {
            at = skip_blanks(bytes, end);
        }
    }
    for _ in 0..MAX_TAGS {
        match tag_at(bytes, at) {
            Some((name, end)) if is_any(name, &INLINE_TAGS) => at = skip_blanks(bytes, end),
            _ => break,
        }
    }
    at
}

fn skip_blanks(bytes: &[u8], at: usize) -> usize {
    let run = slice(bytes, at..(at + MAX_GAP_BYTES).min(bytes.len()));
    at + run.iter().take_while(|b| b" \t".contains(b)).count()
}

fn skip_whitespace(bytes: &[u8], at: usize) -> usize {
    let run = slice(bytes, at..(at + MAX_GAP_BYTES).min(bytes.len()));
    at + run.iter().take_while(|b| b.is_ascii_whitespace()).count()
}

fn is_any(name: &[u8], tags: &[&[u8]]) -> bool {
    tags.iter().any(|tag| tag.eq_ignore_ascii_case(name))
}

/// The name of the tag that begins here, without its slash, and where the tag ends.
fn tag_at(bytes: &[u8], at: usize) -> Option<(&[u8], usize)> {
    if byte_at(bytes, at) != b'<' {
        return None;
    }
    let run = slice(bytes, at + 1..(at + MAX_TAG_BYTES).min(bytes.len()));
    let len = run.iter().position(|b| matches!(b, b'<' | b'>' | b'\n'))?;
    if byte_at(run, len) != b'>' {
        return None;
    }
    let tag = slice(run, 0..len);
    let tag = tag.strip_prefix(b"/").unwrap_or(tag);
    let name = tag.iter().take_while(|b| b.is_ascii_alphanumeric()).count();
    Some((slice(tag, 0..name), at + 1 + len + 1))
}

/// The value that a label names whose closing tag ends here: `</td>`, `</b>`.
pub(super) fn after_closing_tag(bytes: &[u8], at: usize) -> Option<AssignedValue> {
    let run = slice(bytes, at.saturating_sub(8)..at);
    let len = run.iter().rev().position(|b| *b == b'/')?;
    let name = slice(run, run.len() - len..run.len());
    let open = at.checked_sub(len + 2)?;
    if byte_at(bytes, open) != b'<' || !is_any(name, &CELL_TAGS) && !is_any(name, &INLINE_TAGS) {
        return None;
    }
    let run = slice(bytes, open.saturating_sub(MAX_LABEL_BYTES)..open);
    let label = run.iter().rposition(|b| *b == b'>')?;
    let label = slice(run, label + 1..run.len()).trim_ascii();
    let label = label.strip_suffix(b":").unwrap_or(label);
    if label.is_empty() || !secret_name::is_password_heading(label) {
        return None;
    }
    let mut start = skip_whitespace(bytes, at + 1);
    let mut is_set_off = false;
    if byte_at(bytes, start) == b':' {
        (start, is_set_off) = (skip_whitespace(bytes, start + 1), true);
    }
    for _ in 0..MAX_TAGS {
        let Some((name, end)) = tag_at(bytes, start) else { break };
        let is_cell = is_any(name, &CELL_TAGS);
        if !is_cell && !is_any(name, &INLINE_TAGS) {
            break;
        }
        is_set_off |= is_cell;
        start = skip_whitespace(bytes, end);
    }
    let run = slice(bytes, start..(start + MAX_VALUE_BYTES).min(bytes.len()));
    let len = run.iter().position(|b| b.is_ascii_whitespace() || *b == b'<').unwrap_or(run.len());
    let value = slice(run, 0..len);
    if is_set_off && is_password(value) {
        return Some(labelled(start, len));
    }
    let is_pair = is_set_off && is_first_cell(bytes, name, open);
    let cell = run.iter().position(|b| matches!(b, b'<' | b'\n')).unwrap_or(0);
    let end = slice(run, cell..run.len());
    let words = std::str::from_utf8(slice(run, 0..cell)).ok()?.trim_end();
    (is_pair && is_last_cell(end) && is_word_or_phrase(words))
        .then(|| AssignedValue { requires_token: false, ..labelled(start, words.len()) })
}

/// True for the label of a pair: the first cell of a row, a term, or a key of a property list.
fn is_first_cell(bytes: &[u8], tag: &[u8], close: usize) -> bool {
    const MAX_ROW_BYTES: usize = 120;
    if is_any(tag, &[b"dt", b"key", b"name"]) {
        return true;
    }
    let before = slice(bytes, close.saturating_sub(MAX_ROW_BYTES)..close);
    let row = memchr::memmem::rfind(before, b"<tr").map(|row| slice(before, row..before.len()));
    let cells = |row: &[u8]| {
        memchr::memmem::find_iter(row, b"<td").count()
            + memchr::memmem::find_iter(row, b"<th").count()
    };
    row.is_some_and(|row| cells(row) == 1)
}

/// True for what closes a cell behind which its row ends, or another pair begins.
fn is_last_cell(end: &[u8]) -> bool {
    const MAX_END_BYTES: usize = 96;
    let end = slice(end, 0..end.len().min(MAX_END_BYTES));
    let Some(close) = end.iter().position(|b| *b == b'>') else { return false };
    let mut rest = slice(end, close + 1..end.len()).trim_ascii_start();
    // Tags within the cell.
    while let Some((name, len)) = tag_at(rest, 0).filter(|_| rest.starts_with(b"</")) {
        if is_any(name, &[b"tr"]) {
            return true;
        }
        if !is_any(name, &CELL_TAGS) && !is_any(name, &INLINE_TAGS) {
            break;
        }
        rest = slice(rest, len..rest.len()).trim_ascii_start();
    }
    let is_tag =
        |tag: &&[u8]| rest.get(..tag.len()).is_some_and(|head| head.eq_ignore_ascii_case(tag));
    rest.is_empty()
        || [&b"</tr"[..], b"<dt", b"</dl", b"<key", b"</dict", b"<tr"].iter().any(is_tag)
}

/// True for a word that somebody chose, or for some of them, with a number or a sign among them.
fn is_word_or_phrase(text: &str) -> bool {
    is_chosen_word(text) || is_phrase_with_signs(text)
}

/// The value of the cell that begins after this separator, if the first cell of the row is a
/// password's name: `Password,x`, `| Password | x |`.
pub(super) fn in_next_cell(bytes: &[u8], at: usize) -> Option<AssignedValue> {
    let last = byte_at(bytes, at.wrapping_sub(1));
    if !(last.is_ascii_alphabetic() || last >= 0x80 || b" \"*`:".contains(&last)) {
        return None;
    }
    let separator = byte_at(bytes, at);
    let run = slice(bytes, at.saturating_sub(MAX_LABEL_BYTES)..at);
    let label = match memchr::memrchr(b'\n', run) {
        Some(end) => slice(run, end + 1..run.len()),
        None if at <= MAX_LABEL_BYTES => run,
        None => return None,
    };
    let label = label.trim_ascii_start();
    // The name of a setting: `smtp_pass`.
    let is_setting = label.iter().any(|b| matches!(b, b'_' | b'.'));
    let label = match label.strip_prefix(b"|") {
        Some(label) if separator == b'|' => label,
        None if separator == b'|' && !is_setting => return None,
        _ => label,
    };
    let around = |b: &&u8| b" \t\"*`:".contains(b);
    let start = label.iter().take_while(around).count();
    let end = label.len() - label.iter().rev().take_while(around).count();
    let label = label.get(start..end).filter(|label| !label.is_empty())?;
    // A name of JSON is no cell: `{"selector":"input#password","text":…`.
    let is_json = label.contains(&b'{') || label.windows(2).any(|two| two == b"\":");
    let is_pass = is_setting && secret_name::secret_kind(label) == Some(SecretKind::Pass);
    if is_json
        || label.contains(&separator)
        || !(is_pass || secret_name::is_password_heading(label))
    {
        return None;
    }
    let run = slice(bytes, at + 1..(at + 1 + MAX_VALUE_BYTES).min(bytes.len()));
    let ends = |b: &u8| *b == separator || matches!(b, b'\r' | b'\n');
    let len = run.iter().position(ends).unwrap_or(run.len());
    // Other rows than `name,value` may be headings.
    if separator != b'|' && byte_at(run, len) == separator {
        return None;
    }
    let cell = slice(run, 0..len);
    let around = |b: &&u8| b" \t\"`".contains(b);
    let start = cell.iter().take_while(around).count();
    let end = len - cell.iter().rev().take_while(around).count();
    let value = cell.get(start..end)?;
    let shape = TokenStats::of(value);
    let is_scrambled = shape.letter_digit_transitions >= 2
        || shape.digits > 0 && value.iter().any(|b| b"!#$%&*+@^~?".contains(b));
    let is_word = is_setting && is_word_of_setting(label, value, slice(run, len..run.len()));
    let is_value = is_password(value) && (is_scrambled || is_setting);
    let found = labelled(at + 1 + start, end - start);
    // A word needs no look at its form.
    (is_value || is_word).then_some(AssignedValue { requires_token: !is_word, ..found })
}

/// True for a word that is the value of a setting, in the last cell of its row.
fn is_word_of_setting(name: &[u8], value: &[u8], behind: &[u8]) -> bool {
    let rest = behind.split(|b| *b == b'\n').next().unwrap_or_default().trim_ascii();
    let name = name.to_ascii_lowercase();
    (rest.is_empty() || rest == b"|")
        && memchr::memmem::find(&name, value.to_ascii_lowercase().as_slice()).is_none()
        && std::str::from_utf8(value).is_ok_and(is_chosen_word)
}

fn is_password(value: &[u8]) -> bool {
    let text = std::str::from_utf8(value).unwrap_or_default();
    !text.contains(|c: char| c.is_whitespace()) && looks_like_password(text)
}

fn labelled(start: usize, len: usize) -> AssignedValue {
    AssignedValue {
        range: start..start + len,
        quoted: false,
        separator: b'>',
        is_adjacent: false,
        requires_token: true,
        fills_line: false,
    }
}
