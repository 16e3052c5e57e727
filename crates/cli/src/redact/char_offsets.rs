//! Converts byte offsets to character offsets.

/// Turns ascending byte offsets of one text into character offsets, in one pass over the text.
pub(super) struct CharOffsets<'t> {
    text: &'t str,
    bytes: usize,
    chars: usize,
}

impl<'t> CharOffsets<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        Self { text, bytes: 0, chars: 0 }
    }

    /// How many characters begin before this byte. An offset below the previous one restarts the
    /// pass.
    pub(super) fn chars(&mut self, byte: usize) -> usize {
        if byte < self.bytes {
            (self.bytes, self.chars) = (0, 0);
        }
        let between = self.text.as_bytes().get(self.bytes..byte.min(self.text.len()));
        // Every UTF-8 byte except a continuation byte begins a character.
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
        let mut ascending = CharOffsets::of(text);
        for (chars, (byte, _)) in text.char_indices().enumerate() {
            assert_eq!(ascending.chars(byte), chars);
            assert_eq!(CharOffsets::of(text).chars(byte), chars);
        }
        assert_eq!(ascending.chars(text.len()), 5);
        assert_eq!(ascending.chars(usize::MAX), 5);
        assert_eq!(ascending.chars(1), 1);
    }
}
