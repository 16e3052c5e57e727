//! Finds `name = value` in every notation: configuration, program text, JSON, YAML, XML, flags.
//!
//! The scan visits the signs between a name and its value, and reads from there at most
//! [`MAX_NAME_BYTES`] bytes back and [`MAX_VALUE_BYTES`](super::MAX_VALUE_BYTES) bytes ahead.

use std::ops::Range;

use super::assigned_value::{self, AssignedValue};
use super::secret_name::{self, SecretKind};
use super::{
    PASSWORD_RULE, SECRET_RULE, ScanHit, byte_at, labelled_value, line_value, password_table, slice,
};
use crate::redact::scan_window::ScanWindow;
use crate::redact::work_meter;

/// The longest name that is read, in bytes.
const MAX_NAME_BYTES: usize = 64;
/// How far before its sign a name may end, in bytes.
const MAX_NAME_GAP: usize = 32;
/// How far apart the name and the value of a pair may be, in bytes.
const MAX_PAIR_GAP: usize = 48;
/// How far before the value of an object its brace may be, in bytes.
const MAX_OBJECT_BYTES: usize = 80;
/// The longest part of a resource name before the kind of the resource, in bytes.
const MAX_RESOURCE_BYTES: usize = 96;

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
                in_argument_list(bytes, at)
                    .or_else(|| labelled_value::in_next_cell(bytes, at).map(Assignment::labelled))
            }
            b'-' if byte_at(bytes, at.wrapping_sub(1)) == b'<' => at_arrow(bytes, at),
            b'-' => command_line_flag(bytes, at),
            _ => None,
        };
        let Some(Assignment { kind, value }) = assignment else { continue };
        if window.covered.covers(&value.range) {
            continue;
        }
        work_meter::add_bytes(value.range.len());
        if assigned_value::is_secret(bytes, &value, kind) {
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
}

