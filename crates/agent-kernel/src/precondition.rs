//! Preconditions: a port through which facts about the world are observed.

use serde_json::Value;
use weaver_types::Precondition;

/// The longest observation that is kept, in bytes.
pub const MAX_OBSERVED: usize = 512;

/// Why a fact could not be observed. It is never taken for "unchanged".
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
        /// What was looked at.
        what: String,
        /// What went wrong.
        problem: String,
    },
    /// It is larger than is looked at.
    #[error("{what} has more than {limit} bytes")]
    TooLarge {
        /// What was looked at.
        what: String,
        /// The bound, in bytes.
        limit: u64,
    },
    /// This checker does not know the check.
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

/// Observes facts about the world. What it says is compared as text and written to the log, so it
/// never holds a secret in clear: a digest stands for what is secret. It is asked on the path of a
/// decision, so it answers within bounded time.
pub trait PreconditionChecker: Send + Sync {
    /// What the fact is now, in at most [`MAX_OBSERVED`] bytes. Equal texts mean "unchanged".
    ///
    /// # Errors
    /// [`PreconditionError`]; the call is then denied.
    fn observe(
        &self,
        precondition: &Precondition,
        arguments: &Value,
    ) -> Result<String, PreconditionError>;
}
