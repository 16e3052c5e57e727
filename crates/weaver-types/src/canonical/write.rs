//! The writer: RFC 8785 bytes of a value.

use serde_json::{Map, Value};

use super::buffer::Buffer;
use super::{CanonicalError, CanonicalFault, MAX_DEPTH, Profile, number};

/// The canonical bytes of `value`.
pub(super) fn value(value: &Value, profile: Profile) -> Result<Vec<u8>, CanonicalError> {
    let mut out = Buffer::with_room(512);
    write(&mut out, value, profile, 0)?;
    Ok(out.into_vec())
}

fn write(
    out: &mut Buffer,
    value: &Value,
    profile: Profile,
    depth: usize,
) -> Result<(), CanonicalError> {
    match value {
        Value::Null => out.word(b"null"),
        Value::Bool(true) => out.word(b"true"),
        Value::Bool(false) => out.word(b"false"),
        Value::Number(n) => {
            let text = number::write(n, profile).map_err(CanonicalFault::nowhere)?;
            out.word(text.as_bytes());
        }
        Value::String(text) => out.text(text),
        Value::Array(items) => array(out, items, profile, deeper(depth)?)?,
        Value::Object(map) => object(out, map, profile, deeper(depth)?)?,
    }
    Ok(())
}

fn deeper(depth: usize) -> Result<usize, CanonicalError> {
    if depth < MAX_DEPTH { Ok(depth + 1) } else { Err(CanonicalFault::Depth.nowhere()) }
}

fn array(
    out: &mut Buffer,
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
    out: &mut Buffer,
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
    out: &mut Buffer,
    members: impl Iterator<Item = (&'a String, &'a Value)>,
    profile: Profile,
    depth: usize,
) -> Result<(), CanonicalError> {
    out.push(b'{');
    for (index, (key, item)) in members.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.text(key);
        out.push(b':');
        write(out, item, profile, depth).map_err(|e| e.inside_key(key))?;
    }
    out.push(b'}');
    Ok(())
}
