//! Finds `name = value` in every notation: configuration, program text, JSON, YAML, XML, flags.
//!
//! The scan visits the signs between a name and its value, and reads from there at most
//! [`MAX_NAME_BYTES`] bytes back and [`MAX_VALUE_BYTES`](super::MAX_VALUE_BYTES) bytes ahead.

use std::ops::Range;

use super::assigned_name::{MAX_NAME_BYTES, is_value_key, kind_before, name_before};
use super::assigned_value::{self, AssignedValue};
use super::chosen_word::{is_phrase_with_signs, is_word_of_nobody_else};
use super::credential_value;
use super::secret_name::{self, SecretKind};
use super::{
    PASSWORD_RULE, SECRET_RULE, ScanHit, array_rows, byte_at, labelled_value, line_value,
    password_table, setting_call, slice, word_in_settings,
};
use crate::redact::scan_window::ScanWindow;
use crate::redact::work_meter;

/// The longest part of a resource name before the kind of the resource, in bytes.
const MAX_RESOURCE_BYTES: usize = 96;

/// The longest value of an assignment that is in quotation marks, in bytes.
const MAX_QUOTED_BYTES: usize = 96;

/// Finds values by the names before them.
pub(super) fn scan(window: &ScanWindow<'_>, hits: &mut Vec<ScanHit>) {
    let bytes = window.bytes();
    let mut columns = password_table::PasswordColumns::default();
    for at in window.sign_positions() {
        let assignment = match byte_at(bytes, at) {
            b'=' => at_equals(bytes, at),
            b':' => at_colon(bytes, at),
            b'>' => in_xml_element(bytes, at)
                .or_else(|| labelled_value::after_closing_tag(bytes, at).map(Assignment::labelled))
                .or_else(|| {
                    password_table::scan_below_markup_heading(bytes, at, hits);
                    None
                }),
            b',' | b';' | b'|' | b'\t' => {
                password_table::scan_below_heading(bytes, at, &mut columns, hits);
                if byte_at(bytes, at) == b',' {
                    array_rows::scan(bytes, at, hits);
                }
                let set = setting_call::value_at(bytes, at);
                hits.extend(set.map(|range| ScanHit { range, rule: PASSWORD_RULE }));
                in_argument_list(bytes, at)
                    .or_else(|| labelled_value::in_next_cell(bytes, at).map(Assignment::labelled))
            }
            b'-' if byte_at(bytes, at.wrapping_sub(1)) == b'<' => at_arrow(bytes, at),
            b'-' => command_line_flag(bytes, at),
            _ => None,
        };
        let Some(Assignment { kind, value, is_certain }) = assignment else { continue };
        if window.covered.covers(&value.range) {
            continue;
        }
        work_meter::add_bytes(value.range.len());
        if is_certain || credential_value::is_secret(bytes, &value, kind) {
            let rule = if matches!(kind, SecretKind::Password | SecretKind::Pass) {
                PASSWORD_RULE
            } else {
                SECRET_RULE
            };
            hits.push(ScanHit { range: value.range, rule });
        }
    }
}

/// A value and the kind of secret that its name announces.
struct Assignment {
    kind: SecretKind,
    value: AssignedValue,
    /// The value was looked at, and is a secret.
    is_certain: bool,
}

impl Assignment {
    fn new(kind: SecretKind, value: AssignedValue) -> Self {
        Self { kind, value, is_certain: false }
    }

    fn labelled(value: AssignedValue) -> Self {
        let is_certain = !value.requires_token;
        Self { kind: labelled_value::LABELLED_KIND, value, is_certain }
    }
}

fn at_equals(bytes: &[u8], at: usize) -> Option<Assignment> {
    let before = byte_at(bytes, at.wrapping_sub(1));
    let after = byte_at(bytes, at + 1);
    if after == b'=' || b"=!<>~".contains(&before) && at > 0 {
        return None;
    }
    let from = if after == b'>' { at + 2 } else { at + 1 };
    let kind = kind_before(bytes, at)?;
    if is_alias_or_prompt(bytes, at) {
        return None;
    }
    let mut value = assigned_value::value_after(bytes, from, b'=')?;
    if byte_at(bytes, value.range.end) == b'&' && is_behind_semicolon(bytes, at) {
        value.range.end = assigned_value::semicolon_end(bytes, value.range.end);
    }
    value.quoted |= is_in_connection_string(bytes, at, &value);
    fill_line(bytes, at, kind, &mut value);
    Some(Assignment::new(kind, value))
}

