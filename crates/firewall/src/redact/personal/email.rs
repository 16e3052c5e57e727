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

/// The address written around signs in brackets, of which one opens here: `a[.]b at c[.]d`,
/// `a (at) b.c`, `a[at]b[dot]c`.
pub(super) fn bracketed(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let sign = bracketed_sign(bytes, at)?;
    let (at_start, at_end) = if sign.is_point {
        let label = back_over(bytes, at, in_label);
        at_sign_before(bytes, label)?
    } else {
        let blank = usize::from(before(bytes, at) == b' ');
        let after = usize::from(byte(bytes, sign.end) == b' ');
        (at.saturating_sub(blank), sign.end + after)
    };
    let start = local_with_signs(bytes, at_start)?;
    // `seen at evil[.]example` is no address, `jane.roe at …` is one.
    let plain = byte(bytes, at_start) == b' ' && byte(bytes, at_start + 1).is_ascii_alphabetic();
    let name = bytes.get(start..at_start)?;
    if plain && name.iter().all(u8::is_ascii_alphabetic) {
        return None;
    }
    let end = domain_with_signs(bytes, at_end)?;
    Some(start..end)
}

/// A sign in brackets: a point, or the `@`.
struct Sign {
    end: usize,
    is_point: bool,
}

/// `[.]`, `(dot)`, `[at]` and the like, opening at a place.
fn bracketed_sign(bytes: &[u8], at: usize) -> Option<Sign> {
    let close = match byte(bytes, at) {
        b'[' => b']',
        b'(' => b')',
        _ => return None,
    };
    let inner = bytes.get(at + 1..)?.iter().take(4).position(|byte| *byte == close)?;
    let text = bytes.get(at + 1..at + 1 + inner)?;
    let is_point = text == b"." || text.eq_ignore_ascii_case(b"dot");
    let is_at = text == b"@" || text.eq_ignore_ascii_case(b"at");
    (is_point || is_at).then_some(Sign { end: at + inner + 2, is_point })
}

/// The start of the run of such bytes before a place.
fn back_over(bytes: &[u8], end: usize, holds: fn(u8) -> bool) -> usize {
    let floor = end.saturating_sub(64);
    let mut start = end;
    while start > floor && holds(before(bytes, start)) {
        start -= 1;
    }
    start
}

/// The place of the `@` that ends here, in any writing.
fn at_sign_before(bytes: &[u8], end: usize) -> Option<(usize, usize)> {
    let forms: [&[u8]; 10] =
        [b" at ", b" AT ", b"@", b" [at] ", b" (at) ", b" [AT] ", b"[at]", b"(at)", b"[@]", b"(@)"];
    let form = forms.iter().find(|form| {
        end.checked_sub(form.len()).and_then(|from| bytes.get(from..end)) == Some(**form)
    })?;
    Some((end - form.len(), end))
}

/// The start of a name that ends here, its points perhaps in brackets.
fn local_with_signs(bytes: &[u8], end: usize) -> Option<usize> {
    let mut start = end;
    for _ in 0..8 {
        let name = back_over(bytes, start, |byte| in_local(byte) && byte != b'\'');
        if name == start {
            return None;
        }
        start = name;
        let sign = [3, 5].into_iter().find_map(|length| {
            let from = start.checked_sub(length)?;
            let sign = bracketed_sign(bytes, from)?;
            (sign.is_point && sign.end == start).then_some(from)
        });
        match sign {
            Some(from) => start = from,
            None => break,
        }
    }
    while start < end && !starts_local(byte(bytes, start)) {
        start += 1;
    }
    (start < end).then_some(start)
}

/// The end of a domain that starts here, its points perhaps in brackets or written out.
fn domain_with_signs(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    let mut found = None;
    for labels in 0..8 {
        let label = at;
        while at - label < 63 && at < bytes.len() && in_label(byte(bytes, at)) {
            at += 1;
        }
        if at == label {
            break;
        }
        if labels > 0 {
            found = top_level(bytes, label, at).or(found);
        }
        let blank = usize::from(byte(bytes, at) == b' ');
        at = match bracketed_sign(bytes, at + blank) {
            Some(sign) if sign.is_point => {
                sign.end + usize::from(byte(bytes, sign.end) == b' ' && blank > 0)
            }
            _ if byte(bytes, at) == b'.' => at + 1,
            _ if bytes.get(at..at + 5) == Some(b" dot ") => at + 5,
            _ => break,
        };
    }
    found
}
