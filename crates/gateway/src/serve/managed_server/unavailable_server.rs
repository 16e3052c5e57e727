//! A server whose tools are unavailable, and why.

use weaver_types::UpstreamName;

/// A server whose tools are unavailable.
pub(crate) struct UnavailableServer {
    pub(crate) server: UpstreamName,
    pub(crate) status: UnavailableReason,
    pub(crate) problem: ServerProblem,
}

/// Why a server is unavailable, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerProblem {
    /// For a person: with what the server wrote to its standard error.
    pub(crate) detail: String,
    /// For a model: without any text of the server.
    pub(crate) message: String,
}

impl UnavailableServer {
    pub(crate) fn is_starting(&self) -> bool {
        self.status == UnavailableReason::Starting
    }
}

/// Why the tools of a server are unavailable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnavailableReason {
    /// Its first start is in progress.
    Starting,
    /// It failed, and is retried.
    Failed,
}

impl UnavailableReason {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Failed => "failed",
        }
    }
}
