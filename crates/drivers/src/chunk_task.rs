//! Work on the tokio runtime that returns its result in chunks.

use std::future::Future;

use tokio::runtime::Handle;
use tokio::sync::mpsc;
use weaver_agent_kernel::{ChunkSource, DriverError, StreamSummary};
use weaver_types::{BoxFuture, RawChunk};

use crate::abort_on_drop::AbortOnDrop;

/// How many chunks may wait for the reader before the work is paused.
const QUEUE_CAPACITY: usize = 4;

/// Where the work sends its chunks. Sending waits while the queue is full.
pub(crate) type Chunks = mpsc::Sender<RawChunk>;

/// The chunks of some work as a stream. Dropping it aborts the work.
pub(crate) struct ChunkTask {
    chunks: mpsc::Receiver<RawChunk>,
    work: Option<AbortOnDrop<Result<StreamSummary, DriverError>>>,
    summary: StreamSummary,
}

impl ChunkTask {
    /// Runs the work on the runtime.
    pub(crate) fn start<T>(runtime: &Handle, work: impl FnOnce(Chunks) -> T) -> Self
    where
        T: Future<Output = Result<StreamSummary, DriverError>> + Send + 'static,
    {
        Self::with_capacity(QUEUE_CAPACITY, runtime, work)
    }

    /// The same with a queue of `capacity` chunks.
    pub(crate) fn with_capacity<T>(
        capacity: usize,
        runtime: &Handle,
        work: impl FnOnce(Chunks) -> T,
    ) -> Self
    where
        T: Future<Output = Result<StreamSummary, DriverError>> + Send + 'static,
    {
        let (sender, chunks) = mpsc::channel(capacity);
        let work = Some(AbortOnDrop(runtime.spawn(work(sender))));
        Self { chunks, work, summary: StreamSummary::default() }
    }

    /// A stream that fails at once.
    pub(crate) fn failed(runtime: &Handle, error: DriverError) -> Self {
        Self::start(runtime, |_| std::future::ready(Err(error)))
    }

    async fn next_chunk(&mut self) -> Option<Result<RawChunk, DriverError>> {
        if let Some(chunk) = self.chunks.recv().await {
            return Some(Ok(chunk));
        }
        // The work sends nothing more, so it is about to end.
        let mut work = self.work.take()?;
        match (&mut work.0).await {
            Ok(Ok(summary)) => {
                self.summary = summary;
                None
            }
            Ok(Err(error)) => Some(Err(error)),
            Err(_) => {
                let runtime_ended = "the runtime of the driver has ended".to_owned();
                Some(Err(DriverError::Lost(runtime_ended)))
            }
        }
    }
}

impl ChunkSource for ChunkTask {
    fn next(&mut self) -> BoxFuture<'_, Option<Result<RawChunk, DriverError>>> {
        Box::pin(self.next_chunk())
    }

    fn summary(&mut self) -> StreamSummary {
        std::mem::take(&mut self.summary)
    }
}

/// Sends a chunk.
///
/// # Errors
/// [`DriverError::Lost`], if the reader is gone.
pub(crate) async fn send(chunks: &Chunks, chunk: RawChunk) -> Result<(), DriverError> {
    let gone = |_| DriverError::Lost("nobody reads the stream any more".to_owned());
    chunks.send(chunk).await.map_err(gone)
}
