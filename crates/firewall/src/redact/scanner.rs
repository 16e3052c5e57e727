//! Scanners: rules written as code, for what a data rule cannot express.

use std::ops::Range;

use super::scan_window::ScanWindow;

/// The id, kind and examples of a value that a scanner finds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScanRule {
    /// The id.
    pub(crate) id: &'static str,
    /// The kind of value, as used in counts and warnings.
    pub(crate) kind: &'static str,
    /// Examples: texts, and what is masked in each.
    pub(crate) masks: &'static [(&'static str, &'static str)],
    /// Examples in which nothing is masked.
    #[cfg_attr(not(test), expect(dead_code, reason = "examples are run by tests"))]
    pub(crate) keeps: &'static [&'static str],
}

/// A value that a scanner found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScanHit {
    /// Its byte range, on character boundaries.
    pub(crate) range: Range<usize>,
    /// Its index in the scanner's rules.
    pub(crate) rule: usize,
}

/// Several rules that share one scan. The scan is linear and never panics, and a hit depends on at
/// most 512 bytes before and after it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scanner {
    /// The rules.
    pub(crate) rules: &'static [ScanRule],
    /// Finds every value, in any order; overlaps are allowed.
    pub(crate) scan: fn(&ScanWindow<'_>, &mut Vec<ScanHit>),
}
