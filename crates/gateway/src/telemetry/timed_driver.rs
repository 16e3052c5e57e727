//! A driver wrapper that measures each attempt.

use std::sync::Arc;

use weaver_agent_kernel::{AuthorizedCall, ChunkSource, Driver, DriverError, StreamSummary};
use weaver_types::{BoxFuture, CapabilityId, Millicents, RawChunk, RawResult};

use super::call_trace::{CallTrace, StageTimer};

/// A driver whose attempts are recorded as stages of the call that the current task works on.
struct TimedDriver(Arc<dyn Driver>);

/// Wraps a driver so that its attempts are measured.
pub(crate) fn timed(driver: Arc<dyn Driver>) -> Arc<dyn Driver> {
    Arc::new(TimedDriver(driver))
}

impl Driver for TimedDriver {
    fn execute(&self, call: AuthorizedCall) -> BoxFuture<'_, Result<RawResult, DriverError>> {
        let timer = CallTrace::current().map(|trace| trace.begin_attempt());
        // The request is built while this attempt is the current one, so that it carries this
        // span's context.
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
        let timer = CallTrace::current().map(|trace| trace.begin_attempt());
        let Some(source) = self.0.execute_stream(call) else {
            // Nothing was attempted: the caller falls back to `execute`.
            if let Some(timer) = timer {
                timer.discard();
            }
            return None;
        };
        Some(Box::new(TimedSource { source, timer, error: None }))
    }

    fn max_cost(&self, call: &CapabilityId) -> Millicents {
        self.0.max_cost(call)
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
