//! Renders a request for people: complete, with every invisible character escaped, so that
//! approvers see what they sign.

use std::fmt::Write as _;

use serde_json::Value;
use weaver_types::canonical::{self, CanonicalError, Profile};
use weaver_types::{Digest, Timestamp};

/// The indentation of one level, in spaces.
const INDENT: usize = 2;

/// Renders the canonical bytes of a request.
pub(super) fn render_document(bytes: &[u8], digest: Digest) -> Result<String, CanonicalError> {
    let request = canonical::parse(bytes, Profile::Foreign)?;
    let mut out = String::new();
    let Value::Object(fields) = &request else { return Ok(out) };
    for (name, field) in fields {
        write_field(&mut out, name, field);
    }
    let _ = writeln!(out, "digest: {digest}");
    Ok(out)
}

/// Renders these fields of the canonical bytes of a request, in this order.
pub(super) fn render_fields(bytes: &[u8], names: &[&str]) -> Result<String, CanonicalError> {
    let request = canonical::parse(bytes, Profile::Foreign)?;
    let mut out = String::new();
    for name in names {
        if let Some(field) = request.get(*name) {
            write_field(&mut out, name, field);
        }
    }
    Ok(out)
}

fn write_field(out: &mut String, name: &str, field: &Value) {
    let _ = write!(out, "{name}:");
    match field.as_i64() {
        Some(micros) if is_time_field(name) => {
            let _ = write!(out, " {} ({micros})", Timestamp::from_micros(micros));
        }
        _ => write_value(out, field, INDENT),
    }
    out.push('\n');
}

fn is_time_field(field: &str) -> bool {
    matches!(field, "opened_at" | "deadline")
}

/// Writes a value after its name: a scalar on the same line, anything else below it and indented.
fn write_value(out: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, field) in fields {
                start_line(out, depth);
                write_quoted(out, name);
                out.push(':');
                self::write_value(out, field, depth + INDENT);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                start_line(out, depth);
                out.push('-');
                self::write_value(out, item, depth + INDENT);
            }
        }
        Value::Object(_) => out.push_str(" {}"),
        Value::Array(_) => out.push_str(" []"),
        Value::String(text) => {
            out.push(' ');
            write_quoted(out, text);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {
            let _ = write!(out, " {value}");
        }
    }
}

fn start_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n(' ', depth));
}

/// Writes a quoted text. A literal backslash is escaped too, so every backslash in the output
/// starts an escape.
fn write_quoted(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ if is_hidden_char(c) => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            _ => out.push(c),
        }
    }
    out.push('"');
}

/// Whether a reader would not see this character, or would mistake it for a plain space.
fn is_hidden_char(c: char) -> bool {
    weaver_text::escape::needs_escape(c)
        || (c.is_whitespace() && c != ' ')
        || matches!(c, '\u{2800}' | '\u{e000}'..='\u{f8ff}' | '\u{fff0}'..='\u{ffff}' | '\u{e0000}'..)
}
