//! The progress of a running call.

use std::sync::Arc;

/// How far a running call is, as its tool tells it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Progress {
    /// How far the call is, in whatever the tool counts.
    pub progress: f64,
    /// Where it ends, if the tool knows.
    pub total: Option<f64>,
    /// What the tool says about it: untrusted text, unless somebody redacted it.
    pub message: Option<String>,
}

/// Receives progress, in order, all of it before the result. It must return at once, for example by
/// sending into a channel.
pub type ProgressSink = Arc<dyn Fn(Progress) + Send + Sync>;
