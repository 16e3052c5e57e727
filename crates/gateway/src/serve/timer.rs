//! The kernel's timer on tokio.

use std::time::Duration;

use weaver_types::{BoxFuture, Timer};

/// Sleeps on the current tokio runtime.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TokioTimer;

impl Timer for TokioTimer {
    fn sleep(&self, after: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(after))
    }
}
