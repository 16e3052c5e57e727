//! The progress of a running call.

use std::sync::Arc;

/// Progress of a running call, as its tool reports it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Progress {
    /// Completed units, in whatever the tool counts.
    pub progress: f64,
    /// Total units, if the tool knows.
    pub total: Option<f64>,
    /// The tool's message: untrusted text, unless somebody redacted it.
    pub message: Option<String>,
}

/// Receives progress reports, in order and before the result. It must return immediately, for
/// example by sending into a channel.
pub type ProgressSink = Arc<dyn Fn(Progress) + Send + Sync>;
