//! Escapes text and JSON of a requester so that a terminal shows all of it and obeys none of it.

use std::fmt::Write as _;

use serde_json::Value;
use weaver_text::{escape, invisible};

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
    for (c, misleads) in characters(text) {
        blanks = if c == ' ' { blanks.saturating_add(1) } else { 0 };
        is_indentation = c == '\n' || is_indentation && c == ' ';
        // What follows many blanks could be off the screen.
        let is_gap = blanks > MAX_BLANKS && !is_indentation;
        // Such characters occur only inside texts: the rest of JSON is ASCII.
        if misleads || (escape::needs_escape(c) || c.is_whitespace()) && (!keep(c) || is_gap) {
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

/// The characters of a text, each with whether it changes how its neighbours look, or where they stand.
fn characters(text: &str) -> impl Iterator<Item = (char, bool)> {
    let moving = moving_letters(text);
    text.char_indices().zip(moving).map(move |((at, c), moves)| {
        let before = text.get(..at).unwrap_or_default().chars().rev();
        (c, moves || invisible::changes_neighbours(c, before))
    })
}

/// For each character, whether it is a letter of a script from right to left that moves something else than
/// such letters (Unicode Standard Annex 9): a number behind it, or the next one of two texts in quotes.
fn moving_letters(text: &str) -> Vec<bool> {
    let (mut number, mut same_text, mut other_text) = (false, false, false);
    let mut moving: Vec<bool> = text
        .chars()
        .rev()
        .map(|c| {
            let is_moving = is_right_to_left(c) && (number || other_text);
            match c {
                '"' => other_text |= same_text,
                _ if is_right_to_left(c) => same_text = true,
                _ if c.is_numeric() => number = true,
                _ if c.is_alphabetic() => (number, same_text, other_text) = (false, false, false),
                _ => {}
            }
            is_moving
        })
        .collect();
    moving.reverse();
    moving
}

fn is_right_to_left(c: char) -> bool {
    c.is_alphabetic()
        && matches!(c,
            '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}'
            | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
}

/// A text of the requester on one line, shortened to `max` characters.
pub(super) fn escape_line(text: &str, max: usize) -> String {
    let mut plain = String::with_capacity(text.len());
    for (c, misleads) in characters(text) {
        match misleads {
            true => plain.extend(c.escape_unicode()),
            false => plain.push(c),
        }
    }
    escape::shorten(&escape::line(&plain), max).into_owned()
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
    fn what_changes_how_its_neighbours_look_or_stand_is_escaped() {
        let value = json!({
            "a": "x =\u{338} 1", "b": "10\u{20e3}0", "c": ["שלום", 100, 20], "d": "עד 20", "e": "10\u{600}2"
        });
        for text in [super::escape_json(&value), super::escape_json_pretty(&value)] {
            for shown in ["=\\u0338", "10\\u20e30", "\"\\u05e9", "\"\\u05e2", "10\\u06002"] {
                assert!(text.contains(shown), "{shown} {text}");
            }
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        }
        let swapped = json!(["א", "ב"]);
        let plain = json!({ "a": "שָׁלוֹם", "b": "हिन्दी", "c": "مرحبا بك" });
        assert_eq!(super::escape_json(&swapped), "[\"\\u05d0\",\"ב\"]");
        assert_eq!(super::escape_json(&plain), plain.to_string());
        assert_eq!(super::escape_line("a =\u{338} א 1", 80), "a =\\u{338} \\u{5d0} 1");
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
