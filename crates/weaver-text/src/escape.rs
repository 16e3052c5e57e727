//! Renders untrusted text with every hidden or control character visible.
//!
//! Backslashes in the text are not escaped: this is a rendering for people and models, not a
//! reversible encoding.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::invisible::{is_blank_symbol, is_invisible, is_private, subdivision_flag_len};

/// Escapes to a single line: control characters (including line breaks, tabs and ANSI escapes),
/// invisible and bidi characters become `\n`, `\t`, `\r` or `\u{…}`.
pub fn line(text: &str) -> Cow<'_, str> {
    render(text, |_| false)
}

/// Like [`line()`], but keeps line feeds and tabs. A carriage return becomes `\u{d}`, as every other
/// hidden character becomes its code.
pub fn block(text: &str) -> Cow<'_, str> {
    render(text, |c| matches!(c, '\n' | '\t'))
}

/// Like [`block`], but also keeps hidden characters in their ordinary use: a carriage return at the
/// end of a line or of the text, a leading byte-order mark, joiners inside an emoji or a word of a
/// script that needs them, the variation selector of an emoji, the tags of a
/// flag, and a mark of direction beside a letter that is written from right to left. Every other one becomes an escape
/// with its code (`\u{200f}`), also a carriage return within a line, so that the escape can stand for
/// it.
pub fn faithful(text: &str) -> Cow<'_, str> {
    if is_printable(text.as_bytes()) {
        return Cow::Borrowed(text);
    }
    let mut out: Option<String> = None;
    let (mut before, mut flag_end) = ('\0', 0);
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let after = chars.peek().map(|(_, c)| *c);
        let ends_line = c == '\r' && after.is_none_or(|after| after == '\n');
        flag_end = flag_end.max(at + subdivision_flag_len(text.get(at..).unwrap_or_default()));
        let keep = matches!(c, '\n' | '\t')
            || !needs_escape(c)
            || ends_line
            || at < flag_end
            || is_ordinary(before, c, after.unwrap_or('\0'));
        if keep {
            if let Some(out) = &mut out {
                out.push(c);
            }
        } else {
            let out = out.get_or_insert_with(|| text.get(..at).unwrap_or_default().to_owned());
            out.extend(c.escape_unicode());
        }
        before = c;
    }
    out.map_or(Cow::Borrowed(text), Cow::Owned)
}

/// Whether a hidden character is in its ordinary use between its neighbours.
fn is_ordinary(before: char, c: char, after: char) -> bool {
    let joins_letters = |c: char| matches!(c, '\u{600}'..='\u{109f}' | '\u{1780}'..='\u{17ff}');
    let is_right_to_left = |c: char| matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}');
    let ends_word = |c: char| matches!(c, '\0' | '\n' | '\r' | '\t') || !needs_escape(c);
    match c {
        '\u{feff}' => before == '\0',
        // A mark of direction, which is no override, beside a letter of Hebrew or Arabic.
        '\u{200e}' | '\u{200f}' => is_right_to_left(before) || is_right_to_left(after),
        '\u{fe0e}' | '\u{fe0f}' => is_pictograph(before) || matches!(before, '0'..='9' | '#' | '*'),
        '\u{200d}' if is_pictograph(after) => is_pictograph(before) || before == '\u{fe0f}',
        // Behind a virama they also end a word.
        '\u{200c}' | '\u{200d}' => {
            joins_letters(before) && (joins_letters(after) || is_virama(before) && ends_word(after))
        }
        _ => false,
    }
}

/// Whether this sign takes the vowel from a consonant of an Indic script.
fn is_virama(c: char) -> bool {
    // In the blocks from Devanagari to Malayalam it has the same place.
    ('\u{900}'..='\u{d7f}').contains(&c) && u32::from(c) & 0x7f == 0x4d || c == '\u{dca}'
}

/// True for a character that can be an emoji or a part of one.
fn is_pictograph(c: char) -> bool {
    matches!(c, '\u{a9}' | '\u{ae}' | '\u{203c}'..='\u{3299}' | '\u{1f000}'..='\u{1faff}')
}

