//! What a tool will be allowed, in the words of the review.

/// What happens when an agent calls a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permission {
    /// It goes through.
    Allow,
    /// It is held until a person releases it.
    Ask,
    /// It is refused.
    Deny,
}

impl Permission {
    /// Every permission, with its word.
    pub const ALL: [(&'static str, Self); 3] =
        [("allow", Self::Allow), ("ask", Self::Ask), ("deny", Self::Deny)];

    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(_, one)| *one == self).map_or("deny", |(word, _)| word)
    }

    /// Reads the word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == word).map(|(_, one)| *one)
    }
}
