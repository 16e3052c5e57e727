//! Text in which every mask is collapsed to one byte, with a map back to the original offsets.
//!
//! A masked value, whether from this pass or an earlier one, reads as a single barrier: it is part
//! of no value, and its length is invisible. So text that was redacted before reads the same the
//! second time.

use std::borrow::Cow;
use std::ops::Range;

use weaver_text::reveal;

use super::MASK;

/// The sentinel for a mask.
const BARRIER: char = reveal::BARRIER;
/// Replaces a sentinel byte that occurs in the input itself.
const BARRIER_REPLACEMENT: char = '\u{1e}';
/// The longest mask, in bytes.
pub(crate) const MAX_MASK_BYTES: usize = 72;
/// What the lines begin with that say what was masked or cut. A server that writes it imitates
/// them, as it would a mask.
const NOTE_MARK: &[u8] = b"[weaver]";
/// The most digits of a mask's number; fewer than any value worth masking has.
pub(crate) const MAX_MASK_DIGITS: usize = 6;

/// A text with collapsed masks.
#[derive(Debug)]
pub(crate) struct MaskCollapsedText<'t> {
    text: Cow<'t, str>,
    barriers: Vec<MaskBarrier>,
}

#[derive(Debug)]
struct MaskBarrier {
    /// The offset of the sentinel in the collapsed text.
    collapsed_offset: usize,
    /// The original range that it stands for.
    masked: Range<usize>,
}

impl<'t> MaskCollapsedText<'t> {
    /// Collapses these ranges, which must be sorted and disjoint.
    pub(crate) fn new(text: &'t str, masked: &[Range<usize>]) -> Self {
        if masked.is_empty() && !contains_ascii(text, BARRIER) {
            return Self { text: Cow::Borrowed(text), barriers: Vec::new() };
        }
        let mut out = String::with_capacity(text.len());
        let mut barriers = Vec::with_capacity(masked.len());
        let mut at = 0;
        for range in masked {
            push_without_barriers(&mut out, text.get(at..range.start).unwrap_or_default());
            barriers.push(MaskBarrier { collapsed_offset: out.len(), masked: range.clone() });
            out.push(BARRIER);
            at = range.end;
        }
        push_without_barriers(&mut out, text.get(at..).unwrap_or_default());
        Self { text: Cow::Owned(out), barriers }
    }

    /// The collapsed text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Maps a range of the collapsed text to the original one.
    pub(crate) fn to_original(&self, range: &Range<usize>) -> Range<usize> {
        let start = self.original_span(range.start).start;
        let end = range.end.checked_sub(1).map_or(start, |last| self.original_span(last).end);
        start..end.max(start)
    }

    /// True if a range of the collapsed text consists of masks only.
    pub(crate) fn is_masked(&self, range: &Range<usize>) -> bool {
        self.text.get(range.clone()).is_some_and(|part| part.chars().all(|c| c == BARRIER))
    }

    /// Maps an original offset to the collapsed text.
    pub(crate) fn to_collapsed(&self, original: usize) -> usize {
        let before = self.barriers.partition_point(|cut| cut.masked.start < original);
        match before.checked_sub(1).and_then(|i| self.barriers.get(i)) {
            Some(cut) => cut.collapsed_offset + 1 + original.saturating_sub(cut.masked.end),
            None => original,
        }
    }

    /// Maps an original offset to the collapsed text, unless it is masked.
    pub(crate) fn to_collapsed_if_visible(&self, original: usize) -> Option<usize> {
        let at = self.to_collapsed(original);
        (self.original_span(at).start == original && !self.is_barrier(at)).then_some(at)
    }

    fn is_barrier(&self, at: usize) -> bool {
        self.barriers.binary_search_by_key(&at, |cut| cut.collapsed_offset).is_ok()
    }

    /// The original range of one byte of the collapsed text.
    ///
    /// The barriers are sorted by both offsets. Between two barriers the texts are equal, so an
    /// offset maps by its distance from the last barrier, which takes one byte here and its whole
    /// range in the original.
    fn original_span(&self, at: usize) -> Range<usize> {
        let before = self.barriers.partition_point(|cut| cut.collapsed_offset <= at);
        match before.checked_sub(1).and_then(|i| self.barriers.get(i)) {
            Some(cut) if cut.collapsed_offset == at => cut.masked.clone(),
            Some(cut) => {
                let here = cut.masked.end + (at - cut.collapsed_offset - 1);
                here..here + 1
            }
            None => at..at + 1,
        }
    }
}

/// Appends text with its own sentinel bytes replaced.
fn push_without_barriers(out: &mut String, text: &str) {
    if contains_ascii(text, BARRIER) {
        out.extend(text.chars().map(|c| if c == BARRIER { BARRIER_REPLACEMENT } else { c }));
    } else {
        out.push_str(text);
    }
}

/// True if a text contains an ASCII character. Vectorised: no branch per byte.
fn contains_ascii(text: &str, wanted: char) -> bool {
    let is_in = |part: &[u8]| part.iter().fold(false, |any, b| any | (char::from(*b) == wanted));
    text.as_bytes().chunks(64).any(is_in)
}