/// Extends an unquoted password whose name begins its line to the end of it. Tokens have no signs.
fn fill_line(bytes: &[u8], sign: usize, kind: SecretKind, value: &mut AssignedValue) {
    let is_password = matches!(kind, SecretKind::Password | SecretKind::Pass);
    if !is_password || value.quoted || value.requires_token {
        return;
    }
    let Some(name) = name_before(bytes, sign) else { return };
    let quote = byte_at(bytes, name.start.wrapping_sub(1));
    if matches!(quote, b'"' | b'\'') && byte_at(bytes, sign) == b'=' && value.is_adjacent {
        // All of it is in quotation marks: `-e 'db_password=a&b'`.
        let run = slice(
            bytes,
            value.range.start..(value.range.start + MAX_QUOTED_BYTES).min(bytes.len()),
        );
        let all = run.iter().position(|b| *b == quote || matches!(b, b'\r' | b'\n'));
        let phrase = all.and_then(|len| std::str::from_utf8(slice(run, 0..len)).ok());
        if let Some(phrase) = phrase.filter(|phrase| is_phrase_with_signs(phrase)) {
            value.range.end = value.range.start + phrase.len();
            value.quoted = true;
            return;
        }
        let end = run.iter().position(|b| *b == quote || b.is_ascii_whitespace());
        if let Some(len) = end.filter(|len| byte_at(run, *len) == quote) {
            let has_field =
                slice(run, 0..len).iter().any(|b| matches!(b, b';' | b'=' | b'\\' | b'<' | b'('));
            if !has_field && value.range.len() < len {
                value.range.end = value.range.start + len;
            }
        }
        return;
    }
    let gap = slice(bytes, name.end..sign);
    if !gap.iter().all(|b| b" \t*_?+:".contains(b)) {
        return;
    }
    if line_value::begins_line(bytes, name.start) {
        value.fills_line = true;
        if let Some(end) = word_in_settings::end_of_phrase(bytes, value) {
            (value.range.end, value.quoted) = (end, true);
            return;
        }
        value.range.end = line_value::line_value_end(bytes, value);
    } else if line_value::follows_words(bytes, name.start) {
        let end = line_value::line_value_end(bytes, value);
        if matches!(byte_at(bytes, end), 0 | b'\r' | b'\n') {
            value.range.end = end;
        }
    } else if line_value::is_beside_fields(bytes, name.start, value) {
        value.range.end = line_value::line_value_end(bytes, value);
    } else if byte_at(bytes, name.start.wrapping_sub(1)) == b',' {
        value.range.end = line_value::end_among_options(bytes, value);
    }
}

/// True for the name of a command that a shell gets, `alias pw='pwgen -s 24 1'`, and for what it asks
/// for: `set /p PASSWORD=Your password: `.
fn is_alias_or_prompt(bytes: &[u8], sign: usize) -> bool {
    name_before(bytes, sign).is_some_and(|name| {
        let before = slice(bytes, name.start.saturating_sub(7)..name.start).to_ascii_lowercase();
        before.ends_with(b"alias ") || before.ends_with(b"set /p ")
    })
}

/// True for a name in a connection string, `;Password=`, where `&` is an ordinary character.
fn is_behind_semicolon(bytes: &[u8], sign: usize) -> bool {
    let Some(name) = name_before(bytes, sign) else { return false };
    let before = slice(bytes, name.start.saturating_sub(2)..name.start).trim_ascii_end();
    before.last() == Some(&b';')
}

/// True for a value of letters in a connection string: `Server=x;User Id=y;Password=Birch_xYz`. It is
/// a value whatever it is, as there are no variables.
fn is_in_connection_string(bytes: &[u8], sign: usize, value: &AssignedValue) -> bool {
    const SERVERS: [&[u8]; 5] = [b"server=", b"data source=", b"host=", b"user id=", b"uid="];
    if !is_behind_semicolon(bytes, sign) || slice(bytes, value.range.clone()).contains(&b'.') {
        return false;
    }
    let before = slice(bytes, sign.saturating_sub(MAX_RESOURCE_BYTES)..sign).to_ascii_lowercase();
    SERVERS.iter().any(|name| memchr::memmem::find(&before, name).is_some())
}

/// A value in `name <- value`.
fn at_arrow(bytes: &[u8], at: usize) -> Option<Assignment> {
    let kind = kind_before(bytes, at - 1)?;
    let value = assigned_value::value_after(bytes, at + 1, b'=')?;
    (value.quoted && !value.is_adjacent).then_some(Assignment::new(kind, value))
}

