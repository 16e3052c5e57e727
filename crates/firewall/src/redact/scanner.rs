//! Rules that are code: what a data rule cannot say.

use std::ops::Range;

use super::scan_window::ScanWindow;

/// The name and the examples of a value that a scanner finds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScanRule {
    /// Its name.
    pub(crate) id: &'static str,
    /// The kind of value, as counts and warnings name it.
    pub(crate) kind: &'static str,
    /// Texts, and what of each is masked.
    pub(crate) masks: &'static [(&'static str, &'static str)],
    /// Texts in which it masks nothing.
    #[cfg_attr(not(test), expect(dead_code, reason = "examples are run by tests"))]
    pub(crate) keeps: &'static [&'static str],
}

/// A value that a scanner found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hit {
    /// Where it stands, in bytes, on character borders.
    pub(crate) range: Range<usize>,
    /// Its place in the scanner's rules.
    pub(crate) rule: usize,
}

/// A family of rules with one scan. The scan is linear, never panics, and a hit depends on at most
/// 512 bytes before and after it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scanner {
    /// What it finds.
    pub(crate) rules: &'static [ScanRule],
    /// Finds every value, in any order; overlaps are allowed.
    pub(crate) scan: fn(&ScanWindow<'_>, &mut Vec<Hit>),
}
