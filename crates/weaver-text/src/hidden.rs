//! Counts the hidden characters of a text.
//!
//! Instructions for a model can be hidden from people by zero-width characters, Unicode tags, bidi
//! controls or terminal sequences. [`count`] counts each kind; [`crate::escape`] makes them
//! visible; [`crate::reveal`] decodes what they hide.
//!
//! Ordinary uses are not counted: the variation selector of an emoji, the joiner inside an emoji
//! or between letters of a script that needs it, the tags of a flag, a leading byte-order mark.

use crate::invisible::{
    is_bidi_control, is_blank_symbol, is_invisible, is_private, subdivision_flag_len,
};

/// The numbers of hidden characters in a text, by kind. A terminal sequence counts as one.
///
/// ```
/// use weaver_text::hidden;
///
/// let found = hidden::count("pay\u{202e}dlog\u{200b} \u{1b}[8mnow");
/// assert_eq!((found.bidi, found.zero_width, found.ansi), (1, 1, 1));
/// assert_eq!(found.to_string(), "1 zero-width, 1 bidi, 1 ansi");
/// assert!(hidden::count("❤\u{fe0f} plain").is_empty());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct HiddenCharacters {
    /// Zero-width characters, soft hyphens, fillers, annotation marks and the Braille blank.
    pub zero_width: usize,
    /// Bidirectional controls.
    pub bidi: usize,
    /// Unicode tags, which spell invisible ASCII.
    pub tags: usize,
    /// Variation selectors, which can encode bytes.
    pub selectors: usize,
    /// Terminal escape sequences.
    pub ansi: usize,
    /// Control characters other than tabs and line breaks.
    pub control: usize,
    /// Private-use characters and noncharacters.
    pub private: usize,
}

impl HiddenCharacters {
    /// The sum over all kinds.
    pub fn total(&self) -> usize {
        self.kinds().iter().fold(0, |sum, (_, n)| sum.saturating_add(*n))
    }

    /// Whether there are no hidden characters.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The name and the count of each kind, in the order of the fields.
    pub fn kinds(&self) -> [(&'static str, usize); 7] {
        [
            ("zero-width", self.zero_width),
            ("bidi", self.bidi),
            ("tags", self.tags),
            ("selectors", self.selectors),
            ("ansi", self.ansi),
            ("control", self.control),
            ("private-use", self.private),
        ]
    }

    /// Adds the counts of another text.
    pub fn add(&mut self, other: Self) {
        for (sum, n) in [
            (&mut self.zero_width, other.zero_width),
            (&mut self.bidi, other.bidi),
            (&mut self.tags, other.tags),
            (&mut self.selectors, other.selectors),
            (&mut self.ansi, other.ansi),
            (&mut self.control, other.control),
            (&mut self.private, other.private),
        ] {
            *sum = sum.saturating_add(n);
        }
    }
}

/// The counts above zero, such as `3 tags, 1 ansi`; empty if there are none.
impl std::fmt::Display for HiddenCharacters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut between = "";
        for (name, n) in self.kinds() {
            if n > 0 {
                write!(f, "{between}{n} {name}")?;
                between = ", ";
            }
        }
        Ok(())
    }
}

/// Counts the hidden characters of a text. Linear time.
pub fn count(text: &str) -> HiddenCharacters {
    let mut found = HiddenCharacters::default();
    // The common case: printing ASCII.
    let plain = |b: &u8| (b' '..0x7f).contains(b) || matches!(b, b'\t' | b'\n' | b'\r');
    let Some(start) = text.as_bytes().iter().position(|b| !plain(b)) else { return found };
    let mut before = text.get(..start).and_then(|head| head.chars().next_back());
    let mut flag_end = 0;
    let text = text.get(start..).unwrap_or_default();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let after = chars.peek().map(|(_, c)| *c);
        flag_end = flag_end.max(at + subdivision_flag_len(text.get(at..).unwrap_or_default()));
        let ordinary = is_ordinary(before, c, after) || at < flag_end;
        if !ordinary {
            found.record(c, after);
        }
        before = Some(c);
    }
    found
}

