//! Errors of glob patterns and token counters.

use thiserror::Error;

/// Why a glob was refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum GlobError {
    /// The pattern is empty and could match only the empty name.
    #[error("the pattern is empty: write a name, or `*` for every name")]
    Empty,
    /// The pattern is longer than [`crate::glob::MAX_LEN`] bytes.
    #[error("the pattern has {len} bytes, at most {max} are allowed: shorten it")]
    TooLong {
        /// Bytes in the refused pattern.
        len: usize,
        /// Bytes allowed.
        max: usize,
    },
}

impl GlobError {
    /// The stable code of this error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Empty => "text.glob_empty",
            Self::TooLong { .. } => "text.glob_too_long",
        }
    }
}

/// Why a token counter could not be made.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TokenError {
    /// No encoding has this name.
    #[error("unknown token encoding `{name}`: use one of {known}")]
    UnknownEncoding {
        /// The requested name, escaped and truncated to 64 characters.
        name: String,
        /// The supported names.
        known: &'static str,
    },
    /// This build does not include the tables of the encoding.
    #[error(
        "the tables of `{name}` are not in this build: name `chars4` or `estimate`, or build with the \
         feature `tiktoken`"
    )]
    NotBuilt {
        /// The requested name.
        name: String,
    },
}

impl TokenError {
    /// The stable code of this error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownEncoding { .. } => "text.unknown_encoding",
            Self::NotBuilt { .. } => "text.encoding_not_built",
        }
    }
}
