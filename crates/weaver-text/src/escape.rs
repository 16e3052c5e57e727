//! Rendering untrusted text so that its reader sees all of it.
//!
//! A backslash that is already in the text stays as it is: this is a rendering for people and
//! models, not an encoding that can be undone.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::invisible::is_invisible;

/// One line: control characters (line breaks, tabs and ANSI escapes among them), invisible and
/// bidi characters become `\n`, `\t`, `\r` or `\u{…}`.
pub fn line(text: &str) -> Cow<'_, str> {
    render(text, |_| false)
}

/// Several lines: as [`line()`], but line feed and tab stay. A carriage return becomes visible.
pub fn block(text: &str) -> Cow<'_, str> {
    render(text, |c| matches!(c, '\n' | '\t'))
}

/// True if this character is rendered as an escape by [`line()`]: control and invisible characters,
/// line and paragraph separators, the blank of Braille, controls of hieroglyphs, and code points
/// that are no characters.
pub fn needs_escape(c: char) -> bool {
    c.is_control()
        || is_invisible(c)
        || matches!(c,
            '\u{2028}' | '\u{2029}' | '\u{2800}' | '\u{fffc}' | '\u{fdd0}'..='\u{fdef}'
            | '\u{13430}'..='\u{1343f}' | '\u{1d159}')
        || u32::from(c) & 0xfffe == 0xfffe
}

fn render(text: &str, keep: impl Fn(char) -> bool) -> Cow<'_, str> {
    if is_printable(text.as_bytes()) || !text.chars().any(|c| needs_escape(c) && !keep(c)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            _ if keep(c) || !needs_escape(c) => out.push(c),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            _ => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
        }
    }
    Cow::Owned(out)
}

/// True for printable ASCII, which most texts are: looked over without a branch for each byte.
fn is_printable(text: &[u8]) -> bool {
    let all = |part: &[u8]| part.iter().fold(true, |all, byte| all & matches!(byte, b' '..=b'~'));
    let (words, rest) = text.as_chunks::<8>();
    words.iter().all(|word| all(word)) && all(rest)
}

/// The first `max_chars` characters of `text`, never cutting one in two.
pub fn truncate(text: &str, max_chars: usize) -> &str {
    if text.len() <= max_chars {
        return text;
    }
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => text.get(..end).unwrap_or(text),
        None => text,
    }
}

/// As [`truncate`], ending in `…` when something was cut. The mark counts as one character.
pub fn shorten(text: &str, max_chars: usize) -> Cow<'_, str> {
    if truncate(text, max_chars).len() == text.len() {
        return Cow::Borrowed(text);
    }
    let Some(room) = max_chars.checked_sub(1) else { return Cow::Borrowed("") };
    let mut out = truncate(text, room).trim_end().to_owned();
    out.push('…');
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_things_become_visible() {
        assert_eq!(line("a\u{202e}b"), "a\\u{202e}b");
        assert_eq!(line("\u{1b}[2Jgone\r\n"), "\\u{1b}[2Jgone\\r\\n");
        assert_eq!(block("\u{9b}31m\n\tok\r"), "\\u{9b}31m\n\tok\\r");
        assert_eq!(line("tag\u{e0041}"), "tag\\u{e0041}");
        assert_eq!(line("a\u{fff9}b\u{fffb}\u{e0100}"), "a\\u{fff9}b\\u{fffb}\\u{e0100}");
        assert_eq!(line("\u{2028}\u{2800}\u{ffff}"), "\\u{2028}\\u{2800}\\u{ffff}");
        assert!(matches!(line("plain ü 日"), Cow::Borrowed(_)));
        for c in '\0'..'\u{100}' {
            let shown = line(c.encode_utf8(&mut [0; 4])).into_owned();
            assert_eq!(shown.chars().eq([c]), !needs_escape(c), "{c:?}");
        }
    }

    #[test]
    fn cutting_keeps_characters_whole() {
        assert_eq!(truncate("äöü", 2), "äö");
        assert_eq!(truncate("äöü", 9), "äöü");
        assert_eq!(truncate("ä", 0), "");
        assert_eq!(shorten("one two", 5), "one…");
        assert_eq!(shorten("one", 3), "one");
        assert_eq!(shorten("one", 0), "");
    }
}
