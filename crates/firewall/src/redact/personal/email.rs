//! E-mail addresses.

use std::ops::Range;

use super::candidate::{byte_at, byte_before};
use super::{ScanWindow, reserved, userinfo};
use crate::redact::validators::{has_scrambled_word, words};

/// The longest local part that is read, in bytes.
const MAX_LOCAL_BYTES: usize = 200;
/// The longest domain, in bytes.
const MAX_DOMAIN_BYTES: usize = 253;
/// Endings of file and unit names that follow an `@` which is not an address.
const FILE_EXTENSIONS: &[&str] = words![
    "png" "jpg" "jpeg" "gif" "svg" "webp" "ico" "css" "js" "mjs" "json" "html" "txt" "xml"
    "yaml" "yml" "toml" "jar" "tgz" "gz" "whl" "pdf" "service" "socket" "target" "timer" "mount"
    "device" "conf" "lock" "log" "slice" "scope" "path" "swap" "automount" "avif" "bmp" "heic"
    "tif" "tiff" "psd" "woff" "ttf" "otf" "jsx" "tsx" "scss" "deb" "rpm" "apk" "csv"
];

/// The address around an `@`.
pub(super) fn email_at(window: &ScanWindow<'_>, at: usize) -> Option<Range<usize>> {
    let bytes = window.bytes();
    let start = local_part_start(bytes, at)?;
    let end = domain_end(bytes, at + 1)?;
    let domain = bytes.get(at + 1..end)?;
    // The host after the password of a URL would look like an address together with the password.
    let name = run_start(bytes, at, |byte| is_local_byte(byte) && byte != b'/').max(start);
    if window.covered.covers(&(name..at)) {
        return None;
    }
    let is_none = reserved::is_example_domain(domain.rsplit(|byte| *byte == b'.'))
        || reserved::is_of_service_account(domain)
        || is_version(domain)
        || is_scaled_image(bytes, at + 1..end)
        || is_message_id(bytes, start..end, at)
        || is_in_placeholder(bytes, start)
        || bytes.get(start..at).is_some_and(|local| local.ends_with(b"***"))
        || is_principal(bytes.get(start..at).unwrap_or_default(), domain)
        || userinfo::is_account(bytes, at, end);
    (!is_none).then_some(start..end)
}

/// True for a principal of Kerberos, whose realm is in capitals: `host/db1@CORP.NET`, `ann@CORP.NET`.
fn is_principal(local: &[u8], realm: &[u8]) -> bool {
    !realm.iter().any(u8::is_ascii_lowercase)
        && realm.iter().any(u8::is_ascii_uppercase)
        && (local.contains(&b'/') || local.iter().any(u8::is_ascii_lowercase))
}

/// True for `1.2.3-rc.next` after a package name: no domain has three such labels.
fn is_version(domain: &[u8]) -> bool {
    let domain = domain.strip_prefix(b"v").unwrap_or(domain);
    let mut labels = domain.split(|byte| *byte == b'.');
    let mut next = || labels.next().unwrap_or_default();
    let major = next();
    let starts = |label: &[u8]| label.first().is_some_and(u8::is_ascii_digit);
    !major.is_empty() && major.iter().all(u8::is_ascii_digit) && starts(next()) && starts(next())
}

/// True for `3x.min` before `.png`: a scale factor in the name of an image.
fn is_scaled_image(bytes: &[u8], domain: Range<usize>) -> bool {
    let scaled = byte_at(bytes, domain.start).is_ascii_digit()
        && matches!(bytes.get(domain.start + 1..domain.start + 3), Some(b"x." | b"x-"));
    let ending = bytes.get(domain.end + 1..).unwrap_or_default();
    let length = ending.iter().take(8).take_while(|byte| byte.is_ascii_alphabetic()).count();
    let is_file = ending.get(..length).is_some_and(is_file_ending);
    scaled && byte_at(bytes, domain.end) == b'.' && is_file
}

/// True for what an empty field of a form shows: `placeholder="name@company.com"`.
fn is_in_placeholder(bytes: &[u8], start: usize) -> bool {
    const ATTRIBUTE: &[u8] = b"placeholder";
    let Some(quoted) =
        start.checked_sub(1).filter(|at| matches!(byte_at(bytes, *at), b'"' | b'\''))
    else {
        return false;
    };
    let before = bytes.get(quoted.saturating_sub(16)..quoted).unwrap_or_default().trim_ascii_end();
    let Some(name) = before.strip_suffix(b"=").or_else(|| before.strip_suffix(b":")) else {
        return false;
    };
    let name = name.trim_ascii_end();
    name.strip_suffix(b"\"").unwrap_or(name).ends_with(ATTRIBUTE)
}

/// Headers whose value names a message, not a mailbox.
const MESSAGE_HEADERS: [&[u8]; 6] =
    [b"message-id", b"messageid", b"in-reply-to", b"references", b"content-id", b"msgid"];

