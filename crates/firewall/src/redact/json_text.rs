//! JSON in a text: values under telling names are masked where they stand, so that layout and the
//! order of fields stay as they are.

use serde_json::Value;

use super::Redactor;
use super::value::{Finish, Named, Walk};

/// The longest text that is read as JSON, in bytes.
const MAX_TEXT: usize = 4 * 1024 * 1024;

/// The text with every scalar under a telling name masked, if it is a whole JSON document.
pub(crate) fn mask_fields<'t, F: Finish>(
    redactor: &Redactor,
    text: &'t str,
    walk: &mut Walk<'_, F>,
) -> std::borrow::Cow<'t, str> {
    let trimmed = text.trim_start();
    if !trimmed.starts_with(['{', '[']) || text.len() > MAX_TEXT {
        return text.into();
    }
    if serde_json::from_str::<serde::de::IgnoredAny>(text).is_err() {
        return text.into();
    }
    let mut out = String::new();
    let mut kept = 0;
    for Scalar { name, start, end } in scalars(text) {
        let (Some(key), Some(shown)) = (text.get(name), text.get(start..end)) else { continue };
        let Ok(Value::String(key)) = serde_json::from_str(key) else { continue };
        let Ok(value) = serde_json::from_str::<Value>(shown) else { continue };
        let named = walk.named(&key);
        if !hides(walk, named, &value) {
            continue;
        }
        out.push_str(text.get(kept..start).unwrap_or_default());
        out.push('"');
        let plain = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        redactor.write_mask("field", &plain, &mut out);
        out.push('"');
        kept = end;
    }
    if kept == 0 {
        return text.into();
    }
    out.push_str(text.get(kept..).unwrap_or_default());
    out.into()
}

fn hides<F: Finish>(walk: &mut Walk<'_, F>, named: Named<'_>, value: &Value) -> bool {
    walk.hides(named, value)
}

/// A scalar, and the name of the nearest field that it stands under.
struct Scalar {
    name: std::ops::Range<usize>,
    start: usize,
    end: usize,
}

/// Every scalar of a valid document that stands under a name, in order. Items of a list stand under
/// the list's name.
fn scalars(text: &str) -> Vec<Scalar> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    // For each open list or object, the name it stands under.
    let mut open: Vec<Option<std::ops::Range<usize>>> = Vec::new();
    let mut name: Option<std::ops::Range<usize>> = None;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'{' | b'[' => open.push(name.clone()),
            b'}' | b']' => {
                open.pop();
            }
            b',' => name = open.last().cloned().flatten(),
            b':' | b' ' | b'\n' | b'\r' | b'\t' => {}
            _ => {
                let end = scalar_end(bytes, at);
                let is_name = *byte == b'"' && next_is_colon(bytes, end);
                if is_name {
                    name = Some(at..end);
                } else if let Some(name) = &name {
                    found.push(Scalar { name: name.clone(), start: at, end });
                }
                at = end;
                continue;
            }
        }
        at += 1;
    }
    found
}

fn scalar_end(bytes: &[u8], start: usize) -> usize {
    let rest = bytes.get(start + 1..).unwrap_or_default();
    if bytes.get(start) != Some(&b'"') {
        let ends = |b: &u8| matches!(b, b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t');
        return start + 1 + rest.iter().position(ends).unwrap_or(rest.len());
    }
    let mut escaped = false;
    for (at, byte) in rest.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return start + at + 2,
            _ => {}
        }
    }
    bytes.len()
}

fn next_is_colon(bytes: &[u8], from: usize) -> bool {
    let rest = bytes.get(from..).unwrap_or_default();
    rest.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b':')
}
