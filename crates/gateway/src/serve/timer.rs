//! The kernel's timer on tokio.

use std::time::Duration;

use weaver_types::{BoxFuture, Timer};

use super::client_call::ClientCall;

/// Sleeps on the current tokio runtime. Where it limits the request of a client, the time stands still
/// while that client is asked something for the server.
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