/// Finds masks already present in a text: the plain mask, and numbered masks of known kinds. Any
/// other text in brackets is ordinary text, since anybody can write it.
pub(crate) fn existing_masks(text: &str, is_kind: impl Fn(&[u8]) -> bool) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for (at, _) in text.match_indices('[') {
        let bytes = text.as_bytes();
        let note = bytes.get(at..at + NOTE_MARK.len()).unwrap_or_default();
        if note.eq_ignore_ascii_case(NOTE_MARK) {
            found.push(at..at + NOTE_MARK.len());
            continue;
        }
        if !bytes.get(at + 1).is_some_and(u8::is_ascii_uppercase) {
            continue;
        }
        let from = bytes.get(at..bytes.len().min(at + MAX_MASK_BYTES)).unwrap_or_default();
        if let Some(last) = from.iter().position(|b| *b == b']')
            && from.get(..=last).is_some_and(|mask| is_mask(mask, &is_kind))
        {
            found.push(at..at + last + 1);
        }
    }
    found
}

fn is_mask(mask: &[u8], is_kind: impl Fn(&[u8]) -> bool) -> bool {
    if mask == MASK.as_bytes() {
        return true;
    }
    let name = mask.get(1..mask.len().saturating_sub(1)).unwrap_or_default();
    let digits = name.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    let (kind, number) = name.split_at(name.len() - digits);
    let Some(kind) = kind.strip_suffix(b"_") else { return false };
    is_mask_number(number) && is_kind(kind)
}

/// True for a number that a mask can have.
fn is_mask_number(digits: &[u8]) -> bool {
    (1..=MAX_MASK_DIGITS).contains(&digits.len()) && !digits.starts_with(b"0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_reads_as_a_mask_that_is_none() {
        for text in ["\u{1f}", "a\u{1f}b\u{1f}c", "\u{1f}\u{1f}\u{1f}", "no mask"] {
            let mut out = String::new();
            push_without_barriers(&mut out, text);
            assert!(!out.contains(BARRIER) && out.len() == text.len(), "{text:?} {out:?}");
        }
    }

    #[test]
    fn masks_read_as_one_byte_and_lead_back() {
        let text = "ab[REDACTED]cd secret ef";
        let masked = [2..12, 15..21];
        let view = MaskCollapsedText::new(text, &masked);
        assert_eq!(view.text(), "ab\u{1f}cd \u{1f} ef");
        assert_eq!(view.to_original(&(0..2)), 0..2);
        assert_eq!(view.to_original(&(2..3)), 2..12);
        assert_eq!(view.to_original(&(3..5)), 12..14);
        assert_eq!(view.to_original(&(3..7)), 12..21);
        assert_eq!(view.to_original(&(8..9)), 22..23);
        assert_eq!((view.to_collapsed(1), view.to_collapsed(13), view.to_collapsed(22)), (1, 4, 8));
        // A mask is where it begins, and what lies within it is behind it.
        assert_eq!((view.to_collapsed(2), view.to_collapsed(15)), (2, 6));
        assert_eq!((view.to_collapsed(3), view.to_collapsed(20)), (3, 7));
    }

    #[test]
    fn a_barrier_of_the_text_itself_reads_as_a_separator() {
        for before in [0, 1, 62, 63, 64, 65, 200] {
            let text = format!("{}\u{1f}end", "a".repeat(before));
            let view = MaskCollapsedText::new(&text, &[]);
            assert_eq!(view.text(), text.replace('\u{1f}', "\u{1e}"), "{before}");
        }
        let inside = 2..3;
        let view = MaskCollapsedText::new("a\u{1f}bc\u{1f}", &[inside]);
        assert_eq!(view.text(), "a\u{1e}\u{1f}c\u{1e}");
    }

    #[test]
    fn masked_and_visible_places_are_told_apart() {
        let view = MaskCollapsedText::new("ab[X]cd[Y]", &[2..5, 7..10]);
        assert_eq!(view.text(), "ab\u{1f}cd\u{1f}");
        assert!(view.is_masked(&(2..3)) && view.is_masked(&(5..6)));
        assert!(!view.is_masked(&(1..3)) && !view.is_masked(&(2..4)) && !view.is_masked(&(4..6)));
        let visible: Vec<_> = (0..10).map(|at| view.to_collapsed_if_visible(at)).collect();
        assert_eq!(
            visible,
            [Some(0), Some(1), None, None, None, Some(3), Some(4), None, None, None]
        );
        assert_eq!((view.to_original(&(0..0)), view.to_original(&(5..6))), (0..0, 7..10));
        assert_eq!((view.to_original(&(1..6)), view.to_original(&(3..4))), (1..10, 5..6));
    }

    #[test]
    fn a_mask_is_no_longer_than_masks_are() {
        let kinds = |kind: &[u8]| kind.iter().all(u8::is_ascii_uppercase);
        for (length, is_known) in [(71, true), (72, true), (73, false)] {
            let mask = format!("[{}_1]", "K".repeat(length - 4));
            assert_eq!(existing_masks(&mask, kinds).len(), usize::from(is_known), "{length}");
        }
        for (mask, is_known) in [("[K_999999]", true), ("[K_1000000]", false), ("[K_10]", true)] {
            assert_eq!(existing_masks(mask, kinds).len(), usize::from(is_known), "{mask}");
        }
    }

    #[test]
    fn standing_masks_are_known_by_their_words() {
        let text = "[REDACTED] [EMAIL_1] [US_SSN_10000]";
        let kinds = |kind: &[u8]| kind == b"EMAIL" || kind == b"US_SSN";
        let found: Vec<&str> =
            existing_masks(text, kinds).into_iter().filter_map(|r| text.get(r)).collect();
        assert_eq!(found.join(" "), text);
        let others = "[cut: deeper than 3 levels] [REDACTED: jane] [REDACTED ] [A] [NOTE_1] [REDACTEDX] \
                      [_1] [EMAIL_0] [EMAIL_01] [EMAIL_] [EMAIL_1000001] [US_SSN_219099999] [EMAIL1]";
        assert!(existing_masks(others, kinds).is_empty(), "{others}");
    }
}
