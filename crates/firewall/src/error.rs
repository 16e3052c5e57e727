//! Errors of making, reading and querying handles.

use weaver_types::ledger::LedgerError;
use weaver_types::{HandleId, RandomError, ReasonCode};

/// Why a handle could not be made, read or queried. No message contains content of a result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HandleError {
    /// This principal has no such handle. Whether another principal has one is not revealed.
    #[error("no handle `{id}`; call the tool again to get a new one")]
    NotFound {
        /// The requested handle.
        id: HandleId,
    },
    /// The handle is past its lifetime.
    #[error("handle `{id}` has expired; call the tool again to get a new one")]
    Expired {
        /// The requested handle.
        id: HandleId,
    },
    /// The handle was revoked together with its grant, run or principal.
    #[error("handle `{id}` was revoked")]
    Revoked {
        /// The requested handle.
        id: HandleId,
    },
    /// The query asks for something that the constraints exclude.
    #[error("the query asks for too much: {detail}")]
    Constraint {
        /// What exactly, and what is allowed instead.
        detail: String,
    },
    /// The query is malformed.
    #[error("the query is malformed: {detail}")]
    Query {
        /// What is wrong, and what to write instead.
        detail: String,
    },
    /// The result cannot be stored.
    #[error("the result cannot be stored: {detail}")]
    Unstorable {
        /// Why.
        detail: String,
    },
    /// The result is too large to be stored behind one handle. It can still be shown.
    #[error("the result has {size} bytes; at most {max} can be stored behind a handle")]
    TooLarge {
        /// Its size in bytes.
        size: u64,
        /// The most bytes that may be stored.
        max: u64,
    },
    /// The stored result is encrypted, and the key is missing.
    #[error("the result behind handle `{id}` is encrypted; open the store with its key")]
    Sealed {
        /// The handle.
        id: HandleId,
    },
    /// A setting is invalid.
    #[error("the setting cannot be used: {detail}")]
    Config {
        /// Which one, and what it must be.
        detail: String,
    },
    /// The stored record is not what was written.
    #[error("the record of handle `{id}` is damaged: {detail}")]
    Damaged {
        /// The handle of the record.
        id: String,
        /// What is wrong.
        detail: String,
    },
    /// The record was written by a newer build.
    #[error(
        "the record of handle `{id}` has version {found}, this build knows up to {known}; use a newer build"
    )]
    Newer {
        /// The handle of the record.
        id: String,
        /// Its version.
        found: u64,
        /// The newest version this build reads.
        known: u64,
    },
    /// The store failed.
    #[error("the result store failed")]
    Store(#[from] LedgerError),
    /// No randomness was available for a new id.
    #[error(transparent)]
    Random(#[from] RandomError),
}

impl HandleError {
    /// The reason code that decisions and logs use.
    #[must_use]
    pub fn reason(&self) -> ReasonCode {
        match self {
            Self::NotFound { .. } => ReasonCode::HandleNotFound,
            Self::Expired { .. } => ReasonCode::HandleExpired,
            Self::Revoked { .. } => ReasonCode::HandleRevoked,
            Self::Constraint { .. } => ReasonCode::HandleConstraintViolation,
            Self::Query { .. } => ReasonCode::InvalidConstraint,
            Self::Unstorable { .. }
            | Self::TooLarge { .. }
            | Self::Sealed { .. }
            | Self::Config { .. }
            | Self::Damaged { .. }
            | Self::Newer { .. } => ReasonCode::InternalError,
            Self::Store(_) => ReasonCode::LedgerUnavailable,
            Self::Random(_) => ReasonCode::InternalError,
        }
    }

    /// The stable code of this error: the text of [`HandleError::reason`].
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.reason().as_str()
    }
}
