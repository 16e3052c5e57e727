//! Errors in the text of one argument.

/// What is wrong with the text of an argument, and what to write instead; clap names the argument.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ArgumentError {
    #[error("write a number and s, m, h, d or w, such as 90d")]
    Age,
    #[error("write seconds, or a span such as 90m, 24h or 7d")]
    Span,
    #[error("write a number from 0 to 1")]
    Confidence,
    #[error("write route, call, interpret or answer")]
    Phase,
    #[error("write drop, warn or error, or KIND=drop and so on, with commas between")]
    Overflow,
    #[error("no kind of item is called so: write one of {known}")]
    ItemKind { known: String },
    #[error("there is no such event; known are {known}")]
    EventKind { known: String },
    /// The message of the parser of that type.
    #[error("{0}")]
    Malformed(String),
}

impl ArgumentError {
    pub(crate) fn malformed(error: impl std::fmt::Display) -> Self {
        Self::Malformed(error.to_string())
    }
}