/// Whether [`line()`] escapes this character: control and invisible characters, line and paragraph
/// separators, the Braille blank, hieroglyph format controls, private-use characters and
/// noncharacters.
pub fn needs_escape(c: char) -> bool {
    c.is_control()
        || is_invisible(c)
        || is_private(c)
        || is_blank_symbol(c)
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{13430}'..='\u{1343f}')
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
            '\r' if !keep('\n') => out.push_str("\\r"),
            _ => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
        }
    }
    Cow::Owned(out)
}

/// True for printable ASCII, the common case. Scans without a branch for each byte.
fn is_printable(text: &[u8]) -> bool {
    let all = |part: &[u8]| part.iter().fold(true, |all, byte| all & matches!(byte, b' '..=b'~'));
    let (words, rest) = text.as_chunks::<8>();
    words.iter().all(|word| all(word)) && all(rest)
}

/// The first `max_chars` characters of `text`.
pub fn truncate(text: &str, max_chars: usize) -> &str {
    if text.len() <= max_chars {
        return text;
    }
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => text.get(..end).unwrap_or(text),
        None => text,
    }
}

/// Like [`truncate`], but ends in `…` if text was cut. The ellipsis counts as one character.
pub fn shorten(text: &str, max_chars: usize) -> Cow<'_, str> {
    if truncate(text, max_chars).len() == text.len() {
        return Cow::Borrowed(text);
    }
    let Some(room) = max_chars.checked_sub(1) else { return Cow::Borrowed("") };
    let mut out = truncate(text, room).trim_end().to_owned();
    out.push('…');
    Cow::Owned(out)
}

/// The first `max_chars` characters of `text` on a single line, as [`line()`] escapes them: foreign
/// text in a message.
pub fn excerpt(text: &str, max_chars: usize) -> String {
    line(truncate(text, max_chars)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_things_become_visible() {
        assert_eq!(line("a\u{202e}b"), "a\\u{202e}b");
        assert_eq!(line("\u{1b}[2Jgone\r\n"), "\\u{1b}[2Jgone\\r\\n");
        assert_eq!(block("\u{9b}31m\n\tok\r"), "\\u{9b}31m\n\tok\\u{d}");
        assert_eq!(line("tag\u{e0041}"), "tag\\u{e0041}");
        assert_eq!(line("a\u{fff9}b\u{fffb}\u{e0100}"), "a\\u{fff9}b\\u{fffb}\\u{e0100}");
        assert_eq!(line("\u{2028}\u{2800}\u{ffff}"), "\\u{2028}\\u{2800}\\u{ffff}");
        assert_eq!(line("\u{e000}\u{100000}"), "\\u{e000}\\u{100000}");
        assert!(matches!(line("plain ü 日"), Cow::Borrowed(_)));
        for c in '\0'..'\u{100}' {
            let shown = line(c.encode_utf8(&mut [0; 4])).into_owned();
            assert_eq!(shown.chars().eq([c]), !needs_escape(c), "{c:?}");
        }
    }

    #[test]
    fn ordinary_text_is_handed_on_as_it_is() {
        for text in [
            "a\r\nb\r\n",
            "a\r\nb\r",
            "\u{feff}a",
            "👩\u{200d}💻",
            "❤\u{fe0f}",
            "می\u{200c}خواهم",
            "שלום\u{200f}!",
            "日本語\t\n",
            "അവന\u{d4d}\u{200d} x",
            "⌨\u{fe0e}",
            "\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}!",
        ] {
            assert_eq!(faithful(text), text);
        }
        for (text, shown) in [
            ("a\rb", "a\\u{d}b"),
            ("a\r\rb\r\n", "a\\u{d}\\u{d}b\r\n"),
            ("a\u{feff}b", "a\\u{feff}b"),
            ("a\u{200d}b", "a\\u{200d}b"),
            ("a\u{fe0f}", "a\\u{fe0f}"),
            ("ab\u{200d} c", "ab\\u{200d} c"),
            ("\u{1f3f4}\u{e0067}\u{e007f}", "\u{1f3f4}\\u{e0067}\\u{e007f}"),
            ("x\u{1b}[2J\u{202e}\u{e0041}", "x\\u{1b}[2J\\u{202e}\\u{e0041}"),
        ] {
            assert_eq!(faithful(text), shown);
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
