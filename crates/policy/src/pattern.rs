//! Glob patterns for names.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use weaver_text::error::GlobError;
use weaver_text::glob::Glob;

/// A glob pattern for names: `*` matches any number of characters; every other character matches
/// itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pattern {
    glob: Glob,
    /// The same without its case.
    folded: Glob,
}

impl Pattern {
    /// Parses a pattern.
    ///
    /// # Errors
    /// [`GlobError`] for an empty pattern or one of more than 512 bytes, as it is written or without
    /// its case.
    pub fn parse(text: &str) -> Result<Self, GlobError> {
        Ok(Self { glob: Glob::parse(text)?, folded: Glob::parse(&fold_case(text))? })
    }

    /// Whether the whole of `name` matches.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        self.glob.matches(name)
    }

    /// Whether the whole of a text matches, without regard to case.
    pub(crate) fn matches_any_case(&self, text: &FoldedText) -> bool {
        self.folded.matches(&text.0)
    }

    /// The pattern as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.glob.as_str()
    }

    pub(crate) fn glob(&self) -> &Glob {
        &self.glob
    }
}

/// A text without its case, to be matched against patterns.
pub(crate) struct FoldedText(String);

impl FoldedText {
    pub(crate) fn of(text: &str) -> Self {
        Self(fold_case(text))
    }
}

/// Folds the case as file systems without it do, so that `ſ` is `s`.
fn fold_case(text: &str) -> String {
    text.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}

impl Serialize for Pattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_that_is_too_long_without_its_case_is_refused() {
        // Each of these letters has three times its bytes in upper and lower case again.
        let long = format!("*/{}", "\u{390}".repeat(100));
        assert!(Glob::parse(&long).is_ok() && Pattern::parse(&long).is_err());
        let short = Pattern::parse(&format!("*/{}", "\u{390}".repeat(20))).unwrap();
        assert!(short.matches_any_case(&FoldedText::of(&format!("a/{}", "\u{390}".repeat(20)))));
    }
}
