//! Errors of patterns and of names of encodings.

use thiserror::Error;

/// Why a glob was refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum GlobError {
    /// The pattern has no characters, so it could match nothing but the empty name.
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
        /// The name asked for, made visible and cut to 64 characters.
        name: String,
        /// The names that exist.
        known: &'static str,
    },
    /// The tables of this encoding are not in this build.
    #[error(
        "the tables of `{name}` are not in this build: name `chars4` or `estimate`, or build with the \
         feature `tiktoken`"
    )]
    NotBuilt {
        /// The name asked for.
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
