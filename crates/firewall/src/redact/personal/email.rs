//! E-mail addresses.

use std::ops::Range;

use super::cluster::{before, byte};

/// The longest part before the `@` that is looked at, in bytes.
const LOCAL: usize = 200;
/// The longest domain, in bytes.
const DOMAIN: usize = 253;
/// Endings of file and unit names that stand after an `@` where no domain does.
const FILES: &[&[u8]] = &[
    b"png", b"jpg", b"jpeg", b"gif", b"svg", b"webp", b"ico", b"css", b"js", b"mjs", b"json",
    b"html", b"txt", b"xml", b"yaml", b"yml", b"toml", b"jar", b"tgz", b"gz", b"whl", b"pdf",
    b"service", b"socket", b"target", b"timer", b"mount", b"device", b"conf", b"lock", b"log",
];

/// The address around an `@`.
pub(super) fn address(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let start = local(bytes, at)?;
    let end = domain(bytes, at + 1)?;
    let is_remote = bytes.get(start..at) == Some(b"git") && byte(bytes, end) == b':';
    (!is_remote).then_some(start..end)
}

/// The start of the part before the `@`.
fn local(bytes: &[u8], at: usize) -> Option<usize> {
    let floor = at.saturating_sub(LOCAL);
    let mut start = at;
    while start > floor && in_local(before(bytes, start)) {
        start -= 1;
    }
    // Signs that open something else are not the start of a name.
    while start < at && !starts_local(byte(bytes, start)) {
        start += 1;
    }
    let last = before(bytes, at);
    (start < at && last != b'.').then_some(start)
}

fn in_local(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80 || b"!#$%&'*+-/?^_`{|}~.".contains(&byte)
}

fn starts_local(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80 || byte == b'_' || byte == b'+'
}

/// The end of a domain that starts here: labels with points between them, the last of letters.
fn domain(bytes: &[u8], start: usize) -> Option<usize> {
    let ceiling = start.saturating_add(DOMAIN);
    let mut found = None;
    let mut at = start;
    loop {
        let label = at;
        while at < ceiling && in_label(byte(bytes, at)) && at < bytes.len() {
            at += 1;
        }
        if at == label || byte(bytes, label) == b'-' {
            break;
        }
        if label > start {
            found = top_level(bytes, label, at).or(found);
        }
        if byte(bytes, at) != b'.' || at >= ceiling {
            break;
        }
        at += 1;
    }
    found
}

fn in_label(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte >= 0x80
}

/// The end of a top level name at the start of a label.
fn top_level(bytes: &[u8], start: usize, end: usize) -> Option<usize> {
    let label = bytes.get(start..end)?;
    if label.get(..4).is_some_and(|head| head.eq_ignore_ascii_case(b"xn--")) {
        return Some(end);
    }
    if label.first().is_some_and(|byte| *byte >= 0x80) {
        return label.iter().all(|byte| *byte >= 0x80).then_some(end);
    }
    let letters = label.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let name = label.get(..letters)?;
    let next = label.get(letters).copied().unwrap_or(b' ');
    let ends = next == b' ' || next >= 0x80 || next == b'-';
    let file = FILES.iter().any(|ending| name.eq_ignore_ascii_case(ending));
    ((2..=24).contains(&letters) && ends && !file).then_some(start + letters)
}
