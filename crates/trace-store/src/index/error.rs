//! Why the index could not be used. None of it touches the log.

use weaver_types::ledger::LedgerError;

/// Why the index could not be used or built. Questions are then answered by scanning.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// Another process builds it at this moment.
    #[error("another process is building the index; wait, or ask without it")]
    Busy,
    /// A later build made it.
    #[error(
        "the index has version {found}, this build knows {known}; use the newer build, or delete it"
    )]
    Newer {
        /// Its version.
        found: i64,
        /// The version of this build.
        known: i64,
    },
    /// It is not what was written: torn, of another log, or removed while it was open.
    #[error("the index cannot be used ({0}); it is made anew when it is opened again")]
    Torn(String),
    /// Its file cannot be made, read or written.
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
