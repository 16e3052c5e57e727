//! The kernel's timer, on tokio.

use std::time::Duration;

use weaver_types::{BoxFuture, Timer};

use super::client_call::ClientCall;

/// Sleeps on the tokio runtime. Within a client's request the time pauses while that client answers
/// a question of a server.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TokioTimer;

impl Timer for TokioTimer {
    fn sleep(&self, after: Duration) -> BoxFuture<'static, ()> {
        match ClientCall::current() {
            Some(call) => Box::pin(async move { call.timer.elapsed(after).await }),
            None => Box::pin(tokio::time::sleep(after)),
        }
    }
}
