//! Assigned values: where one begins and ends.

use std::ops::Range;

use super::{MAX_VALUE_BYTES, byte_at, labelled_value, line_value, slice};

/// A value and how it is written.
#[derive(Debug)]
pub(super) struct AssignedValue {
    pub(super) range: Range<usize>,
    pub(super) quoted: bool,
    /// What precedes it: `=`, `:`, `,`, `>` or a blank.
    pub(super) separator: u8,
    /// No blank is between separator and value.
    pub(super) is_adjacent: bool,
    /// Only a value that looks like a token counts.
    pub(super) requires_token: bool,
    /// Its name begins the line, so signs that end a value elsewhere may be a part of it.
    pub(super) fills_line: bool,
}

/// The value after a separator.
pub(super) fn value_after(bytes: &[u8], from: usize, separator: u8) -> Option<AssignedValue> {
    let rest = slice(bytes, from..(from + 24).min(bytes.len()));
    let mut start = from + rest.iter().take_while(|b| b" \t=".contains(b)).count();
    let is_adjacent = start == from;
    let mut requires_token = false;
    let folded = byte_at(bytes, start) == b'\\' && b"\r\n".contains(&byte_at(bytes, start + 1));
    if (folded || b"\r\n".contains(&byte_at(bytes, start))) && b"=:".contains(&separator) {
        (start, requires_token) = (next_line(bytes, start), true);
        if separator == b'=' && line_value::is_assignment(slice(bytes, start..bytes.len())) {
            return None;
        }
    }
    if separator == b':' && !requires_token {
        if b"|>".contains(&byte_at(bytes, start))
            && let Some(block) = line_value::block_scalar(bytes, start)
        {
            return Some(block);
        }
        start = labelled_value::skip_markup(bytes, start);
    }
    start += usize::from(
        b"brfuLN@".contains(&byte_at(bytes, start)) && is_quote(byte_at(bytes, start + 1)),
    );
    const BYTES_OF: &[u8] = b"[]byte(";
    if slice(bytes, start..start + BYTES_OF.len()) == BYTES_OF {
        start += BYTES_OF.len();
    }
    if let Some(quote) = wrapped_text(bytes, start) {
        (start, requires_token) = (quote, true);
    }
    let rest = slice(bytes, start..(start + 8).min(bytes.len()));
    let slashes = rest.iter().take_while(|b| **b == b'\\').count();
    let quote = byte_at(bytes, start + slashes);
    if is_quote(quote) && slashes < 8 {
        let from = start + slashes + 1;
        let run = slice(bytes, from..(from + MAX_VALUE_BYTES).min(bytes.len()));
        let mut escaped = false;
        let len = run.iter().position(|b| {
            let ends = !escaped && (*b == quote || slashes > 0 && *b == b'\\') || *b == b'\n';
            escaped = !escaped && *b == b'\\';
            ends
        });
        let closed = len.is_some_and(|len| byte_at(bytes, from + len) != b'\n');
        if closed || separator == b',' {
            let range = from..from + len?;
            return Some(AssignedValue {
                range,
                quoted: true,
                separator,
                is_adjacent,
                requires_token,
                fills_line: false,
            });
        }
        start = from;
    }
    let len = unquoted_len(slice(bytes, start..(start + MAX_VALUE_BYTES).min(bytes.len())))?;
    let trimmed = slice(bytes, start..start + len);
    let len = len - trimmed.iter().rev().take_while(|b| **b == b'.').count();
    Some(AssignedValue {
        range: start..start + len,
        quoted: false,
        separator,
        is_adjacent,
        requires_token,
        fills_line: false,
    })
}

/// The length of a value without quotation marks; `None` if it holds more signs than a value does. Each
/// of these signs may have a name before it and reads on from there, so names in a chain, `key:key:…`,
/// would each cost a whole value.
fn unquoted_len(run: &[u8]) -> Option<usize> {
    const MAX_SIGNS: u32 = 8;
    let mut signs = 0;
    for (at, byte) in run.iter().enumerate() {
        match ENDS_OR_SIGNS.get(usize::from(*byte)) {
            Some(&END) => return Some(at),
            Some(&SIGN) => {
                signs += 1;
                if signs > MAX_SIGNS {
                    return None;
                }
            }
            _ => {}
        }
    }
    Some(run.len())
}

/// A byte that ends a value without quotation marks, and one that may be between a name and a value.
const END: u8 = 1;
const SIGN: u8 = 2;

const ENDS_OR_SIGNS: [u8; 256] = ends_or_signs();

