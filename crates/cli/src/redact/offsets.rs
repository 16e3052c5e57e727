//! Converts byte offsets to character offsets.

/// Turns ascending byte offsets of one text into character offsets, in one pass over the text.
pub(super) struct Offsets<'t> {
    text: &'t str,
    bytes: usize,
    chars: usize,
}

impl<'t> Offsets<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        Self { text, bytes: 0, chars: 0 }
    }

    /// How many characters begin before this byte. An offset before the last one asked for costs
    /// a pass of its own.
    pub(super) fn chars(&mut self, byte: usize) -> usize {
        if byte < self.bytes {
            (self.bytes, self.chars) = (0, 0);
        }
        let between = self.text.as_bytes().get(self.bytes..byte.min(self.text.len()));
        // Every byte of UTF-8 that does not continue a character begins one.
        let begun = between.unwrap_or_default().iter().filter(|b| (**b & 0xc0) != 0x80).count();
        self.chars += begun;
        self.bytes = byte.min(self.text.len());
        self.chars
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_border_of_a_character_is_counted() {
        let text = "a\u{e9}\u{20ac}\u{1f600}b";
        let mut ascending = Offsets::of(text);
        for (chars, (byte, _)) in text.char_indices().enumerate() {
            assert_eq!(ascending.chars(byte), chars);
            assert_eq!(Offsets::of(text).chars(byte), chars);
        }
        assert_eq!(ascending.chars(text.len()), 5);
        assert_eq!(ascending.chars(usize::MAX), 5);
        assert_eq!(ascending.chars(1), 1);
    }
}