impl Assignment {
    fn labelled(value: AssignedValue) -> Self {
        Self { kind: labelled_value::LABELLED_KIND, value }
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
    if is_alias(bytes, at) {
        return None;
    }
    let mut value = assigned_value::value_after(bytes, from, b'=')?;
    if byte_at(bytes, value.range.end) == b'&' && is_behind_semicolon(bytes, at) {
        value.range.end = assigned_value::semicolon_end(bytes, value.range.end);
    }
    value.quoted |= is_in_connection_string(bytes, at, &value);
    fill_line(bytes, at, kind, &mut value);
    Some(Assignment { kind, value })
}

/// Extends an unquoted password whose name begins its line to the end of it. Tokens have no signs.
fn fill_line(bytes: &[u8], sign: usize, kind: SecretKind, value: &mut AssignedValue) {
    let is_password = matches!(kind, SecretKind::Password | SecretKind::Pass);
    if !is_password || value.quoted || value.requires_token {
        return;
    }
    let Some(name) = name_before(bytes, sign) else { return };
    let gap = slice(bytes, name.end..sign);
    if gap.iter().all(|b| b" \t*_?+:".contains(b)) && line_value::begins_line(bytes, name.start) {
        value.fills_line = true;
        value.range.end = line_value::line_value_end(bytes, value);
    }
}

/// True for the name of a command that a shell gets: `alias pw='pwgen -s 24 1'`.
fn is_alias(bytes: &[u8], sign: usize) -> bool {
    name_before(bytes, sign)
        .is_some_and(|name| slice(bytes, name.start.saturating_sub(6)..name.start) == b"alias ")
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
    (value.quoted && !value.is_adjacent).then_some(Assignment { kind, value })
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
    if is_in_resource_name(bytes, at) || is_host_with_port(bytes, at) {
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
    Some(Assignment { kind, value })
}

/// True for the host and port of a URL: `http://auth:9000/verify`.
fn is_host_with_port(bytes: &[u8], colon: usize) -> bool {
    let Some(name) = name_before(bytes, colon) else { return false };
    let port = slice(bytes, colon + 1..(colon + 7).min(bytes.len()));
    let digits = port.iter().take_while(|b| b.is_ascii_digit()).count();
    let next = byte_at(bytes, colon + 1 + digits);
    name.end == colon
        && slice(bytes, name.start.saturating_sub(3)..name.start) == b"://"
        && (2..=5).contains(&digits)
        && !next.is_ascii_alphanumeric()
        && !b"@!#$%&*+-^~_".contains(&next)
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

/// The kind of secret that the name before a sign announces.
fn kind_before(bytes: &[u8], sign: usize) -> Option<SecretKind> {
    let Some(mut name) = name_before(bytes, sign) else {
        let name = name_before(bytes, before_ordinal(bytes, sign)?)?;
        return secret_name::secret_kind(slice(bytes, name))
            .filter(|kind| *kind != SecretKind::Pass);
    };
    if is_type_name(slice(bytes, name.clone())) {
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

/// Where the name ends before a number that says which of several it is: `key 1: …`.
fn before_ordinal(bytes: &[u8], sign: usize) -> Option<usize> {
    let at = sign.checked_sub(2)?;
    let is_ordinal = byte_at(bytes, at + 1).is_ascii_digit() && byte_at(bytes, at) == b' ';
    (is_ordinal && byte_at(bytes, at.wrapping_sub(1)).is_ascii_alphabetic()).then_some(at)
}

/// The name that ends before this position; quotes, brackets and blanks may intervene.
fn name_before(bytes: &[u8], end: usize) -> Option<Range<usize>> {
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

fn is_value_key(name: &[u8]) -> bool {
    if !matches!(name.len(), 3..=7) || !name.first().is_some_and(|b| b"vdctVDCT".contains(b)) {
        return false;
    }
    [&b"value"[..], b"val", b"default", b"content", b"text"]
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
    let run = slice(bytes, value.saturating_sub(MAX_OBJECT_BYTES)..value);
    let open = run.iter().rposition(|b| matches!(b, b'{' | b'}' | b'[' | b'('))?;
    let sign = value - run.len() + open;
    let before = slice(bytes, sign.saturating_sub(MAX_NAME_GAP)..sign).trim_ascii_end();
    let is_object = byte_at(run, open) == b'{' && before.ends_with(b":");
    let name = name_before(bytes, sign).filter(|_| is_object)?;
    secret_name::secret_kind(slice(bytes, name))
}

/// The kind that the label of an object announces whose value is here: `{"label": "password", "type":
/// "x", "value": …`.
fn kind_of_object(bytes: &[u8], value: usize) -> Option<SecretKind> {
    const LABELS: [&[u8]; 8] =
        [b"label", b"name", b"key", b"field", b"element", b"title", b"placeholder", b"id"];
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
        secret_name::kind_of_heading(label)
    })
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
    Some(Assignment { kind, value: assigned_value::value_in_element(bytes, at + 1)? })
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
    let is_name = [&b" name="[..], b" key=", b" id="].iter().any(|known| before.ends_with(known));
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
    // A selector of an element: `fill('#password', …`.
    let selected = usize::from(byte_at(bytes, name.start.wrapping_sub(1)) == b'#');
    let quoted = name.start.saturating_sub(selected);
    let open = byte_at(bytes, quoted.wrapping_sub(1));
    let kind = (open == quote).then(|| secret_name::secret_kind(slice(bytes, name.clone())))??;
    let mut value = assigned_value::value_after(bytes, at + 1, b',')?;
    // In a list of names the next name is not a value, so the value must look like a token.
    let call = byte_at(bytes, quoted.wrapping_sub(2)) == b'(';
    value.requires_token = !call || !stores(bytes, quoted.saturating_sub(2));
    // `'USERPWD', 'HTTP200ALIASES'` and `"pass", "import sys"` are lists.
    let is_listed = value.requires_token && {
        let raw = slice(bytes, value.range.clone());
        let is_constant = |b: &u8| b.is_ascii_uppercase() || b.is_ascii_digit() || *b == b'_';
        raw.contains(&b' ')
            || raw.iter().all(is_constant) && slice(bytes, name).iter().all(is_constant)
    };
    (value.quoted && !is_listed).then_some(Assignment { kind, value })
}

/// True if the name of the call whose bracket is here says that it stores a value: `setProperty`,
/// `define`. Others say something about a field: `rejectValue("password", "mismatch")`.
fn stores(bytes: &[u8], bracket: usize) -> bool {
    const VERBS: [&[u8]; 17] = [
        b"getenv", b"fill", b"type", b"set", b"put", b"define", b"env", b"add", b"with", b"config",
        b"option", b"param", b"append", b"header", b"property", b"insert", b"default",
    ];
    let run = slice(bytes, bracket.saturating_sub(32)..bracket);
    let len = run.iter().rev().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
    let name = slice(run, run.len() - len..run.len());
    let lower = name.to_ascii_lowercase();
    // A word of the name begins with the verb: `setProperty`, but not `InputBox`.
    let begins_word = |at: usize| {
        !byte_at(name, at.wrapping_sub(1)).is_ascii_alphabetic()
            || byte_at(name, at).is_ascii_uppercase()
    };
    VERBS.iter().any(|verb| memchr::memmem::find_iter(&lower, verb).any(begins_word))
}

/// A value in `--name value` or `-name value`.
fn command_line_flag(bytes: &[u8], at: usize) -> Option<Assignment> {
    let before = byte_at(bytes, at.wrapping_sub(1));
    if at > 0 && !before.is_ascii_whitespace() && !b"\"'`[(".contains(&before) {
        return None;
    }
    let start = at + 1 + usize::from(byte_at(bytes, at + 1) == b'-');
    let run = slice(bytes, start..(start + 32).min(bytes.len()));
    let named = |b: &&u8| b.is_ascii_alphanumeric() || b"_-".contains(b);
    let len = run.iter().take_while(named).count();
    let end = start + len;
    if len < 2 || !b" \t".contains(&byte_at(bytes, end)) {
        return None;
    }
    let kind = secret_name::secret_kind(slice(bytes, start..end))?;
    let mut value = assigned_value::value_after(bytes, end, b' ')?;
    value.requires_token = start == at + 1;
    (!slice(bytes, value.range.clone()).starts_with(b"-")).then_some(Assignment { kind, value })
}
