//! Function drivers: host functions as tools.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use weaver_firewall::StreamCollector;
use weaver_types::{BoxFuture, RawResult};

use crate::chunk_queue::{ChunkQueue, ChunkSender};
use crate::driver::{AuthorizedCall, ChunkSource, Driver, DriverError};
use crate::partial_result_reporter::PartialResultReporter;
use crate::worker_pool::WorkerPool;

type BlockingFunction = dyn Fn(AuthorizedCall) -> Result<RawResult, DriverError> + Send + Sync;
type AsyncFunction =
    dyn Fn(AuthorizedCall) -> BoxFuture<'static, Result<RawResult, DriverError>> + Send + Sync;

type StreamingFunction =
    dyn Fn(AuthorizedCall, &ChunkSender) -> Result<(), DriverError> + Send + Sync;

enum FunctionKind {
    Inline(Arc<BlockingFunction>),
    Blocking(Arc<BlockingFunction>, WorkerPool),
    Async(Arc<AsyncFunction>),
    Streaming(Arc<StreamingFunction>, WorkerPool),
}

/// A host function as a driver.
///
/// A function of the host is not a trusted source by itself: unless the capability declares an
/// output label, its output is internal and untrusted, and taints the run that sees it.
pub struct FnDriver {
    name: String,
    body: FunctionKind,
}

weaver_types::opaque_debug!(FnDriver);

impl FnDriver {
    /// A quick function that runs on the caller's thread. It cannot be interrupted, so no
    /// timeout applies to it.
    pub fn inline(
        f: impl Fn(AuthorizedCall) -> Result<RawResult, DriverError> + Send + Sync + 'static,
    ) -> Self {
        Self { name: "fn".to_owned(), body: FunctionKind::Inline(Arc::new(f)) }
    }

    /// A function that may block. It runs on its own thread, so that the timeout is kept. A
    /// function that exceeds it goes on in the background; its result is discarded, and the log
    /// records that it came.
    pub fn blocking(
        f: impl Fn(AuthorizedCall) -> Result<RawResult, DriverError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: "fn".to_owned(),
            body: FunctionKind::Blocking(Arc::new(f), WorkerPool::shared()),
        }
    }

    /// An async function. A timeout drops its future.
    pub fn asynchronous<F, T>(f: F) -> Self
    where
        F: Fn(AuthorizedCall) -> T + Send + Sync + 'static,
        T: Future<Output = Result<RawResult, DriverError>> + Send + 'static,
    {
        Self {
            name: "fn".to_owned(),
            body: FunctionKind::Async(Arc::new(move |call| Box::pin(f(call)))),
        }
    }

    /// A function that sends its result in chunks. It runs on its own thread and blocks while its
    /// chunks are not taken; once the reader is gone, sending fails and the function should return.
    /// If a call is not streamed, the chunks become one result.
    pub fn streaming(
        f: impl Fn(AuthorizedCall, &ChunkSender) -> Result<(), DriverError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: "fn".to_owned(),
            body: FunctionKind::Streaming(Arc::new(f), WorkerPool::shared()),
        }
    }
}

fn start_streaming(
    f: &Arc<StreamingFunction>,
    workers: &WorkerPool,
    call: AuthorizedCall,
) -> ChunkQueue {
    let f = Arc::clone(f);
    ChunkQueue::start(|sender| {
        let work = move || {
            sender.finish(catch_panic(|| f(call, &sender)));
            Ok(())
        };
        workers.run(work, |_| ())
    })
}

async fn collect_stream(
    mut source: ChunkQueue,
    mut partial: Option<PartialResultReporter>,
) -> Result<RawResult, DriverError> {
    let mut collector = StreamCollector::default();
    while let Some(chunk) = source.next().await {
        let chunk = chunk?;
        if let Some(partial) = &mut partial {
            partial.push(&chunk);
        }
        collector.push(chunk);
    }
    Ok(collector.into_raw())
}

/// Calls `f`; a panic becomes an error of the tool. How far the function got is unknown.
pub(crate) fn catch_panic<T>(f: impl FnOnce() -> Result<T, DriverError>) -> Result<T, DriverError> {
    catch_unwind(AssertUnwindSafe(f))
        .unwrap_or_else(|_| Err(DriverError::Lost("the tool's function panicked".to_owned())))
}

impl Driver for FnDriver {
    fn execute(&self, call: AuthorizedCall) -> BoxFuture<'_, Result<RawResult, DriverError>> {
        match &self.body {
            FunctionKind::Inline(f) => Box::pin(async move { f(call) }),
            FunctionKind::Blocking(f, workers) => {
                let (f, own) = (Arc::clone(f), call.clone());
                workers.run(move || f(call), move |result| own.report_late(result))
            }
            FunctionKind::Async(f) => f(call),
            FunctionKind::Streaming(f, workers) => {
                let partial = PartialResultReporter::new(&call);
                Box::pin(collect_stream(start_streaming(f, workers, call), partial))
            }
        }
    }

    fn execute_stream(&self, call: &AuthorizedCall) -> Option<Box<dyn ChunkSource + '_>> {
        match &self.body {
            FunctionKind::Streaming(f, workers) => {
                Some(Box::new(start_streaming(f, workers, call.clone())))
            }
            FunctionKind::Inline(_) | FunctionKind::Blocking(..) | FunctionKind::Async(_) => None,
        }
    }

    fn reports_progress(&self) -> bool {
        matches!(self.body, FunctionKind::Streaming(..))
    }

    fn name(&self) -> &str {
        &self.name
    }
}
