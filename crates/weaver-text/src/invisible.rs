//! Classifies characters that are not displayed, or that change how others are.

use unicode_normalization::char::is_combining_mark;

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

/// True for a character that changes how the characters beside it look: a combining mark that is no vowel
/// or tone of the letter before it (`=` with U+0338 looks like `≠`), a sign that encloses the digits behind
/// it, a part of a syllable that joins with the next one, and the slash of fractions.
///
/// `before` are the characters before it, the last one first.
pub fn changes_neighbours(c: char, before: impl IntoIterator<Item = char>) -> bool {
    if matches!(c,
        '\u{600}'..='\u{605}' | '\u{6dd}' | '\u{70f}' | '\u{890}' | '\u{891}' | '\u{8e2}'
        | '\u{110bd}' | '\u{110cd}' | '\u{2044}' | '\u{1100}'..='\u{11ff}'
        | '\u{a960}'..='\u{a97f}' | '\u{d7b0}'..='\u{d7ff}')
    {
        return true;
    }
    // The vowels and tones of a script are in its own block of Unicode.
    let is_of_script = |other: char| u32::from(other) >> 8 == u32::from(c) >> 8;
    let has_letter = || {
        let mut before = before.into_iter().take(MAX_MARKS);
        let base = before.find(|other| !(is_combining_mark(*other) && is_of_script(*other)));
        base.is_some_and(|base| base.is_alphabetic() && is_of_script(base))
    };
    is_combining_mark(c) && (is_general_mark(c) || !has_letter())
}

/// The most marks of one letter, and the letter.
const MAX_MARKS: usize = 4;

/// True for a combining mark that is no part of one script: it may stand on any character.
fn is_general_mark(c: char) -> bool {
    matches!(c,
        '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{1ab0}'..='\u{1aff}'
        | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' | '\u{302a}'..='\u{302f}'
        | '\u{fe20}'..='\u{fe2f}' | '\u{1d165}'..='\u{1d1ad}')
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
    fn what_changes_how_its_neighbours_look_is_told_from_letters() {
        let changes = |text: &str| {
            let found = text
                .char_indices()
                .filter(|(at, c)| changes_neighbours(*c, text.get(..*at).unwrap().chars().rev()));
            found.count()
        };
        for (text, count) in [
            ("=\u{338}", 1),
            ("10\u{20e3}0", 1),
            ("e\u{301}", 1),
            ("1\u{489}", 1),
            ("a\u{64b}", 1),
            ("1\u{93c}", 1),
            ("\u{65f}", 1),
            ("न\u{93f}\u{93f}\u{93f}\u{93f}\u{93f}", 1),
            ("\u{600}12", 1),
            ("1\u{2044}2", 1),
            ("\u{1100}\u{1161}", 2),
        ] {
            assert_eq!(changes(text), count, "{text:?}");
        }
        for text in
            ["é ü 日本語 한국 か\u{3099}", "हिन्दी में", "ภาษาที่", "שָׁלוֹם", "مَرْحَبًا", "தமிழ்", "≠ ½ 👍🏽"]
        {
            assert_eq!(changes(text), 0, "{text}");
        }
    }

    #[test]
    fn plain_text_is_visible() {
        assert_eq!(locate("Grüße, 日本語 \t\r\n 😀").count(), 0);
    }
}
