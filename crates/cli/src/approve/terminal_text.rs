//! Escapes text and JSON of a requester so that a terminal shows all of it and obeys none of it.

use std::fmt::Write as _;

use serde_json::Value;
use weaver_text::escape;

/// One line of JSON. Characters that are invisible or that control a terminal become `\u….`, so the
/// value stays the same and the screen is not affected.
pub(super) fn escape_json(value: &Value) -> String {
    escape_invisible(&value.to_string(), |c| c == ' ')
}

/// The same over several lines, indented.
pub(super) fn escape_json_pretty(value: &Value) -> String {
    // A line feed inside a JSON text is already `\n`.
    escape_invisible(&format!("{value:#}"), |c| matches!(c, ' ' | '\n'))
}

/// The most blanks together that are shown as blanks.
const MAX_BLANKS: usize = 8;

fn escape_invisible(text: &str, keep: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut blanks, mut is_indentation) = (0_usize, true);
    for c in text.chars() {
        blanks = if c == ' ' { blanks.saturating_add(1) } else { 0 };
        is_indentation = c == '\n' || is_indentation && c == ' ';
        // What follows many blanks could be off the screen.
        let is_gap = blanks > MAX_BLANKS && !is_indentation;
        // Such characters occur only inside texts: the rest of JSON is ASCII.
        if (escape::needs_escape(c) || c.is_whitespace()) && (!keep(c) || is_gap) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// A text of the requester on one line, shortened to `max` characters.
pub(super) fn escape_line(text: &str, max: usize) -> String {
    escape::shorten(&escape::line(text), max).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn json_keeps_its_value_and_hides_nothing() {
        let value =
            json!({ "a\u{202e}": ["\u{1b}[2J", "\u{200b}", "\u{e0041}", "\u{9b}", "ü 日"] });
        let text = super::escape_json(&value);
        assert!(!text.chars().any(escape::needs_escape), "{text}");
        assert!(text.contains("\\u202e") && text.contains("\\udb40\\udc41"), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }

    #[test]
    fn a_gap_of_many_blanks_is_seen() {
        let value =
            json!({ "a": { "b": { "c": { "d": { "e": format!("x{}y", " ".repeat(10)) } } } } });
        let gap = format!("x{}\\u0020\\u0020y", " ".repeat(8));
        for text in [super::escape_json(&value), super::escape_json_pretty(&value)] {
            assert!(text.contains(&gap), "{text}");
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
            assert_eq!(text.matches("u0020").count(), 2, "{text}");
        }
    }
}
