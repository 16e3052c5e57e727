//! A server whose tools are unavailable, and why.

use weaver_types::UpstreamName;

/// A server whose tools are unavailable.
pub(crate) struct UnavailableServer {
    pub(crate) server: UpstreamName,
    pub(crate) status: UnavailableReason,
    /// The reason in words.
    pub(crate) problem: String,
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
