//! A driver wrapper that measures each attempt.

use std::sync::Arc;

use tokio::runtime::Handle;
use weaver_agent_kernel::{AuthorizedCall, ChunkSource, Driver, DriverError, StreamSummary};
use weaver_types::{BoxFuture, CapabilityId, Millicents, RawChunk, RawContent, RawResult, RunId};

use super::call_trace::{CallTrace, StageTimer};

/// A result of more bytes may take long to redact.
const LARGE_BYTES: usize = 32 * 1024;

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
            if done.as_ref().is_ok_and(is_large) {
                hand_over_io();
            }
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

    fn working_folder(&self, run: &RunId) -> Option<String> {
        self.0.working_folder(run)
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

/// True for a result that may take long to redact. The size of a tree of JSON is not known.
fn is_large(result: &RawResult) -> bool {
    match &result.content {
        RawContent::Text(text) => text.len() > LARGE_BYTES,
        RawContent::Binary { bytes, .. } => bytes.len() > LARGE_BYTES,
        RawContent::Rows(_) => true,
        RawContent::Json(value) => value.is_array() || value.is_object(),
    }
}

/// Has another thread wait for input and output. This one is about to redact a result at a stretch,
/// and the runtime hands that task over only when another one is begun.
fn hand_over_io() {
    if let Ok(runtime) = Handle::try_current() {
        let begun_elsewhere = runtime.clone();
        drop(runtime.spawn_blocking(move || drop(begun_elsewhere.spawn(async {}))));
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
