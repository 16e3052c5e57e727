//! Errors of retention.

use weaver_types::ledger::LedgerError;

use crate::prune::PruningNoteError;

/// Why a retention is invalid, or a sweep stopped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RetentionError {
    /// A rule would prune payloads younger than the minimum age.
    #[error(
        "rule {rule} prunes after {after} seconds, the least age is {least} seconds; raise the one \
         or lower the other"
    )]
    TooYoung {
        /// The index of the rule, from 0.
        rule: usize,
        /// Its age in seconds.
        after: u64,
        /// The least age in seconds.
        least: u64,
    },
    /// There are too many rules.
    #[error("{found} rules, at most {most}")]
    TooMany {
        /// How many there are.
        found: usize,
        /// How many there may be.
        most: usize,
    },
    /// The name of whoever prunes cannot be recorded.
    #[error("who prunes cannot be recorded: {0}")]
    By(#[from] PruningNoteError),
    /// The ledger could not be read, or refused a batch.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl RetentionError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::TooYoung { .. } => "retention.too_young",
            Self::TooMany { .. } => "retention.too_many",
            Self::By(_) => "retention.by",
            Self::Ledger(error) => error.code(),
        }
    }
}
