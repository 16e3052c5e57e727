//! Errors of bringing a server's tool list up to date.

use std::time::Duration;

/// Why the last known list of a server may be outdated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RelistError {
    /// The server is unavailable, or its list cannot be used. Without any text of the server.
    #[error("{problem}")]
    Unavailable { problem: String },
    /// The server is not connected yet.
    #[error("the server is still starting")]
    Starting,
    /// The server did not list its tools in time.
    #[error("the server did not list its tools again within {limit:?}")]
    TimedOut { limit: Duration },
    /// The gateway is about to end.
    #[error("the gateway ends")]
    Closing,
}
