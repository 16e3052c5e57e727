//! Errors of queries.

use weaver_types::ledger::LedgerError;

/// Why a query is malformed or failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// A term of a filter names an unknown field.
    #[error(
        "there is no field `{field}`; the fields are {known}, and a text with a colon is written text:\"…\""
    )]
    Field {
        /// The text before the colon, escaped and cut.
        field: String,
        /// The known fields.
        known: String,
    },
    /// A field without a value, or with one that it never has.
    #[error("`{value}` is not a value of `{field}`; {expected}")]
    Value {
        /// The field.
        field: &'static str,
        /// The value, escaped and cut.
        value: String,
        /// What the field accepts.
        expected: String,
    },
    /// A filter has too many terms, or a term is too long.
    #[error("the filter is too large: {0}")]
    TooLarge(&'static str),
    /// A quotation mark is not closed.
    #[error("a quotation mark in the filter is not closed")]
    Quote,
    /// A cursor that this build did not make, or that belongs to another query.
    #[error("the cursor {0}; ask without it to begin again")]
    Cursor(&'static str),
    /// The log could not be read.
    #[error(transparent)]
    Read(#[from] LedgerError),
}

impl QueryError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Field { .. } => "query.field",
            Self::Value { .. } => "query.value",
            Self::TooLarge(_) => "query.too_large",
            Self::Quote => "query.quote",
            Self::Cursor(_) => "query.cursor",
            Self::Read(error) => error.code(),
        }
    }
}

/// An excerpt of the user's text for a message.
pub(super) fn escaped_excerpt(text: &str) -> String {
    text.escape_debug().take(60).collect()
}
