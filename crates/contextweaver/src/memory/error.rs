//! Why something was not remembered or recalled.

use thiserror::Error;
use weaver_types::ledger::LedgerError;

/// Why memory refused. Nothing was written then, unless the store itself says that it is unknown.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryError {
    /// The key is no key.
    #[error("`{key}` is no key of memory: {rule}; use another")]
    Key {
        /// The key, made visible and cut.
        key: String,
        /// The rule in words.
        rule: &'static str,
    },
    /// Something is larger than its bound.
    #[error("the {what} of `{key}` has {size} bytes, at most {max} are allowed: shorten it")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// The key, made visible and cut.
        key: String,
        /// Its bytes.
        size: usize,
        /// Bytes allowed.
        max: usize,
    },
    /// The value has no canonical form: a number that is not finite, or nesting beyond the bound.
    #[error("the value of `{key}` cannot be stored: {problem}")]
    Value {
        /// The key, made visible and cut.
        key: String,
        /// What is wrong.
        problem: String,
    },
    /// There is no room.
    #[error("memory holds {max} {what} already: forget some, or let some expire")]
    Full {
        /// The bound.
        max: u64,
        /// What is bounded.
        what: &'static str,
    },
    /// Too many statements about one fact stand side by side.
    #[error("`{key}` has {max} claims that nobody has resolved: resolve or forget it first")]
    Claims {
        /// The key, made visible and cut.
        key: String,
        /// The bound.
        max: usize,
    },
    /// There is no such claim, or it was superseded.
    #[error("`{key}` has no claim {number} that stands; list its claims")]
    NoClaim {
        /// The key, made visible and cut.
        key: String,
        /// The number.
        number: u32,
    },
    /// A stored entry is newer than this build.
    #[error(
        "the entry `{key}` has version {found}, this build knows up to {known}: use a newer build"
    )]
    Newer {
        /// The key of the record, made visible and cut.
        key: String,
        /// Its version.
        found: u64,
        /// The newest known.
        known: u64,
    },
    /// A stored entry is not what was written.
    #[error("the entry `{key}` is damaged: {problem}; restore the file from a copy")]
    Damaged {
        /// The key of the record, made visible and cut.
        key: String,
        /// What is wrong.
        problem: String,
    },
    /// Others change the same entry faster than it can be written.
    #[error("`{key}` changes too fast: try again")]
    Contended {
        /// The key, made visible and cut.
        key: String,
    },
    /// The log did not take what happened, so it did not happen.
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

/// Why the log did not take an access.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct MemoryLogError(String);

impl MemoryLogError {
    /// With what the log says.
    pub fn new(problem: impl Into<String>) -> Self {
        Self(problem.into())
    }
}
