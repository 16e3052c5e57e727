//! A driver whose attempts are measured.

use std::sync::Arc;

use weaver_agent_kernel::{AuthorizedCall, ChunkSource, Driver, DriverError, StreamSummary};
use weaver_types::{BoxFuture, CapabilityId, Millicents, RawChunk, RawResult};

use super::call_trace::{CallTrace, StageTimer};

/// A driver whose attempts are stages of the call that the task works on.
struct TimedDriver(Arc<dyn Driver>);

/// The same driver, measured.
pub(crate) fn timed(driver: Arc<dyn Driver>) -> Arc<dyn Driver> {
    Arc::new(TimedDriver(driver))
}

impl Driver for TimedDriver {
    fn execute(&self, call: AuthorizedCall) -> BoxFuture<'_, Result<RawResult, DriverError>> {
        let timer = CallTrace::current().map(|trace| trace.begin_server());
        // It begins while the attempt is the current one, so that the server is told of it.
        let work = self.0.execute(call);
        Box::pin(async move {
            let done = work.await;
            if let Some(timer) = timer {
                timer.end(match &done {
                    Ok(result) => result.is_error.then_some("tool_error"),
                    Err(error) => Some(error.code()),
                });
            }
            done
        })
    }

    fn execute_stream(&self, call: &AuthorizedCall) -> Option<Box<dyn ChunkSource + '_>> {
        let timer = CallTrace::current().map(|trace| trace.begin_server());
        let Some(source) = self.0.execute_stream(call) else {
            // Nothing was attempted: the whole result is asked for instead.
            if let Some(timer) = timer {
                timer.discard();
            }
            return None;
        };
        Some(Box::new(TimedSource { source, timer, error: None }))
    }

    fn price(&self, call: &CapabilityId) -> Millicents {
        self.0.price(call)
    }

    fn reports_progress(&self) -> bool {
        self.0.reports_progress()
    }

    fn name(&self) -> &str {
        self.0.name()
    }
}

struct TimedSource<'a> {
    source: Box<dyn ChunkSource + 'a>,
    timer: Option<StageTimer>,
    error: Option<&'static str>,
}

impl ChunkSource for TimedSource<'_> {
    fn next(&mut self) -> BoxFuture<'_, Option<Result<RawChunk, DriverError>>> {
        Box::pin(async move {
            let next = self.source.next().await;
            if let Some(Err(error)) = &next {
                self.error = Some(error.code());
            }
            if !matches!(next, Some(Ok(_)))
                && let Some(timer) = self.timer.take()
            {
                timer.end(self.error);
            }
            next
        })
    }

    fn summary(&mut self) -> StreamSummary {
        self.source.summary()
    }
}
