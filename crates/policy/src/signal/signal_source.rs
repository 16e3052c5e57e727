//! The trait for signal sources.

use super::Signal;
use super::call_context::{CallContext, FinishedCall};

/// Why a source could not answer. The [`SignalTable`](super::SignalTable) defines how this affects
/// a call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignalError {
    /// A thread panicked while it held the source's lock.
    #[error("the memory of the source is in disorder; start the process again")]
    Poisoned,
    /// A name that the source needs is invalid.
    #[error(transparent)]
    Name(#[from] weaver_types::IdError),
    /// Something that the source depends on failed.
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

/// Observes runs and raises signals.
///
/// Both methods run on the decision path, so they must answer from memory, and that memory must be
/// bounded. The same observations in the same order must give the same signals.
pub trait SignalSource: Send + Sync {
    /// The name of the source in decisions and events.
    fn name(&self) -> &str;

    /// Observes a finished call. The next [`SignalSource::signals`] reports a failure. A source that
    /// learns nothing from calls leaves this out.
    fn observe(&self, _finished_call: &FinishedCall<'_>) {}

    /// The signals about this call; empty if there are none.
    ///
    /// # Errors
    /// [`SignalError`] if the source cannot tell. It must not return an empty list in that case.
    fn signals(&self, context: &CallContext<'_>) -> Result<Vec<Signal>, SignalError>;
}
