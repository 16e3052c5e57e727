//! One row of the tables of document and register numbers.

use super::ScanRule;

/// What it takes, besides shape and check, to call a candidate a value. A word of its subject
/// around is always enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Evidence {
    /// Nothing more; letters must be in upper case.
    Always,
    /// All its separators.
    Separated,
    /// All its separators, or nothing else in the text.
    SeparatedOrAlone,
    /// Nothing else in the text.
    Alone,
    /// All its separators, and nothing else in the text.
    SeparatedAndAlone,
    /// The word.
    Keyword,
}

/// A kind of number.
#[derive(Debug, Clone, Copy)]
pub(super) struct DocumentRule {
    pub(super) rule: ScanRule,
    /// `9` a digit, `A` a letter, `*` either, `~` a place where a separator may stand,
    /// `-` one where only a hyphen may.
    pub(super) shapes: &'static [&'static str],
    pub(super) evidence: Evidence,
    pub(super) topics: u64,
    /// Looks at the letters and digits alone, letters in upper case.
    pub(super) check: fn(&[u8]) -> bool,
}

/// Writes rows of a table.
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
