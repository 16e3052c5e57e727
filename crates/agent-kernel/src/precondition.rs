//! Preconditions: a port that observes facts about the world.

use serde_json::Value;
use weaver_types::Precondition;

/// The longest observation that is kept, in bytes.
pub const MAX_OBSERVATION_BYTES: usize = 512;

/// Why a fact could not be observed. This never counts as "unchanged".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PreconditionError {
    /// The arguments do not say what to look at.
    #[error("the arguments hold no text at `{pointer}`")]
    Argument {
        /// The place in the arguments.
        pointer: String,
    },
    /// It cannot be read.
    #[error("{what} cannot be read: {problem}")]
    Unreadable {
        /// What was observed.
        what: String,
        /// What went wrong.
        problem: String,
    },
    /// It is too large to be read.
    #[error("{what} has more than {limit} bytes")]
    TooLarge {
        /// What was observed.
        what: String,
        /// The bound, in bytes.
        limit: u64,
    },
    /// The checker does not support this check.
    #[error("this build cannot observe `{check}`")]
    Unsupported {
        /// The check, as documents write it.
        check: &'static str,
    },
}

impl PreconditionError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Argument { .. } => "precondition.argument",
            Self::Unreadable { .. } => "precondition.unreadable",
            Self::TooLarge { .. } => "precondition.too_large",
            Self::Unsupported { .. } => "precondition.unsupported",
        }
    }
}

/// Observes facts about the world. An observation is compared as text and written to the log, so it
/// must not contain a secret in clear: use a digest instead. It is made on the path of a decision,
/// so it must return within bounded time.
pub trait PreconditionChecker: Send + Sync {
    /// The fact as it is now, in at most [`MAX_OBSERVATION_BYTES`] bytes. Equal texts mean
    /// "unchanged".
    ///
    /// # Errors
    /// [`PreconditionError`]; the call is then denied.
    fn observe(
        &self,
        precondition: &Precondition,
        arguments: &Value,
    ) -> Result<String, PreconditionError>;
}
