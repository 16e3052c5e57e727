//! Escapes untrusted text for one line of a terminal or log.

/// Longest output in bytes, without the truncation mark.
const MAX_OUTPUT_BYTES: usize = 16 * 1024;

/// Escapes control characters, line breaks, and invisible or direction-changing characters, and
/// truncates at 16 KiB.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(MAX_OUTPUT_BYTES));
    for c in text.chars() {
        if out.len() >= MAX_OUTPUT_BYTES {
            out.push('…');
            break;
        }
        if c == '\\' || is_hidden(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn control_and_direction_marks_become_visible() {
        assert_eq!(escape("a\u{1b}[2J\nb\u{202e}c\\"), "a\\u{1b}[2J\\nb\\u{202e}c\\\\");
        assert_eq!(escape("größe 日本"), "größe 日本");
    }

    #[test]
    fn long_text_is_cut() {
        let out = escape(&"x".repeat(100_000));
        assert!(out.len() < 17_000 && out.ends_with('…'), "{}", out.len());
    }
}
