//! Classifies characters that are not displayed.

/// True for a bidirectional control, which changes the direction of text.
pub fn is_bidi_control(c: char) -> bool {
    matches!(c,
        '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// True for a character without width or glyph: zero-width characters, soft hyphen, word joiner,
/// fillers, bidi controls, annotation marks, variation selectors and Unicode tags.
///
/// False for ordinary white space and control characters.
pub fn is_invisible(c: char) -> bool {
    is_bidi_control(c)
        || matches!(c,
            '\u{00ad}' | '\u{034f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2065}'
            | '\u{206a}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// True for private-use characters, whose appearance depends on the font, and for noncharacters.
pub fn is_private(c: char) -> bool {
    matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}' | '\u{fdd0}'..='\u{fdef}')
        || u32::from(c) & 0xfffe == 0xfffe
}

/// True for a symbol that has width but no visible glyph: the Braille blank, the object replacement
/// character, the musical null notehead.
pub fn is_blank_symbol(c: char) -> bool {
    matches!(c, '\u{2800}' | '\u{fffc}' | '\u{1d159}')
}

/// The length in bytes of the flag of England, Scotland or Wales at the beginning of `text`, 0 if it
/// begins otherwise: a black flag with tags, the only such sequences that Unicode recommends (Unicode
/// Technical Standard 51, section "Emoji Tag Sequences").
pub(crate) fn subdivision_flag_len(text: &str) -> usize {
    let Some(tags) = text.strip_prefix('\u{1f3f4}') else { return 0 };
    let found = ["gbeng", "gbsct", "gbwls"].iter().find_map(|name| {
        let name = name.chars().map(|c| char::from_u32(0xe0000 | u32::from(c)));
        let sequence: Option<String> = name.chain([Some('\u{e007f}')]).collect();
        sequence.filter(|sequence| tags.starts_with(sequence.as_str()))
    });
    found.map_or(0, |sequence| '\u{1f3f4}'.len_utf8() + sequence.len())
}

/// The invisible characters of `text` with their byte positions, in order.
pub fn locate(text: &str) -> impl Iterator<Item = (usize, char)> + '_ {
    text.char_indices().filter(|(_, c)| is_invisible(*c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_found_at_its_place() {
        let text = "a\u{200b}b\u{ad}c\u{2060}d\u{202e}e\u{e0041}f\u{fe0f}";
        let found: Vec<_> = locate(text).collect();
        assert_eq!(
            found,
            [
                (1, '\u{200b}'),
                (5, '\u{ad}'),
                (8, '\u{2060}'),
                (12, '\u{202e}'),
                (16, '\u{e0041}'),
                (21, '\u{fe0f}')
            ]
        );
    }

    #[test]
    fn plain_text_is_visible() {
        assert_eq!(locate("Grüße, 日本語 \t\r\n 😀").count(), 0);
    }
}