fn at_colon(bytes: &[u8], at: usize) -> Option<Assignment> {
    let (after, second) = (byte_at(bytes, at + 1), byte_at(bytes, at + 2));
    // `${X:?…}` says what is wrong without the variable.
    if b"=:?".contains(&after) || after == b'/' && second == b'/' {
        return None;
    }
    if byte_at(bytes, at.wrapping_sub(1)) == b':' && byte_at(bytes, at.wrapping_sub(2)) != b':' {
        return None;
    }
    let kind = kind_before(bytes, at)?;
    if is_in_resource_name(bytes, at) {
        return None;
    }
    if is_prompt(bytes, at) {
        return None;
    }
    let mut value = assigned_value::value_after(bytes, at + 1, b':')?;
    // A text is what is typed into a field, or what is shown for it.
    let name = slice(bytes, name_before(bytes, at).unwrap_or(at..at));
    value.requires_token |= name.eq_ignore_ascii_case(b"text");
    if b" \t".contains(&after) {
        fill_line(bytes, at, kind, &mut value);
    }
    Some(Assignment::new(kind, value))
}

/// True for the colon of a text in quotes that ends with it, as in `prompt('Password: ', …)`: the
/// quote behind it closes the text, and what follows is no value.
fn is_prompt(bytes: &[u8], colon: usize) -> bool {
    let rest = slice(bytes, colon + 1..(colon + 4).min(bytes.len()));
    let Some(quote) = rest.iter().copied().find(|b| *b != b' ') else { return false };
    if !b"\"'`".contains(&quote) {
        return false;
    }
    let run = slice(bytes, colon.saturating_sub(MAX_NAME_BYTES)..colon);
    let line = run.rsplit(|b| *b == b'\n').next().unwrap_or_default();
    let Some(open) = line.iter().rposition(|b| *b == quote) else { return false };
    let before = byte_at(line, open.wrapping_sub(1));
    !before.is_ascii_alphanumeric()
        && before != b'\\'
        && byte_at(line, open + 1).is_ascii_alphanumeric()
}

/// True for a colon in the name of a resource, `arn:aws:secretsmanager:eu-west-1:1234:secret:x`.
pub(super) fn is_in_resource_name(bytes: &[u8], colon: usize) -> bool {
    let run = slice(bytes, colon.saturating_sub(MAX_RESOURCE_BYTES)..colon);
    let is_part = |b: &&u8| b.is_ascii_alphanumeric() || b":_-./*".contains(b);
    let len = run.iter().rev().take_while(is_part).count();
    let name = slice(run, run.len() - len..run.len());
    name.starts_with(b"arn:") || name.starts_with(b"urn:")
}

/// A value in `<name>value</name>` or `<property name="name">value</property>`.
fn in_xml_element(bytes: &[u8], at: usize) -> Option<Assignment> {
    let run = slice(bytes, at.saturating_sub(96)..at);
    let inside = |b: &&u8| !b"<>\n".contains(b);
    let start = at - run.iter().rev().take_while(inside).count();
    if byte_at(bytes, start.wrapping_sub(1)) != b'<' || start == at {
        return None;
    }
    let tag = slice(bytes, start..at);
    let named = |b: &&u8| b.is_ascii_alphanumeric() || b"_.-:".contains(b);
    let len = tag.iter().take_while(named).count();
    let kind = secret_name::secret_kind(slice(bytes, start..start + len))
        .or_else(|| kind_of_attribute(tag))
        .or_else(|| kind_of_outer_element(bytes, start, len))?;
    Some(Assignment::new(kind, assigned_value::value_in_element(bytes, at + 1)?))
}

/// The kind that the element around announces: `<Password><Value>…`.
fn kind_of_outer_element(bytes: &[u8], start: usize, len: usize) -> Option<SecretKind> {
    const MAX_GAP: usize = 48;
    let outer =
        slice(bytes, start.saturating_sub(MAX_GAP + MAX_NAME_BYTES)..start.saturating_sub(1));
    let outer = outer.trim_ascii_end().strip_suffix(b">")?;
    let name = slice(outer, outer.iter().rposition(|b| *b == b'<')? + 1..outer.len());
    is_value_key(slice(bytes, start..start + len)).then(|| secret_name::secret_kind(name))?
}

