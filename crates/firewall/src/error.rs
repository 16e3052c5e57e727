//! Why a handle could not be made, read or asked.

use weaver_types::ledger::LedgerError;
use weaver_types::{HandleId, RandomError, ReasonCode};

/// Why a handle could not be made, read or asked. No message holds content of a result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HandleError {
    /// There is no such handle for this principal. Whether somebody else has one is not told.
    #[error("no handle `{id}`; call the tool again to get a fresh one")]
    NotFound {
        /// What was asked for.
        id: HandleId,
    },
    /// The handle is past its time.
    #[error("handle `{id}` has expired; call the tool again to get a fresh one")]
    Expired {
        /// What was asked for.
        id: HandleId,
    },
    /// The handle was revoked with its grant, run or principal.
    #[error("handle `{id}` was revoked")]
    Revoked {
        /// What was asked for.
        id: HandleId,
    },
    /// The query asks for what the constraints exclude.
    #[error("the query asks for too much: {detail}")]
    Constraint {
        /// What exactly, and what is allowed.
        detail: String,
    },
    /// The query is malformed.
    #[error("the query is malformed: {detail}")]
    Query {
        /// What exactly, and what to write.
        detail: String,
    },
    /// The result cannot be stored.
    #[error("the result cannot be stored: {detail}")]
    Unstorable {
        /// Why.
        detail: String,
    },
    /// The result is larger than what is kept behind one handle. It can be shown all the same.
    #[error("the result has {size} bytes, at most {max} are kept behind a handle")]
    TooLarge {
        /// Its size in bytes.
        size: u64,
        /// The most that is kept.
        max: u64,
    },
    /// The stored result is encrypted, and the key is missing.
    #[error("the result behind handle `{id}` is encrypted; open the store with its key")]
    Sealed {
        /// Whose result.
        id: HandleId,
    },
    /// A setting cannot be used.
    #[error("the setting cannot be used: {detail}")]
    Config {
        /// Which, and what it must be.
        detail: String,
    },
    /// What is stored cannot be what was written.
    #[error("the record of handle `{id}` is damaged: {detail}")]
    Damaged {
        /// Whose record.
        id: String,
        /// What is wrong.
        detail: String,
    },
    /// The stored form is newer than this build.
    #[error(
        "the record of handle `{id}` has version {found}, this build knows up to {known}; use a newer build"
    )]
    Newer {
        /// Whose record.
        id: String,
        /// Its version.
        found: u64,
        /// The newest known.
        known: u64,
    },
    /// The store failed.
    #[error("the store of results failed")]
    Store(#[from] LedgerError),
    /// No randomness for a fresh id.
    #[error(transparent)]
    Random(#[from] RandomError),
}

impl HandleError {
    /// The reason as decisions and logs name it.
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
