//! Splits text that arrives in pieces into redacted lines.

use crate::redact::{Counts, StreamRedactor};

/// The longest line that is kept, in bytes: more than any cell shows.
const MAX_LINE: usize = 8 * 1024;

/// The result of decoding a piece of bytes.
pub(super) enum DecodedChunk {
    Text(String),
    /// Not UTF-8.
    Binary,
}

/// Decodes UTF-8 that may be cut within a character.
#[derive(Debug, Default)]
pub(super) struct Utf8Decoder {
    /// The beginning of a character, at most three bytes.
    partial_char: Vec<u8>,
}

impl Utf8Decoder {
    pub(super) fn push(&mut self, bytes: &[u8]) -> DecodedChunk {
        let mut all = std::mem::take(&mut self.partial_char);
        all.extend_from_slice(bytes);
        match String::from_utf8(all) {
            Ok(text) => DecodedChunk::Text(text),
            Err(error) => {
                let whole = error.utf8_error().valid_up_to();
                let cut_short = error.utf8_error().error_len().is_none();
                let mut all = error.into_bytes();
                if !cut_short {
                    return DecodedChunk::Binary;
                }
                self.partial_char = all.split_off(whole);
                String::from_utf8(all).map_or(DecodedChunk::Binary, DecodedChunk::Text)
            }
        }
    }

    /// True if the bytes ended within a character.
    pub(super) fn has_partial_char(&self) -> bool {
        !self.partial_char.is_empty()
    }
}

/// Lines of one text, which is redacted as a whole whatever its pieces were.
#[derive(Debug)]
pub(super) struct LineSplitter {
    redactor: StreamRedactor,
    /// The beginning of an unfinished line.
    line: String,
    /// Something followed the last line break.
    has_partial_line: bool,
}

impl LineSplitter {
    pub(super) fn new(redactor: StreamRedactor) -> Self {
        Self { redactor, line: String::new(), has_partial_line: false }
    }

    /// The lines that are complete now.
    pub(super) fn push(&mut self, piece: &str) -> Vec<String> {
        let decided = self.redactor.push_to_open_tail(piece);
        self.split_lines(&decided)
    }

    /// The rest; the text has ended.
    pub(super) fn finish(&mut self) -> Vec<String> {
        let decided = self.redactor.finish();
        let mut lines = self.split_lines(&decided);
        if std::mem::take(&mut self.has_partial_line) {
            lines.push(std::mem::take(&mut self.line));
        }
        lines
    }

    /// How many values of each kind were masked.
    pub(super) fn counts(&self) -> &Counts {
        self.redactor.counts()
    }

    fn split_lines(&mut self, decided: &str) -> Vec<String> {
        let mut lines = Vec::new();
        for piece in decided.split_inclusive('\n') {
            let (text, over) = match piece.strip_suffix('\n') {
                Some(text) => (text.strip_suffix('\r').unwrap_or(text), true),
                None => (piece, false),
            };
            let remaining_bytes = MAX_LINE.saturating_sub(self.line.len());
            let (head, _) = text.split_at(text.floor_char_boundary(remaining_bytes));
            self.line.push_str(head);
            self.has_partial_line = !over;
            if over {
                lines.push(std::mem::take(&mut self.line));
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::redact::Redactor;

    #[test]
    fn a_character_that_is_cut_is_joined() {
        let mut decoder = Utf8Decoder::default();
        for (bytes, text, is_open) in [
            (&b"a\xe2"[..], "a", true),
            (b"\x82", "", true),
            (b"\xac.", "\u{20ac}.", false),
            (b"", "", false),
            (b"\xc3", "", true),
            (b"\xa9", "\u{e9}", false),
        ] {
            let DecodedChunk::Text(decoded) = decoder.push(bytes) else {
                panic!("no text: {bytes:?}")
            };
            assert_eq!(
                (decoded.as_str(), decoder.has_partial_char()),
                (text, is_open),
                "{bytes:?}"
            );
        }
        for bytes in [&b"\xff"[..], b"a\xc3("] {
            assert!(
                matches!(Utf8Decoder::default().push(bytes), DecodedChunk::Binary),
                "{bytes:?}"
            );
        }
    }

    fn lines(text: &str) -> Vec<String> {
        let redactor = StreamRedactor::new(Arc::new(Redactor::builtin()));
        let mut lines = LineSplitter::new(redactor);
        let mut all = lines.push(text);
        all.extend(lines.finish());
        all
    }

    #[test]
    fn lines_end_at_their_break() {
        assert_eq!(lines("one\r\ntwo\n\nthr"), ["one", "two", "", "thr"]);
        assert_eq!(lines("one\n"), ["one"]);
        assert_eq!(lines("\n"), [""]);
        assert!(lines("").is_empty());
    }

    #[test]
    fn of_a_long_line_the_beginning_is_kept() {
        for (words, kept) in [(4_095, 8_190), (4_096, 8_192), (5_000, 8_192)] {
            let all = lines(&format!("{}\nnext", "a ".repeat(words)));
            let lengths: Vec<usize> = all.iter().map(String::len).collect();
            assert_eq!(lengths, [kept, 4], "{words}");
        }
    }
}
