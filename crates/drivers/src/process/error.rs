//! Errors of templates.

/// An argument of a template that means nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// There is no program to start.
    #[error("the program has no name")]
    NoProgram,
    /// A brace stands for nothing.
    #[error(
        "`{item}` is no placeholder; write {{name}}, {{name?}} or {{name...}} as a whole item, and {{{{ for a brace"
    )]
    Placeholder {
        /// The item.
        item: String,
    },
    /// An argument of a call would be used twice.
    #[error("`{name}` has two places")]
    Twice {
        /// The argument's name.
        name: String,
    },
}

impl TemplateError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoProgram => "process.no_program",
            Self::Placeholder { .. } => "process.placeholder",
            Self::Twice { .. } => "process.twice",
        }
    }
}
