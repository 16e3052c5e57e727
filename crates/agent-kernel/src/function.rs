//! Function drivers: host functions as tools.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use weaver_firewall::StreamWhole;
use weaver_types::{BoxFuture, RawResult};

use crate::chunk_queue::{ChunkQueue, ChunkSender};
use crate::driver::{AuthorizedCall, ChunkSource, Driver, DriverError};
use crate::partial_results::PartialResults;
use crate::worker::Workers;

type BlockingFunction = dyn Fn(AuthorizedCall) -> Result<RawResult, DriverError> + Send + Sync;
type AsyncFunction =
    dyn Fn(AuthorizedCall) -> BoxFuture<'static, Result<RawResult, DriverError>> + Send + Sync;

type StreamingFunction =
    dyn Fn(AuthorizedCall, &ChunkSender) -> Result<(), DriverError> + Send + Sync;

enum Body {
    Inline(Arc<BlockingFunction>),
    Blocking(Arc<BlockingFunction>, Workers),
    Async(Arc<AsyncFunction>),
    Streaming(Arc<StreamingFunction>, Workers),
}

/// A host function as a driver.
///
/// That it is the host's own says nothing of what it brings: output whose label the capability does
/// not declare is internal and untrusted, and taints the run that sees it.
pub struct FnDriver {
    name: String,
    body: Body,
}

impl FnDriver {
    /// A quick function that runs on the caller's thread. It cannot be interrupted, so no
    /// timeout applies to it.
    pub fn inline(
        f: impl Fn(AuthorizedCall) -> Result<RawResult, DriverError> + Send + Sync + 'static,
    ) -> Self {
        Self { name: "fn".to_owned(), body: Body::Inline(Arc::new(f)) }
    }

    /// A function that may block. It runs on a thread of its own, so that a timeout is kept; a
    /// function that is past its time goes on in the background, and its result is thrown away: the
    /// log says that it came.
    pub fn blocking(
        f: impl Fn(AuthorizedCall) -> Result<RawResult, DriverError> + Send + Sync + 'static,
    ) -> Self {
        Self { name: "fn".to_owned(), body: Body::Blocking(Arc::new(f), Workers::shared()) }
    }

    /// An async function. A timeout drops its future.
    pub fn asynchronous<F, T>(f: F) -> Self
    where
        F: Fn(AuthorizedCall) -> T + Send + Sync + 'static,
        T: Future<Output = Result<RawResult, DriverError>> + Send + 'static,
    {
        Self { name: "fn".to_owned(), body: Body::Async(Arc::new(move |call| Box::pin(f(call)))) }
    }

    /// A function that sends its result bit by bit. It runs on a thread of its own and waits while
    /// the chunks that it sent are not taken; once nobody takes them, sending fails and it should
    /// return. Where a call is not streamed, the chunks become one result.
    pub fn streaming(
        f: impl Fn(AuthorizedCall, &ChunkSender) -> Result<(), DriverError> + Send + Sync + 'static,
    ) -> Self {
        Self { name: "fn".to_owned(), body: Body::Streaming(Arc::new(f), Workers::shared()) }
    }
}

fn started(f: &Arc<StreamingFunction>, workers: &Workers, call: AuthorizedCall) -> ChunkQueue {
    let f = Arc::clone(f);
    ChunkQueue::start(|sender| {
        let work = move || {
            sender.finish(caught(|| f(call, &sender)));
            Ok(RawResult::text(""))
        };
        workers.run(work, |_| ())
    })
}

async fn joined(
    mut source: ChunkQueue,
    mut partial: Option<PartialResults>,
) -> Result<RawResult, DriverError> {
    let mut whole = StreamWhole::default();
    while let Some(chunk) = source.next().await {
        let chunk = chunk?;
        if let Some(partial) = &mut partial {
            partial.push(&chunk);
        }
        whole.push(chunk);
    }
    Ok(whole.into_raw())
}

/// What `f` returns; a panic is an error of the tool and ends nothing else. How far it came is
/// unknown.
pub(crate) fn caught<T>(f: impl FnOnce() -> Result<T, DriverError>) -> Result<T, DriverError> {
    catch_unwind(AssertUnwindSafe(f))
        .unwrap_or_else(|_| Err(DriverError::Lost("the tool's function panicked".to_owned())))
}

impl Driver for FnDriver {
    fn execute(&self, call: AuthorizedCall) -> BoxFuture<'_, Result<RawResult, DriverError>> {
        match &self.body {
            Body::Inline(f) => Box::pin(async move { f(call) }),
            Body::Blocking(f, workers) => {
                let (f, own) = (Arc::clone(f), call.clone());
                workers.run(move || f(call), move |result| own.report_late(result))
            }
            Body::Async(f) => f(call),
            Body::Streaming(f, workers) => {
                let partial = PartialResults::of(&call);
                Box::pin(joined(started(f, workers, call), partial))
            }
        }
    }

    fn execute_stream(&self, call: &AuthorizedCall) -> Option<Box<dyn ChunkSource + '_>> {
        match &self.body {
            Body::Streaming(f, workers) => Some(Box::new(started(f, workers, call.clone()))),
            Body::Inline(_) | Body::Blocking(..) | Body::Async(_) => None,
        }
    }

    fn reports_progress(&self) -> bool {
        matches!(self.body, Body::Streaming(..))
    }

    fn name(&self) -> &str {
        &self.name
    }
}
