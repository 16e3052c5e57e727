//! Errors of memory.

use thiserror::Error;
use weaver_types::ledger::LedgerError;

/// Why an operation on memory failed. Nothing was written, unless the store reports that this is
/// unknown.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryError {
    /// The key is invalid.
    #[error("`{key}` is not a valid key of memory: {rule}; use another")]
    Key {
        /// The key, escaped and shortened.
        key: String,
        /// The broken rule, in words.
        rule: &'static str,
    },
    /// Something is larger than its bound.
    #[error("the {what} of `{key}` has {size} bytes, at most {max} are allowed: shorten it")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// The key, escaped and shortened.
        key: String,
        /// The size in bytes.
        size: usize,
        /// The most bytes allowed.
        max: usize,
    },
    /// The value cannot be written as canonical JSON: a number is not finite, or the nesting is too
    /// deep.
    #[error("the value of `{key}` cannot be stored: {problem}")]
    Value {
        /// The key, escaped and shortened.
        key: String,
        /// What is wrong.
        problem: String,
    },
    /// The limit of entries is reached.
    #[error("memory holds {max} {what} already: forget some, or let some expire")]
    Full {
        /// The bound.
        max: u64,
        /// What is bounded.
        what: &'static str,
    },
    /// A fact has too many unresolved claims.
    #[error("`{key}` has {max} claims that nobody has resolved: resolve or forget it first")]
    Claims {
        /// The key, escaped and shortened.
        key: String,
        /// The bound.
        max: usize,
    },
    /// The claim does not exist or was superseded.
    #[error("`{key}` has no current claim {number}; list its claims")]
    NoClaim {
        /// The key, escaped and shortened.
        key: String,
        /// The number of the claim.
        number: u32,
    },
    /// A stored entry was written by a newer build.
    #[error(
        "the entry `{key}` has version {found}, this build knows up to {known}: use a newer build"
    )]
    Newer {
        /// The key of the record, escaped and shortened.
        key: String,
        /// The version of the entry.
        found: u64,
        /// The newest version that this build knows.
        known: u64,
    },
    /// A stored entry cannot be decoded.
    #[error("the entry `{key}` is damaged: {problem}; restore the file from a copy")]
    Damaged {
        /// The key of the record, escaped and shortened.
        key: String,
        /// What is wrong.
        problem: String,
    },
    /// Other writers changed the entry at every attempt.
    #[error("`{key}` changes too fast: try again")]
    Contended {
        /// The key, escaped and shortened.
        key: String,
    },
    /// The audit hook did not accept the access, so it did not happen.
    #[error("the log did not take it, so nothing was remembered or recalled: {0}")]
    Log(MemoryLogError),
    /// The store refused or failed.
    #[error(transparent)]
    Store(#[from] LedgerError),
}

impl MemoryError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Key { .. } => "memory.key",
            Self::TooLarge { .. } => "memory.too_large",
            Self::Value { .. } => "memory.value",
            Self::Full { .. } => "memory.full",
            Self::Claims { .. } => "memory.claims",
            Self::NoClaim { .. } => "memory.no_claim",
            Self::Newer { .. } => "memory.newer",
            Self::Damaged { .. } => "memory.damaged",
            Self::Contended { .. } => "memory.contended",
            Self::Log(_) => "memory.log",
            Self::Store(error) => error.code(),
        }
    }
}

/// Why the audit hook did not accept an access.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct MemoryLogError(String);

impl MemoryLogError {
    /// An error with the message of the audit hook.
    pub fn new(problem: impl Into<String>) -> Self {
        Self(problem.into())
    }
}
