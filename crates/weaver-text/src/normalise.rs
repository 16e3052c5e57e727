//! Removes invisible characters and full-width forms, with a map back to the input.
//!
//! Use it to search untrusted text for patterns and to locate matches in the original. Never use
//! it to compare or store identifiers: different identifiers can become equal.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization;

use crate::invisible::is_invisible;

/// Normalised text with a map of its positions to the input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NormalisedText {
    text: String,
    runs: Vec<Run>,
    input_len: usize,
}

/// A run of the output that starts at `out` and was made from the input at `input`. Without a
/// `width` it maps byte by byte; otherwise it is a single output byte made of `width` input bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    out: usize,
    input: usize,
    width: Option<usize>,
}

impl NormalisedText {
    /// The normalised text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether normalisation changed the text.
    pub fn is_changed(&self) -> bool {
        self.text.len() != self.input_len || self.runs.len() > 1
    }

    /// The input bytes that these output bytes were made from, including invisible characters
    /// between them but not at either end. The range is clamped to the text; an empty range gives
    /// an empty range.
    pub fn original(&self, range: Range<usize>) -> Range<usize> {
        let end = range.end.min(self.text.len());
        let start = self.input_span(range.start.min(end)).0;
        if range.start >= end {
            return start..start;
        }
        start..self.input_span(end.saturating_sub(1)).1
    }

    /// The start and the end of the input bytes that one output byte was made from.
    fn input_span(&self, out: usize) -> (usize, usize) {
        let after = self.runs.partition_point(|run| run.out <= out);
        let Some(run) = after.checked_sub(1).and_then(|i| self.runs.get(i)) else {
            return (out, out.saturating_add(1));
        };
        if out >= self.text.len() {
            return (self.input_len, self.input_len);
        }
        match run.width {
            Some(width) => (run.input, run.input + width),
            None => (run.input + (out - run.out), run.input + (out - run.out) + 1),
        }
    }
}

/// Strips invisible characters and maps full-width ASCII to ASCII. Linear time.
pub fn normalise(text: &str) -> NormalisedText {
    let mut out = String::with_capacity(text.len());
    let mut runs: Vec<Run> = Vec::new();
    let mut copying = false;
    for (at, c) in text.char_indices() {
        if is_invisible(c) {
            copying = false;
        } else if let Some(plain) = half_width(c) {
            runs.push(Run { out: out.len(), input: at, width: Some(c.len_utf8()) });
            out.push(plain);
            copying = false;
        } else {
            if !copying {
                runs.push(Run { out: out.len(), input: at, width: None });
                copying = true;
            }
            out.push(c);
        }
    }
    NormalisedText { text: out, runs, input_len: text.len() }
}

/// NFKC-folded, lower-case text without invisible characters, for matching only.
pub fn fold(text: &str) -> String {
    text.chars().filter(|c| !is_invisible(*c)).nfkc().flat_map(char::to_lowercase).collect()
}

/// The ASCII character for a full-width form.
fn half_width(c: char) -> Option<char> {
    match c {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0),
        '\u{3000}' => Some(' '),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_characters_go_and_positions_lead_back() {
        let input = "ig\u{200b}no\u{ad}re x";
        let n = normalise(input);
        assert_eq!(n.text(), "ignore x");
        assert_eq!(input.get(n.original(0..6)), Some("ig\u{200b}no\u{ad}re"));
        assert_eq!(input.get(n.original(7..8)), Some("x"));
        assert!(n.is_changed());
    }

    #[test]
    fn full_width_becomes_ascii() {
        let input = "key ＡＫＩＡ１２ end";
        let n = normalise(input);
        assert_eq!(n.text(), "key AKIA12 end");
        assert_eq!(input.get(n.original(4..10)), Some("ＡＫＩＡ１２"));
        assert_eq!(input.get(n.original(11..14)), Some("end"));
    }

    #[test]
    fn ranges_outside_are_cut() {
        let n = normalise("\u{200b}ab");
        assert_eq!(n.original(0..99), 3..5);
        assert_eq!(n.original(9..20), 5..5);
        assert_eq!(normalise("").original(0..3), 0..0);
        assert!(!normalise("plain ü").is_changed());
        assert!(normalise("\u{200b}").is_changed());
    }

    #[test]
    fn folding_is_for_matching() {
        assert_eq!(fold("Ｆｉｌｅ ﬁ\u{200b}X"), "file fix");
    }
}
