//! Errors of exports.

use std::fmt;

use weaver_types::ledger::LedgerError;

use crate::query::QueryError;

/// Why an export failed or stopped early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// A bundle is of one run, and the filter names none.
    #[error("a bundle is of one run; name it with run:ID")]
    NoRun,
    /// The run has nothing that the format could represent.
    #[error("there is no call and no shortlist of this run in the log")]
    Nothing,
    /// The export exceeds the limit of the format.
    #[error("the export is too large: {0}; narrow it with since: and until:")]
    TooLarge(&'static str),
    /// A value that the format cannot represent.
    #[error("an event has a value that the form cannot hold: {0}")]
    Form(String),
    /// The query is malformed, or the log cannot be read.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// The output cannot be written.
    #[error("the export cannot be written: {0}")]
    Write(#[from] std::io::Error),
}

impl ExportError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoRun => "export.no_run",
            Self::Nothing => "export.nothing",
            Self::TooLarge(_) => "export.too_large",
            Self::Form(_) => "export.form",
            Self::Query(error) => error.code(),
            Self::Write(_) => "export.write",
        }
    }

    pub(super) fn form(error: &dyn fmt::Display) -> Self {
        Self::Form(error.to_string())
    }
}

impl From<LedgerError> for ExportError {
    fn from(error: LedgerError) -> Self {
        Self::Query(error.into())
    }
}
