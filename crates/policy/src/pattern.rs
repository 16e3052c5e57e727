//! Glob patterns for names.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use weaver_text::error::GlobError;
use weaver_text::glob::Glob;

/// A glob pattern for names: `*` matches any number of characters; every other character matches
/// itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pattern(Glob);

impl Pattern {
    /// Parses a pattern.
    ///
    /// # Errors
    /// [`GlobError`] for an empty pattern or one of more than 512 bytes.
    pub fn parse(text: &str) -> Result<Self, GlobError> {
        Glob::parse(text).map(Self)
    }

    /// Whether the whole of `name` matches.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        self.0.matches(name)
    }

    /// Whether the whole of a text matches, without regard to case.
    pub(crate) fn matches_any_case(&self, text: &FoldedText) -> bool {
        Glob::parse(&fold_case(self.as_str())).is_ok_and(|glob| glob.matches(&text.0))
    }

    /// The pattern as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    pub(crate) fn glob(&self) -> &Glob {
        &self.0
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
