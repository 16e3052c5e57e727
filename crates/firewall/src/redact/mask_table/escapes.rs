//! Escapes such as `\u{200f}`, as which results show hidden characters.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use weaver_text::escape::needs_escape;

/// The opening of an escape.
const OPENING: &str = "\\u{";
/// The most digits of an escape.
const MAX_DIGITS: usize = 6;

/// The hidden characters that texts of a run have shown as escapes.
#[derive(Debug, Default)]
pub(super) struct EscapedCharacters {
    shown: BTreeSet<char>,
    /// Those whose escapes results had themselves, as source code does.
    literal: BTreeSet<char>,
}

impl EscapedCharacters {
    pub(super) fn record(&mut self, shown: &BTreeSet<char>, literal: &BTreeSet<char>) {
        self.shown.extend(shown);
        self.literal.extend(literal);
    }

    /// The text with the characters in place of their escapes.
    pub(super) fn put_back<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.shown.is_empty() {
            return Cow::Borrowed(text);
        }
        let (mut out, mut kept) = (String::new(), 0);
        for (range, c) in escapes(text) {
            if self.shown.contains(&c) && !self.literal.contains(&c) {
                out.push_str(text.get(kept..range.start).unwrap_or_default());
                out.push(c);
                kept = range.end;
            }
        }
        if kept == 0 {
            return Cow::Borrowed(text);
        }
        out.push_str(text.get(kept..).unwrap_or_default());
        Cow::Owned(out)
    }
}

/// The hidden characters whose escapes a text has.
pub(crate) fn escaped_characters(text: &str) -> impl Iterator<Item = char> {
    escapes(text).map(|(_, c)| c)
}

/// The escapes of hidden characters in a text.
fn escapes(text: &str) -> impl Iterator<Item = (Range<usize>, char)> {
    text.match_indices(OPENING).filter_map(|(start, opening)| {
        let digits = text.get(start + opening.len()..)?;
        let end = digits.bytes().take(MAX_DIGITS + 1).position(|b| b == b'}')?;
        let digits = digits.get(..end)?;
        let c = char::from_u32(u32::from_str_radix(digits, 16).ok()?)?;
        let end = start + opening.len() + end + 1;
        needs_escape(c).then_some((start..end, c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_escape_that_was_shown_and_that_no_result_had_itself_is_put_back() {
        let mut known = EscapedCharacters::default();
        let text = "a\\u{200f}b \\u{ad} \\u{41} \\u{ \\u{200f";
        assert_eq!(known.put_back(text), text);
        known.record(&BTreeSet::from(['\u{200f}']), &BTreeSet::new());
        assert_eq!(known.put_back(text), "a\u{200f}b \\u{ad} \\u{41} \\u{ \\u{200f");
        known.record(&BTreeSet::new(), &BTreeSet::from(['\u{200f}']));
        assert_eq!(known.put_back(text), text);
    }
}
