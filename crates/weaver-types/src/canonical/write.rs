//! The writer: RFC 8785 bytes of a value.

use serde_json::{Map, Value};

use super::plain::plain;
use super::{CanonicalError, CanonicalFault, MAX_DEPTH, Profile, number};

/// The canonical bytes of `value`.
pub(super) fn value(value: &Value, profile: Profile) -> Result<Vec<u8>, CanonicalError> {
    let mut out = Vec::with_capacity(512);
    write(&mut out, value, profile, 0)?;
    Ok(out)
}

fn write(
    out: &mut Vec<u8>,
    value: &Value,
    profile: Profile,
    depth: usize,
) -> Result<(), CanonicalError> {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(n) => {
            let text = number::write(n, profile).map_err(CanonicalFault::nowhere)?;
            out.extend_from_slice(text.as_bytes());
        }
        Value::String(text) => string(out, text),
        Value::Array(items) => array(out, items, profile, deeper(depth)?)?,
        Value::Object(map) => object(out, map, profile, deeper(depth)?)?,
    }
    Ok(())
}

fn deeper(depth: usize) -> Result<usize, CanonicalError> {
    if depth < MAX_DEPTH { Ok(depth + 1) } else { Err(CanonicalFault::Depth.nowhere()) }
}

fn array(
    out: &mut Vec<u8>,
    items: &[Value],
    profile: Profile,
    depth: usize,
) -> Result<(), CanonicalError> {
    out.push(b'[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(out, item, profile, depth).map_err(|e| e.inside_index(index))?;
    }
    out.push(b']');
    Ok(())
}

fn object(
    out: &mut Vec<u8>,
    map: &Map<String, Value>,
    profile: Profile,
    depth: usize,
) -> Result<(), CanonicalError> {
    // The map is ordered by code point, which is the order by UTF-16 unit for all but keys above
    // U+FFFF, whose UTF-8 begins with a byte of 0xf0 or more.
    let plain = map.keys().all(|key| key.bytes().all(|byte| byte < 0xf0));
    if plain && map.keys().is_sorted() {
        return members(out, map.iter(), profile, depth);
    }
    let mut sorted: Vec<(&String, &Value)> = map.iter().collect();
    sorted.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
    members(out, sorted.into_iter(), profile, depth)
}

fn members<'a>(
    out: &mut Vec<u8>,
    members: impl Iterator<Item = (&'a String, &'a Value)>,
    profile: Profile,
    depth: usize,
) -> Result<(), CanonicalError> {
    out.push(b'{');
    for (index, (key, item)) in members.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        string(out, key);
        out.push(b':');
        write(out, item, profile, depth).map_err(|e| e.inside_key(key))?;
    }
    out.push(b'}');
    Ok(())
}

/// Writes a string with its quotes.
pub(super) fn string(out: &mut Vec<u8>, text: &str) {
    let mut rest = text.as_bytes();
    out.reserve(rest.len() + 2);
    out.push(b'"');
    while let Some((before, [byte, after @ ..])) =
        plain(rest).and_then(|at| rest.split_at_checked(at))
    {
        out.extend_from_slice(before);
        rest = after;
        escaped(out, *byte);
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

fn escaped(out: &mut Vec<u8>, byte: u8) {
    match byte {
        b'"' => out.extend_from_slice(b"\\\""),
        b'\\' => out.extend_from_slice(b"\\\\"),
        0x08 => out.extend_from_slice(b"\\b"),
        0x09 => out.extend_from_slice(b"\\t"),
        0x0a => out.extend_from_slice(b"\\n"),
        0x0c => out.extend_from_slice(b"\\f"),
        0x0d => out.extend_from_slice(b"\\r"),
        byte => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
    }
}
