//! What a tool will be allowed, as the review names it.

/// What happens when an agent calls a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permission {
    /// The call is executed.
    Allow,
    /// The call is held until a person releases it.
    Ask,
    /// The call is refused.
    Deny,
}

impl Permission {
    /// Every permission with its name.
    pub const ALL: [(&'static str, Self); 3] =
        [("allow", Self::Allow), ("ask", Self::Ask), ("deny", Self::Deny)];

    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(_, one)| *one == self).map_or("deny", |(word, _)| word)
    }

    /// Parses its name.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == word).map(|(_, one)| *one)
    }
}
