//! Errors of the ledger.

use super::RecordKey;

/// Why the ledger refused or failed. After a fatal error the ledger accepts nothing more until it
/// is opened again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// A guard failed; nothing was applied.
    #[error("record {key} is not at the expected version; read it again and repeat")]
    Conflict {
        /// The record.
        key: RecordKey,
    },
    /// A counter would leave its bounds; nothing was applied.
    #[error("counter {key} would leave its bounds")]
    OutOfBounds {
        /// The counter.
        key: RecordKey,
    },
    /// Other processes held the file for too long; nothing was applied.
    #[error(
        "{path} was kept by other processes for {waited_ms} ms; nothing was applied, try again"
    )]
    Busy {
        /// The file.
        path: String,
        /// How long the ledger waited, in milliseconds.
        waited_ms: u64,
    },
    /// The batch prunes a payload that must be kept; nothing was applied.
    #[error("the payload of event {seq} is kept: {why}")]
    Kept {
        /// The event.
        seq: u64,
        /// Why.
        why: String,
    },
    /// The batch is malformed or exceeds a limit; nothing was applied.
    #[error("the batch is malformed: {0}")]
    Malformed(String),
    /// There is temporarily no room for the batch; nothing was applied.
    #[error("the ledger is full for now: {0}; nothing was applied, try again later")]
    Full(String),
    /// Another process has the ledger open for writing.
    #[error("{path} is in use by {holder}; stop it, or read with `weaver trace`")]
    Locked {
        /// The path of the ledger.
        path: String,
        /// The process that holds it.
        holder: String,
    },
    /// A stored form is newer than this build understands.
    #[error("{what} has version {found}, this build knows up to {known}; use a newer build")]
    Newer {
        /// What was read.
        what: String,
        /// Its version.
        found: u64,
        /// The newest version this build understands.
        known: u64,
    },
    /// The stored data cannot be what was written.
    #[error("the ledger is damaged: {0}")]
    Damaged(String),
    /// A write or sync failed; the ledger is closed.
    #[error(
        "the ledger failed and is closed: {0}; nothing further is executed until it is opened again"
    )]
    Failed(String),
    /// The ledger was closed.
    #[error("the ledger is closed")]
    Closed,
}

impl LedgerError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Conflict { .. } => "ledger.conflict",
            Self::OutOfBounds { .. } => "ledger.out_of_bounds",
            Self::Busy { .. } => "ledger.busy",
            Self::Kept { .. } => "ledger.kept",
            Self::Malformed(_) => "ledger.malformed",
            Self::Full(_) => "ledger.full",
            Self::Locked { .. } => "ledger.locked",
            Self::Newer { .. } => "ledger.newer",
            Self::Damaged(_) => "ledger.damaged",
            Self::Failed(_) => "ledger.failed",
            Self::Closed => "ledger.closed",
        }
    }

    /// True when only this batch was refused and the ledger continues.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::Conflict { .. }
                | Self::OutOfBounds { .. }
                | Self::Busy { .. }
                | Self::Kept { .. }
                | Self::Malformed(_)
                | Self::Full(_)
        )
    }
}
