//! Errors of the index. None of them affects the log.

use weaver_types::ledger::LedgerError;

/// Why the index could not be used or built. Queries then scan the log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// Another process is building it.
    #[error("another process is building the index; wait, or ask without it")]
    Busy,
    /// A later build created it.
    #[error(
        "the index has version {found}, this build knows {known}; use the newer build, or delete it"
    )]
    Newer {
        /// Its version.
        found: i64,
        /// The version of this build.
        known: i64,
    },
    /// The file is corrupt, belongs to another log, or was removed while open.
    #[error("the index cannot be used ({0}); it is made anew when it is opened again")]
    Torn(String),
    /// The file cannot be created, read or written.
    #[error("the index at {path}: {problem}")]
    Failed {
        /// Where.
        path: String,
        /// What went wrong.
        problem: String,
    },
    /// The log could not be read.
    #[error(transparent)]
    Log(#[from] LedgerError),
}

impl IndexError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Busy => "index.busy",
            Self::Newer { .. } => "index.newer",
            Self::Torn(_) => "index.torn",
            Self::Failed { .. } => "index.failed",
            Self::Log(error) => error.code(),
        }
    }
}
