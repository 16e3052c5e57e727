//! Why a question cannot be asked.

use weaver_types::ledger::LedgerError;

/// Why a question cannot be asked or answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// A term of a filter names no field.
    #[error(
        "there is no field `{field}`; the fields are {known}, and a text with a colon is written text:\"…\""
    )]
    Field {
        /// What stood before the colon, escaped and cut.
        field: String,
        /// The fields there are.
        known: String,
    },
    /// A field has no value, or one that it never has.
    #[error("`{value}` is no value of `{field}`; {expected}")]
    Value {
        /// The field.
        field: &'static str,
        /// The value, escaped and cut.
        value: String,
        /// What it takes.
        expected: String,
    },
    /// A filter has a term too many, or a value that is too long.
    #[error("the filter is too large: {0}")]
    TooLarge(&'static str),
    /// A quotation mark is not closed.
    #[error("a quotation mark in the filter is not closed")]
    Quote,
    /// A cursor that this build did not make, or made for another question.
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

/// A piece of the user's text for a message.
pub(super) fn shown(text: &str) -> String {
    text.escape_debug().take(60).collect()
}