/// True for the made-up name of a message: `Message-ID: <20260814091244.4F1C22@mx.corp.net>`.
fn is_message_id(bytes: &[u8], address: Range<usize>, at: usize) -> bool {
    const MAX_HEADER_BYTES: usize = 32;
    let Range { start, end } = address;
    let local = bytes.get(start..at).and_then(|local| std::str::from_utf8(local).ok());
    if byte_before(bytes, start) != b'<' || byte_at(bytes, end) != b'>' {
        return is_after_uid(bytes, start) && local.is_some_and(is_made_up);
    }
    let before = bytes.get(start.saturating_sub(MAX_HEADER_BYTES)..start - 1).unwrap_or_default();
    let Some(header) = header_before(before) else { return false };
    let is_header = MESSAGE_HEADERS.iter().any(|name| {
        header
            .len()
            .checked_sub(name.len())
            .and_then(|from| header.get(from..))
            .is_some_and(|end| end.eq_ignore_ascii_case(name))
    });
    is_header && local.is_some_and(is_made_up)
}

/// What is before the sign of a header, or of the same in JSON: `"Message-ID": "<`, and
/// `"name":"Message-ID","value":"<`.
fn header_before(before: &[u8]) -> Option<&[u8]> {
    let bare = |text: &'_ [u8]| {
        text.len() - text.iter().rev().take_while(|b| b" \t\r\n\"\\".contains(b)).count()
    };
    let before = before.get(..bare(before))?;
    let name = before.strip_suffix(b":").or_else(|| before.strip_suffix(b"="))?;
    let name = name.get(..bare(name))?;
    let Some(value) = name.strip_suffix(b"value") else { return Some(name) };
    let name = value.get(..bare(value))?.strip_suffix(b",")?;
    name.get(..bare(name))
}

/// True after the name of an event of a calendar or of a call: `UID:q8Vn…@google.com`,
/// `"iCalUID": "q8Vn…@…"`, `Call-ID: q8Vn…@pbx`.
fn is_after_uid(bytes: &[u8], start: usize) -> bool {
    const MAX_NAME_BYTES: usize = 16;
    let before = bytes.get(start.saturating_sub(MAX_NAME_BYTES)..start).unwrap_or_default();
    let is_between = |byte: &&u8| b" \"':=\\".contains(byte);
    let len = before.len() - before.iter().rev().take_while(is_between).count();
    let ends_with = |name: &&[u8]| {
        let end = before.get(len.saturating_sub(name.len())..len);
        end.is_some_and(|end| end.eq_ignore_ascii_case(name))
    };
    // A header has brackets around the name, and a field of JSON does not.
    let is_field = before.ends_with(b"\"");
    let names_message = [&b"message-id"[..], b"messageid", b"message_id"].iter().any(ends_with);
    ([&b"uid"[..], b"call-id"].iter().any(ends_with) || is_field && names_message)
        && len < before.len()
}

/// True for numbers and tokens. Names may be among them, as in those of Git: `20260814-1-jane@…`.
fn is_made_up(local: &str) -> bool {
    const MIN_NAME_LETTERS: usize = 3;
    let is_name = |part: &str| {
        let letters = part.bytes().take_while(u8::is_ascii_alphabetic).count();
        letters >= MIN_NAME_LETTERS && !has_scrambled_word(part) || !part.is_ascii()
    };
    let digits = local.bytes().filter(u8::is_ascii_digit).count();
    let parts = || local.split(|c: char| c.is_ascii_punctuation());
    (digits >= 8 || has_scrambled_word(local)) && !parts().any(is_name)
}

fn is_file_ending(name: &[u8]) -> bool {
    FILE_EXTENSIONS.iter().any(|ending| ending.as_bytes().eq_ignore_ascii_case(name))
}

/// The start of the local part before the `@`.
fn local_part_start(bytes: &[u8], at: usize) -> Option<usize> {
    let floor = at.saturating_sub(MAX_LOCAL_BYTES);
    let mut start = at;
    while start > floor && is_local_byte(byte_before(bytes, start)) {
        start -= 1;
    }
    // Skip characters that cannot begin a local part.
    while start < at && !starts_local(byte_at(bytes, start)) {
        start += 1;
    }
    let last = byte_before(bytes, at);
    (start < at && last != b'.').then_some(start)
}

fn is_local_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80 || b"!#$%&'*+-/?^_`{|}~.".contains(&byte)
}

fn starts_local(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80 || byte == b'_' || byte == b'+'
}

/// The end of a domain that begins here: labels separated by points, the last one of letters.
fn domain_end(bytes: &[u8], start: usize) -> Option<usize> {
    let ceiling = start.saturating_add(MAX_DOMAIN_BYTES);
    let mut found = None;
    let mut at = start;
    loop {
        let label = at;
        while at < ceiling && is_label_byte(byte_at(bytes, at)) && at < bytes.len() {
            at += 1;
        }
        if at == label || byte_at(bytes, label) == b'-' {
            break;
        }
        if label > start {
            found = top_level_end(bytes, label, at).or(found);
        }
        if byte_at(bytes, at) != b'.' || at >= ceiling {
            break;
        }
        at += 1;
    }
    found
}

fn is_label_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte >= 0x80
}

