//! Work on the tokio runtime that brings its result bit by bit.

use std::future::Future;

use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use weaver_agent_kernel::{ChunkSource, DriverError, StreamSummary};
use weaver_types::{BoxFuture, RawChunk};

/// How many chunks wait for whoever reads them; then the work waits.
const MAX_WAITING: usize = 4;

/// Where the work puts its chunks. Sending waits while the reader has some left to read.
pub(crate) type Chunks = mpsc::Sender<RawChunk>;

/// A stream of what some work sends. Dropping it abandons the work.
pub(crate) struct ChunkTask {
    chunks: mpsc::Receiver<RawChunk>,
    work: Option<Work>,
    summary: StreamSummary,
}

struct Work(JoinHandle<Result<StreamSummary, DriverError>>);

impl Drop for Work {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl ChunkTask {
    /// Does the work on the runtime.
    pub(crate) fn start<T>(runtime: &Handle, work: impl FnOnce(Chunks) -> T) -> Self
    where
        T: Future<Output = Result<StreamSummary, DriverError>> + Send + 'static,
    {
        Self::with_room(MAX_WAITING, runtime, work)
    }

    /// The same with a queue of `room` chunks.
    pub(crate) fn with_room<T>(
        room: usize,
        runtime: &Handle,
        work: impl FnOnce(Chunks) -> T,
    ) -> Self
    where
        T: Future<Output = Result<StreamSummary, DriverError>> + Send + 'static,
    {
        let (sender, chunks) = mpsc::channel(room);
        let work = Some(Work(runtime.spawn(work(sender))));
        Self { chunks, work, summary: StreamSummary::default() }
    }

    /// A stream that is over before it began.
    pub(crate) fn failed(runtime: &Handle, error: DriverError) -> Self {
        Self::start(runtime, |_| std::future::ready(Err(error)))
    }

    async fn take(&mut self) -> Option<Result<RawChunk, DriverError>> {
        if let Some(chunk) = self.chunks.recv().await {
            return Some(Ok(chunk));
        }
        // The work has nothing more to send, so it is about to end.
        let mut work = self.work.take()?;
        match (&mut work.0).await {
            Ok(Ok(summary)) => {
                self.summary = summary;
                None
            }
            Ok(Err(error)) => Some(Err(error)),
            Err(_) => {
                let gone = "the runtime of the driver has ended".to_owned();
                Some(Err(DriverError::Lost(gone)))
            }
        }
    }
}

impl ChunkSource for ChunkTask {
    fn next(&mut self) -> BoxFuture<'_, Option<Result<RawChunk, DriverError>>> {
        Box::pin(self.take())
    }

    fn summary(&mut self) -> StreamSummary {
        std::mem::take(&mut self.summary)
    }
}

/// Sends a chunk.
///
/// # Errors
/// [`DriverError::Lost`], when nobody reads any more.
pub(crate) async fn send(chunks: &Chunks, chunk: RawChunk) -> Result<(), DriverError> {
    let gone = |_| DriverError::Lost("nobody reads the stream any more".to_owned());
    chunks.send(chunk).await.map_err(gone)
}
