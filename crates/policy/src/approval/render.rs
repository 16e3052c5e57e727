//! A request as text for people: everything in it, and nothing that hides.

use std::fmt::Write as _;

use serde_json::Value;
use weaver_types::canonical::{self, CanonicalError, Profile};
use weaver_types::{Digest, Timestamp};

/// How far one level is indented.
const STEP: usize = 2;

/// The text of the canonical bytes of a request.
pub(super) fn document(bytes: &[u8], digest: Digest) -> Result<String, CanonicalError> {
    let request = canonical::parse(bytes, Profile::Foreign)?;
    let mut out = String::new();
    let Value::Object(fields) = &request else { return Ok(out) };
    for (name, field) in fields {
        let _ = write!(out, "{name}:");
        match field.as_i64() {
            Some(micros) if is_time(name) => {
                let _ = write!(out, " {} ({micros})", Timestamp::from_micros(micros));
            }
            _ => value(&mut out, field, STEP),
        }
        out.push('\n');
    }
    let _ = writeln!(out, "digest: {digest}");
    Ok(out)
}

fn is_time(field: &str) -> bool {
    matches!(field, "opened_at" | "deadline")
}

/// A value after its name: on the same line, or below it and further in.
fn value(out: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, field) in fields {
                line(out, depth);
                quoted(out, name);
                out.push(':');
                self::value(out, field, depth + STEP);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                line(out, depth);
                out.push('-');
                self::value(out, item, depth + STEP);
            }
        }
        Value::Object(_) => out.push_str(" {}"),
        Value::Array(_) => out.push_str(" []"),
        Value::String(text) => {
            out.push(' ');
            quoted(out, text);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {
            let _ = write!(out, " {value}");
        }
    }
}

fn line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n(' ', depth));
}

/// A text in quotes, in which a backslash is an escape wherever it stands.
fn quoted(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ if hides(c) => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            _ => out.push(c),
        }
    }
    out.push('"');
}

/// Whether a reader would not see this character, or take it for a plain blank.
fn hides(c: char) -> bool {
    weaver_text::escape::needs_escape(c)
        || (c.is_whitespace() && c != ' ')
        || matches!(c, '\u{2800}' | '\u{e000}'..='\u{f8ff}' | '\u{fff0}'..='\u{ffff}' | '\u{e0000}'..)
}