/// The end of a top-level domain at the start of a label.
fn top_level_end(bytes: &[u8], start: usize, end: usize) -> Option<usize> {
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
    ((2..=24).contains(&letters) && ends && !is_file_ending(name)).then_some(start + letters)
}

/// An address obfuscated with bracketed signs, one of which opens here: `a[.]b at c[.]d`, `a (at)
/// b.c`, `a[at]b[dot]c`.
pub(super) fn bracketed_email(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let sign = bracketed_sign(bytes, at)?;
    let (at_start, at_end) = if sign.is_point {
        let label = run_start(bytes, at, is_label_byte);
        at_sign_before(bytes, label)?
    } else {
        let blank = usize::from(byte_before(bytes, at) == b' ');
        let after = usize::from(byte_at(bytes, sign.end) == b' ');
        (at.saturating_sub(blank), sign.end + after)
    };
    let start = local_with_signs(bytes, at_start)?;
    // `seen at evil[.]example` is not an address, `jane.roe at …` is one.
    let plain =
        byte_at(bytes, at_start) == b' ' && byte_at(bytes, at_start + 1).is_ascii_alphabetic();
    let name = bytes.get(start..at_start)?;
    if plain && name.iter().all(u8::is_ascii_alphabetic) {
        return None;
    }
    let domain = domain_with_signs(bytes, at_end)?;
    let mut labels = domain.labels.iter().rev().filter_map(|label| bytes.get(label.clone()));
    (!reserved::is_example_domain(&mut labels)).then_some(start..domain.end)
}

/// A bracketed point or `@`.
struct BracketedSign {
    end: usize,
    is_point: bool,
}

/// The bracketed sign that opens here: `[.]`, `(dot)`, `[at]` and the like.
fn bracketed_sign(bytes: &[u8], at: usize) -> Option<BracketedSign> {
    let close = match byte_at(bytes, at) {
        b'[' => b']',
        b'(' => b')',
        _ => return None,
    };
    let inner = bytes.get(at + 1..)?.iter().take(4).position(|byte| *byte == close)?;
    let text = bytes.get(at + 1..at + 1 + inner)?;
    let is_point = text == b"." || text.eq_ignore_ascii_case(b"dot");
    let is_at = text == b"@" || text.eq_ignore_ascii_case(b"at");
    (is_point || is_at).then_some(BracketedSign { end: at + inner + 2, is_point })
}

/// The start of the run of matching bytes before a position.
fn run_start(bytes: &[u8], end: usize, holds: fn(u8) -> bool) -> usize {
    let floor = end.saturating_sub(64);
    let mut start = end;
    while start > floor && holds(byte_before(bytes, start)) {
        start -= 1;
    }
    start
}

/// The `@` that ends here, in any spelling.
fn at_sign_before(bytes: &[u8], end: usize) -> Option<(usize, usize)> {
    let forms: [&[u8]; 10] =
        [b" at ", b" AT ", b"@", b" [at] ", b" (at) ", b" [AT] ", b"[at]", b"(at)", b"[@]", b"(@)"];
    let form = forms.iter().find(|form| {
        end.checked_sub(form.len()).and_then(|from| bytes.get(from..end)) == Some(**form)
    })?;
    Some((end - form.len(), end))
}

/// The start of a local part that ends here, possibly with bracketed points.
fn local_with_signs(bytes: &[u8], end: usize) -> Option<usize> {
    let mut start = end;
    for _ in 0..8 {
        let name = run_start(bytes, start, |byte| is_local_byte(byte) && byte != b'\'');
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
    while start < end && !starts_local(byte_at(bytes, start)) {
        start += 1;
    }
    (start < end).then_some(start)
}

/// A domain with obfuscated points.
struct WrittenDomain {
    /// The range of each label.
    labels: Vec<Range<usize>>,
    end: usize,
}

/// The domain that begins here, possibly with bracketed or spelled-out points.
fn domain_with_signs(bytes: &[u8], start: usize) -> Option<WrittenDomain> {
    let mut at = start;
    let mut labels: Vec<Range<usize>> = Vec::new();
    let mut found = None;
    for _ in 0..8 {
        let label = at;
        while at - label < 63 && at < bytes.len() && is_label_byte(byte_at(bytes, at)) {
            at += 1;
        }
        if at == label {
            break;
        }
        let top = top_level_end(bytes, label, at).filter(|_| !labels.is_empty());
        labels.push(label..top.unwrap_or(at));
        if let Some(end) = top {
            found = Some((labels.len(), end));
        }
        let blank = usize::from(byte_at(bytes, at) == b' ');
        at = match bracketed_sign(bytes, at + blank) {
            Some(sign) if sign.is_point => {
                sign.end + usize::from(byte_at(bytes, sign.end) == b' ' && blank > 0)
            }
            _ if byte_at(bytes, at) == b'.' => at + 1,
            _ if bytes.get(at..at + 5) == Some(b" dot ") => at + 5,
            _ => break,
        };
    }
    let (count, end) = found?;
    labels.truncate(count);
    Some(WrittenDomain { labels, end })
}

#[cfg(test)]
mod tests;
