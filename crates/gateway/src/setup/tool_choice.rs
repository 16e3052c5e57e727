//! What a person chooses for a tool in a review.

use super::permission::Permission;

/// What a person says that a tool does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ToolClass {
    /// It reads on this machine, and nothing else.
    Reads,
    /// It reads from outside of this machine, and changes nothing there.
    Fetches,
    /// It writes on this machine, and nowhere else.
    Writes,
}

/// What a person chooses for a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ToolChoice {
    /// What happens when it is called.
    Permission(Permission),
    /// What it does.
    Class(ToolClass),
    /// What is proposed for it.
    Proposed,
}

impl ToolChoice {
    /// Every choice with its name.
    pub const ALL: [(&'static str, Self); 7] = [
        ("allow", Self::Permission(Permission::Allow)),
        ("ask", Self::Permission(Permission::Ask)),
        ("deny", Self::Permission(Permission::Deny)),
        ("reads", Self::Class(ToolClass::Reads)),
        ("fetches", Self::Class(ToolClass::Fetches)),
        ("writes", Self::Class(ToolClass::Writes)),
        ("proposed", Self::Proposed),
    ];

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
