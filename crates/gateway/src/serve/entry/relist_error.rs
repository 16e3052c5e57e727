//! Why the tools of a server are not listed again.

use std::time::Duration;

/// Why what a server listed last may not be what is there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RelistError {
    /// The server is away, or its list cannot be used.
    #[error("{problem}")]
    Unavailable {
        /// What is wrong with it.
        problem: String,
    },
    /// The server is not connected yet.
    #[error("it is still starting")]
    Starting,
    /// The server did not list its tools in time.
    #[error("it did not list its tools again within {limit:?}")]
    Late {
        /// How long was waited.
        limit: Duration,
    },
    /// The gateway is about to end.
    #[error("the gateway ends")]
    Closing,
}