const fn ends_or_signs() -> [u8; 256] {
    let mut table = [0_u8; 256];
    let mut at = 0;
    #[expect(clippy::indexing_slicing, reason = "evaluated at compile time, in bounds")]
    while at < 256 {
        table[at] = match at as u8 {
            b'"' | b'\'' | b'`' | b'<' | b'>' | b',' | b';' | b'&' | b')' | b']' | b'}' | b'\\' => {
                END
            }
            byte if byte.is_ascii_whitespace() => END,
            b':' | b'=' => SIGN,
            _ => 0,
        };
        at += 1;
    }
    table
}

/// Calls that make a value of the text that they get.
const WRAPPERS: [&[u8]; 21] = [
    b"some", b"just", b"ok", b"from", b"new", b"of", b"secret", b"secretstr", b"secretstring",
    b"securestring", b"secretbox", b"password", b"redacted", b"sensitive", b"string", b"text",
    b"b64decode", b"hex2bin", b"unhexlify", b"fromhex", b"decodestring",
];

/// The quote that begins the only argument of a call that makes a value of it: `Some("…`,
/// `SecretString::from("…`, `new Password("…`.
fn wrapped_text(bytes: &[u8], start: usize) -> Option<usize> {
    const MAX_CALL_BYTES: usize = 40;
    let run = slice(bytes, start..(start + MAX_CALL_BYTES).min(bytes.len()));
    let run = run.strip_prefix(b"new ").unwrap_or(run);
    let is_name = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b':');
    let len = run.iter().position(|b| !is_name(b))?;
    let quote = run.get(len..).and_then(|rest| rest.strip_prefix(b"("))?.first()?;
    let name = slice(run, 0..len).rsplit(|b| matches!(b, b'.' | b':')).next()?;
    let is_wrapper = WRAPPERS.iter().any(|known| known.eq_ignore_ascii_case(name));
    let at = start + usize::from(slice(bytes, start..start + 4) == b"new ") * 4 + len + 1;
    (len > 0 && is_wrapper && matches!(quote, b'"' | b'\'' | b'`')).then_some(at)
}

/// The position after a line end and the indentation that follows.
fn next_line(bytes: &[u8], at: usize) -> usize {
    let run = slice(bytes, at..(at + 48).min(bytes.len()));
    let lines = run.iter().take_while(|b| b"\\\r\n \t".contains(b));
    at + lines.count()
}

/// The most blanks before the end of an element, in bytes.
const MAX_END_GAP: usize = 48;

/// The text of an XML element.
pub(super) fn value_in_element(bytes: &[u8], from: usize) -> Option<AssignedValue> {
    let run = slice(bytes, from..(from + 64).min(bytes.len()));
    let mut start = from + run.iter().take_while(|b| b.is_ascii_whitespace()).count();
    if slice(bytes, start..start + 9) == b"<![CDATA[" {
        start += 9;
    }
    let run = slice(bytes, start..(start + MAX_VALUE_BYTES).min(bytes.len()));
    let ends = |b: &u8| b"<]\r\n".contains(b);
    let len = run.iter().position(ends)?;
    let end = start + len;
    let after = slice(bytes, end..(end + MAX_END_GAP).min(bytes.len())).trim_ascii_start();
    let is_closed = after.starts_with(b"</") || after.starts_with(b"]]>");
    let trimmed = slice(bytes, start..start + len);
    let len = len - trimmed.iter().rev().take_while(|b| b.is_ascii_whitespace()).count();
    // Without its end, `<pass>` is a name in a sentence or a synopsis.
    if !is_closed && slice(trimmed, 0..len).iter().any(|b| b.is_ascii_whitespace() || *b == b'\\') {
        return None;
    }
    Some(AssignedValue {
        range: start..start + len,
        quoted: true,
        separator: b'>',
        is_adjacent: true,
        requires_token: !is_closed,
        fills_line: false,
    })
}

/// The end of a value in a list separated by semicolons: in `;Password=a&b;` it is `a&b`, and in an
/// attribute of XML, `Password=a&amp;b"`, `a&amp;b`.
pub(super) fn semicolon_end(bytes: &[u8], end: usize) -> usize {
    let run = slice(bytes, end..(end + MAX_VALUE_BYTES).min(bytes.len()));
    let entities = [&b"&amp;"[..], b"&lt;", b"&gt;", b"&apos;"];
    let (mut at, mut has_entity) = (0, false);
    while let Some(byte) = run.get(at) {
        let rest = slice(run, at..run.len());
        if let Some(entity) = entities.iter().find(|entity| rest.starts_with(entity)) {
            (at, has_entity) = (at + entity.len(), true);
            continue;
        }
        if byte.is_ascii_whitespace() || b"\"'`<>;".contains(byte) {
            break;
        }
        at += 1;
    }
    let next = run.get(at);
    match next == Some(&b';') || has_entity && next == Some(&b'"') {
        true => end + at,
        false => end,
    }
}

fn is_quote(byte: u8) -> bool {
    b"\"'`".contains(&byte)
}

#[cfg(test)]
mod tests;
