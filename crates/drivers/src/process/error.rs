//! Errors of argument templates.

/// An argument template is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// No program is configured.
    #[error("the program has no name")]
    NoProgram,
    /// A placeholder is malformed.
    #[error(
        "`{item}` is not a placeholder; write {{name}}, {{name?}} or {{name...}} as a whole item, and {{{{ for a brace"
    )]
    Placeholder {
        /// The item.
        item: String,
    },
    /// Two placeholders use the same argument.
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
