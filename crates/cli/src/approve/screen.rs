//! Text and JSON that a terminal shows as they are, whatever the requester wrote into them.

use std::fmt::Write as _;

use serde_json::Value;
use weaver_text::escape;

/// One line of JSON. Characters that a reader would not see, or that a terminal would obey, are
/// written as `\u….`, so that the value is the same and the screen stays as it was.
pub(super) fn json(value: &Value) -> String {
    visible(&value.to_string(), |c| c == ' ')
}

/// The same over several lines.
pub(super) fn pretty(value: &Value) -> String {
    // Inside a text a line feed is `\n` already.
    visible(&format!("{value:#}"), |c| matches!(c, ' ' | '\n'))
}

fn visible(text: &str, keep: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        // Such characters stand in texts alone: everything else of JSON is plain.
        if (escape::needs_escape(c) || c.is_whitespace()) && !keep(c) {
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

/// A text of the requester on one line, cut.
pub(super) fn line(text: &str, max: usize) -> String {
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
        let text = super::json(&value);
        assert!(!text.chars().any(escape::needs_escape), "{text}");
        assert!(text.contains("\\u202e") && text.contains("\\udb40\\udc41"), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}
