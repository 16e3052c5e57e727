//! A rule for one kind of document or register number.

use super::ScanRule;

/// The evidence that is required besides shape and check. A word of the topic near the candidate is
/// always sufficient.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Evidence {
    /// None; but letters must be in upper case.
    Always,
    /// All separators are present.
    Separated,
    /// All separators are present, or the text contains nothing else.
    SeparatedOrAlone,
    /// The text contains nothing else.
    Alone,
    /// All separators are present, and the text contains nothing else.
    SeparatedAndAlone,
    /// A word of the topic.
    Keyword,
}

/// A kind of number.
#[derive(Debug, Clone, Copy)]
pub(super) struct DocumentRule {
    pub(super) rule: ScanRule,
    /// Shapes: `9` is a digit, `A` a letter, `*` either, `~` a position where a separator may be,
    /// `-` one where only a hyphen may be.
    pub(super) shapes: &'static [&'static str],
    pub(super) evidence: Evidence,
    pub(super) topics: u64,
    /// Checks the letters and digits, letters in upper case.
    pub(super) check: fn(&[u8]) -> bool,
}

/// Writes rules as table rows.
macro_rules! rows {
    ($($id:literal $kind:literal [$($shape:literal),+] $evidence:ident $topics:expr, $check:expr,
        [$($text:literal => $value:literal),+], [$($keep:literal),+];)+) => {
        &[$($crate::redact::personal::document_rule::DocumentRule {
            rule: $crate::redact::scanner::ScanRule {
                id: $id,
                kind: $kind,
                masks: &[$(($text, $value)),+],
                keeps: &[$($keep),+],
            },
            shapes: &[$($shape),+],
            evidence: $crate::redact::personal::document_rule::Evidence::$evidence,
            topics: $topics,
            check: $check,
        }),+]
    };
}
pub(super) use rows;
