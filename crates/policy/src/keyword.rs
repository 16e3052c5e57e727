//! Types that documents write as one of a few keywords.

/// A type that documents write as one of a few keywords.
pub(crate) trait Keywords {
    /// The keywords.
    const KEYWORDS: &'static [&'static str];
}
