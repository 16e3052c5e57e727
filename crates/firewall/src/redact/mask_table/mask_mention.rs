//! Finds masks in text that a model wrote.

use std::ops::Range;

use crate::redact::cut_reason::CutReason;
use crate::redact::mask_collapsed_text::MAX_MASK_BYTES;

/// Every range in square brackets that could be a mask; none contains another bracket.
pub(super) fn bracketed(text: &str) -> impl Iterator<Item = Range<usize>> {
    text.match_indices('[').filter_map(|(start, _)| {
        let inner = text.get(start + 1..)?;
        let end = inner.bytes().take(MAX_MASK_BYTES).position(|b| matches!(b, b']' | b'['))?;
        let closes = inner.as_bytes().get(end) == Some(&b']');
        closes.then_some(start..start + end + 2)
    })
}

/// True if bracketed text can only be meant as a mask: the plain mask, or one of a known kind, even
/// if its spelling was changed.
pub(super) fn is_meant_as_mask(bracketed: &str, is_kind: impl Fn(&[u8]) -> bool) -> bool {
    if CutReason::is_marker(bracketed) {
        return true;
    }
    let inner = bracketed.trim_start_matches('[').trim_end_matches(']').trim();
    if let Some(rest) = inner.strip_prefix("REDACTED") {
        return !rest.starts_with(|c: char| c.is_ascii_alphanumeric());
    }
    let named = inner.trim_end_matches(|c: char| c.is_ascii_digit());
    let kind = named.trim_end_matches(['_', '-', ' ', ':', '#']);
    let has_number = named.len() < inner.len() && kind.len() < named.len();
    let kind: Vec<u8> =
        kind.bytes().map(|b| if b == b'_' { b } else { normalise_joint(b) }).collect();
    has_number && is_kind(&kind)
}

/// Normalises what joins two words of a kind.
fn normalise_joint(byte: u8) -> u8 {
    if matches!(byte, b' ' | b'-') { b'_' } else { byte }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_masks_are_told_from_other_brackets() {
        let is_kind = |kind: &[u8]| kind == b"EMAIL" || kind == b"API_KEY";
        for meant in [
            "[EMAIL_1]",
            "[EMAIL_999]",
            "[ EMAIL_1 ]",
            "[EMAIL-1]",
            "[EMAIL 1]",
            "[EMAIL_01]",
            "[API KEY 3]",
            "[API_KEY_3]",
            "[REDACTED]",
            "[cut: more than 4000000 values]",
            "[REDACTED_EMAIL]",
            "[REDACTED 3]",
            "[EMAIL:1]",
            "[EMAIL#1]",
            "[EMAIL__1]",
        ] {
            assert!(is_meant_as_mask(meant, is_kind), "{meant}");
        }
        for other in [
            "[email_1]", "[EMAIL]", "[EMAIL_]", "[EMAIL_x]", "[1]", "[]", "[EMAIL1]", "[KEY_1]",
            "[x]", "[REDACTEDLY]",
        ] {
            assert!(!is_meant_as_mask(other, is_kind), "{other}");
        }
    }

    #[test]
    fn brackets_do_not_nest() {
        let text = "a[EMAIL_[EMAIL_1]] [ü] [open";
        let found: Vec<&str> = bracketed(text).filter_map(|range| text.get(range)).collect();
        assert_eq!(found, ["[EMAIL_1]", "[ü]"]);
    }
}
