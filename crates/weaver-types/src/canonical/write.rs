//! The writer: RFC 8785 bytes of a JSON value.

use serde_json::{Map, Value};

use super::json_buffer::JsonBuffer;
use super::{CanonicalError, CanonicalFault, MAX_DEPTH, Profile, number};

/// The canonical bytes of `value`.
pub(super) fn canonical_bytes(value: &Value, profile: Profile) -> Result<Vec<u8>, CanonicalError> {
    let mut out = JsonBuffer::with_capacity(512);
    write_value(&mut out, value, profile, 0)?;
    Ok(out.into_vec())
}

fn write_value(
    out: &mut JsonBuffer,
    value: &Value,
    profile: Profile,
    depth: usize,
) -> Result<(), CanonicalError> {
    match value {
        Value::Null => out.write_raw(b"null"),
        Value::Bool(true) => out.write_raw(b"true"),
        Value::Bool(false) => out.write_raw(b"false"),
        Value::Number(n) => {
            let text = number::write(n, profile).map_err(CanonicalFault::without_place)?;
            out.write_raw(text.as_bytes());
        }
        Value::String(text) => out.write_string(text),
        Value::Array(items) => array(out, items, profile, next_depth(depth)?)?,
        Value::Object(map) => object(out, map, profile, next_depth(depth)?)?,
    }
    Ok(())
}

fn next_depth(depth: usize) -> Result<usize, CanonicalError> {
    if depth < MAX_DEPTH { Ok(depth + 1) } else { Err(CanonicalFault::Depth.without_place()) }
}

fn array(
    out: &mut JsonBuffer,
    items: &[Value],
    profile: Profile,
    depth: usize,
) -> Result<(), CanonicalError> {
    out.push(b'[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_value(out, item, profile, depth).map_err(|e| e.inside_index(index))?;
    }
    out.push(b']');
    Ok(())
}

fn object(
    out: &mut JsonBuffer,
    map: &Map<String, Value>,
    profile: Profile,
    depth: usize,
) -> Result<(), CanonicalError> {
    // `serde_json` orders the map by code point. That is also UTF-16 order, except for keys above
    // U+FFFF, whose UTF-8 contains a byte of 0xf0 or more.
    let plain = map.keys().all(|key| key.bytes().all(|byte| byte < 0xf0));
    if plain && map.keys().is_sorted() {
        return members(out, map.iter(), profile, depth);
    }
    let mut sorted: Vec<(&String, &Value)> = map.iter().collect();
    sorted.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
    members(out, sorted.into_iter(), profile, depth)
}

fn members<'a>(
    out: &mut JsonBuffer,
    members: impl Iterator<Item = (&'a String, &'a Value)>,
    profile: Profile,
    depth: usize,
) -> Result<(), CanonicalError> {
    out.push(b'{');
    for (index, (key, item)) in members.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.write_string(key);
        out.push(b':');
        write_value(out, item, profile, depth).map_err(|e| e.inside_key(key))?;
    }
    out.push(b'}');
    Ok(())
}