/// The kind that the last attribute of a tag announces, as in `name="db.password"`.
fn kind_of_attribute(tag: &[u8]) -> Option<SecretKind> {
    let tag = tag.strip_suffix(b"\"")?;
    let (before, name) = tag.split_at_checked(tag.iter().rposition(|b| *b == b'"')?)?;
    let is_name = [&b" name="[..], b" key=", b" id="].iter().any(|known| {
        before
            .len()
            .checked_sub(known.len())
            .is_some_and(|from| slice(before, from..before.len()).eq_ignore_ascii_case(known))
    });
    is_name.then(|| secret_name::secret_kind(name))?
}

/// A value in `("NAME", "value")`.
fn in_argument_list(bytes: &[u8], at: usize) -> Option<Assignment> {
    if byte_at(bytes, at) != b',' {
        return None;
    }
    let quote = byte_at(bytes, at.wrapping_sub(1));
    if !b"\"'`".contains(&quote) {
        return None;
    }
    let name = name_before(bytes, at)?;
    // A selector of an element: `fill('#password', …`, `fill('input[name=password]', …`.
    let selected = usize::from(byte_at(bytes, name.start.wrapping_sub(1)) == b'#');
    let quoted = name.start.saturating_sub(selected);
    let open = byte_at(bytes, quoted.wrapping_sub(1));
    let is_name = open == quote || is_end_of_selector(bytes, name.start..at - 1, quote);
    let kind = is_name.then(|| secret_name::secret_kind(slice(bytes, name.clone())))??;
    let mut value = assigned_value::value_after(bytes, at + 1, b',')?;
    // In a list of names the next name is not a value, so the value must look like a token.
    value.requires_token = true;
    // `'USERPWD', 'HTTP200ALIASES'` and `"pass", "import sys"` are lists.
    let is_listed = {
        let raw = slice(bytes, value.range.clone());
        let is_constant = |b: &u8| b.is_ascii_uppercase() || b.is_ascii_digit() || *b == b'_';
        raw.contains(&b' ')
            || raw.iter().all(is_constant) && slice(bytes, name).iter().all(is_constant)
    };
    (value.quoted && !is_listed).then_some(Assignment::new(kind, value))
}

/// True for the end of `'input[name=password]'`, from the name to the last bracket.
fn is_end_of_selector(bytes: &[u8], end: Range<usize>, quote: u8) -> bool {
    const MAX_SELECTOR_BYTES: usize = 48;
    let before = slice(bytes, end.start.saturating_sub(MAX_SELECTOR_BYTES)..end.start);
    let before = before.trim_ascii_end();
    let before = before.strip_suffix(b"\"").or(before.strip_suffix(b"'")).unwrap_or(before);
    let open = before.iter().rposition(|b| *b == b'[');
    let attribute = open.and_then(|open| before.get(open..)).unwrap_or_default();
    let is_attribute = attribute.ends_with(b"=") && !attribute.iter().any(|b| b"\n'\"".contains(b));
    is_attribute && slice(bytes, end).ends_with(b"]") && before.contains(&quote)
}

/// A value in `--name value` or `-name value`.
fn command_line_flag(bytes: &[u8], at: usize) -> Option<Assignment> {
    let before = byte_at(bytes, at.wrapping_sub(1));
    if at > 0 && !before.is_ascii_whitespace() && !b"\"'`[(".contains(&before) {
        return None;
    }
    let start = at + 1 + usize::from(byte_at(bytes, at + 1) == b'-');
    let run = slice(bytes, start..(start + 32).min(bytes.len()));
    let named = |b: &&u8| b.is_ascii_alphanumeric() || b"_-.".contains(b);
    let len = run.iter().take_while(named).count();
    let end = start + len;
    if len < 2 || !b" \t".contains(&byte_at(bytes, end)) {
        return None;
    }
    let kind = secret_name::secret_kind(slice(bytes, start..end))?;
    let mut value = assigned_value::value_after(bytes, end, b' ')?;
    value.requires_token = start == at + 1;
    let text = std::str::from_utf8(slice(bytes, value.range.clone())).ok()?;
    let is_password = matches!(kind, SecretKind::Password | SecretKind::Pass);
    // `lpass show --password wiki` names what it shows.
    let command = slice(bytes, at.saturating_sub(8)..at).trim_ascii_end();
    let shows = [&b"show"[..], b"get", b"item", b"find"].iter().any(|verb| command.ends_with(verb));
    let is_certain = is_password
        && !shows
        && !value.requires_token
        && line_value::ends_argument(bytes, &value)
        && is_word_of_nobody_else(text);
    (!text.starts_with('-')).then_some(Assignment { kind, value, is_certain })
}