impl HiddenCharacters {
    fn record(&mut self, c: char, after: Option<char>) {
        let kind = match c {
            '\t' | '\n' | '\r' => return,
            '\u{1b}' if after.is_some_and(|c| matches!(c, ' '..='~')) => &mut self.ansi,
            '\u{9b}' => &mut self.ansi,
            _ if c.is_control() => &mut self.control,
            _ if is_bidi_control(c) => &mut self.bidi,
            _ if is_tag(c) => &mut self.tags,
            _ if is_selector(c) => &mut self.selectors,
            _ if is_invisible(c) || is_blank_symbol(c) => &mut self.zero_width,
            _ if is_private(c) => &mut self.private,
            _ => return,
        };
        *kind = kind.saturating_add(1);
    }
}

fn is_tag(c: char) -> bool {
    matches!(c, '\u{e0000}'..='\u{e007f}')
}

fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{180b}'..='\u{180f}' | '\u{e0100}'..='\u{e01ef}')
}

/// Whether a hidden character is in its ordinary use between its neighbours.
fn is_ordinary(before: Option<char>, c: char, after: Option<char>) -> bool {
    let other = |c: char| !c.is_ascii() && !is_invisible(c) && !c.is_control();
    match c {
        // Emoji or text presentation, including keycaps.
        '\u{fe0e}' | '\u{fe0f}' => {
            before.is_some_and(|b| other(b) || b.is_ascii_digit() || matches!(b, '#' | '*'))
        }
        '\u{200c}' | '\u{200d}' => {
            before.is_some_and(|b| other(b) || is_selector(b)) && after.is_some_and(other)
        }
        '\u{feff}' => before.is_none(),
        '\u{200e}' | '\u{200f}' => {
            let is_right_to_left =
                |c: char| matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}');
            before.into_iter().chain(after).any(is_right_to_left)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_count() {
        let text = "a\u{200b}\u{ad}\u{2060}\u{fff9}b\u{202e}\u{2066}\u{200f}c\u{e0041}\u{e0042}\
                    d\u{e0100}e\u{fe0f}f\u{1b}[31m\u{9b}0mg\0\u{8}\u{1b}\u{2800}\u{e001}\u{ffff}\u{fdd0}";
        let found = count(text);
        assert_eq!(
            found.kinds().map(|(_, n)| n),
            [5, 3, 2, 2, 2, 3, 3],
            "zero-width, bidi, tags, selectors, ansi, control, private-use"
        );
        assert_eq!(found.total(), 20);
        let mut twice = found;
        twice.add(found);
        assert_eq!(twice.total(), 40);
    }

    #[test]
    fn ordinary_text_hides_nothing() {
        let family = "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}";
        let england = "\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}";
        let texts = [
            "",
            "plain\ttext\r\n",
            "Grüße, 日本語",
            "❤\u{fe0f} 4\u{fe0f}\u{20e3}",
            family,
            england,
            "می\u{200c}خواهم",
            "\u{feff}start",
            "🏳\u{fe0f}\u{200d}🌈",
            "שלום\u{200f}!",
        ];
        for text in texts {
            assert!(count(text).is_empty(), "{text:?}: {}", count(text));
        }
        assert_eq!(count("").to_string(), "");
    }

    #[test]
    fn the_ordinary_form_in_the_wrong_place_counts() {
        assert_eq!(count("pass\u{200d}word").zero_width, 1);
        assert_eq!(count("word\u{feff}").zero_width, 1);
        assert_eq!(count("x\u{fe0f}\u{fe0f}").selectors, 2);
        assert_eq!(count("\u{1f3f4}x\u{e0067}").tags, 1);
        // Tags behind a flag that are no flag say something to a model.
        assert_eq!(count("\u{1f3f4}\u{e0073}\u{e0065}\u{e006e}\u{e0064}\u{e007f}").tags, 5);
    }
}
