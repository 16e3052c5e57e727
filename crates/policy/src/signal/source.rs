//! The port through which signals come.

use super::Signal;
use super::call_context::{CallContext, FinishedCall};

/// Why a source could not say anything. What that does to a call stands in the
/// [`SignalTable`](super::SignalTable).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignalError {
    /// The source's memory was left in disorder by a thread that died.
    #[error("the memory of the source is in disorder; start the process again")]
    Poisoned,
    /// A name that the source needed cannot be made.
    #[error(transparent)]
    Name(#[from] weaver_types::IdError),
    /// The source depends on something else, which failed.
    #[error("{0}")]
    Unavailable(String),
}

impl SignalError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Poisoned => "signal.poisoned",
            Self::Name(error) => error.code(),
            Self::Unavailable(_) => "signal.unavailable",
        }
    }
}

/// Something that watches runs and warns.
///
/// Both methods are called on the path of a decision: they answer from memory, and their memory is
/// bounded. Equal observations in equal order give equal signals.
pub trait SignalSource: Send + Sync {
    /// The name under which its signals stand in decisions and events.
    fn name(&self) -> &str;

    /// Takes note of a finished call. A failure shows in the next [`SignalSource::signals`].
    fn observe(&self, seen: &FinishedCall<'_>);

    /// What there is to say about this call. Saying nothing is an empty list.
    ///
    /// # Errors
    /// [`SignalError`], when the source cannot tell. It never answers with an empty list then.
    fn signals(&self, situation: &CallContext<'_>) -> Result<Vec<Signal>, SignalError>;
}
