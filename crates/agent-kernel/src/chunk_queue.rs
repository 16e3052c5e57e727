//! A bounded queue of chunks that turns a blocking function into a stream.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Waker};

use weaver_types::{BoxFuture, RawChunk};

use crate::driver::{ChunkSource, DriverError};

/// How many chunks may wait for the reader before the sender blocks.
const MAX_QUEUED_CHUNKS: usize = 4;

#[derive(Default)]
struct QueueState {
    chunks: VecDeque<RawChunk>,
    end: Option<Result<(), DriverError>>,
    /// The reader was dropped.
    closed: bool,
    waker: Option<Waker>,
}

type SharedQueue = Arc<(Mutex<QueueState>, Condvar)>;

/// The sending side of the queue, for a streaming function.
pub struct ChunkSender(SharedQueue);

impl ChunkSender {
    /// Sends a chunk; blocks while the queue is full.
    ///
    /// # Errors
    /// [`DriverError::Lost`], when the reader was dropped: the function should return.
    pub fn send(&self, chunk: RawChunk) -> Result<(), DriverError> {
        let gone = || DriverError::Lost("nobody reads the stream any more".to_owned());
        let mut state = self.0.0.lock().map_err(|_| gone())?;
        while state.chunks.len() >= MAX_QUEUED_CHUNKS && !state.closed {
            state = self.0.1.wait(state).map_err(|_| gone())?;
        }
        if state.closed {
            return Err(gone());
        }
        state.chunks.push_back(chunk);
        let waker = state.waker.take();
        drop(state);
        wake(waker);
        Ok(())
    }

    /// Ends the stream.
    pub(crate) fn finish(&self, end: Result<(), DriverError>) {
        let Ok(mut state) = self.0.0.lock() else { return };
        state.end = Some(end);
        let waker = state.waker.take();
        drop(state);
        wake(waker);
    }
}

fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}

/// The reading side: a running function, and what it has sent.
pub(crate) struct ChunkQueue {
    shared: SharedQueue,
    /// The future of the function; it ends with an error if the function could not be started.
    work: Option<BoxFuture<'static, Result<(), DriverError>>>,
}

impl ChunkQueue {
    /// Starts `work` with a sender, and returns the stream of what it sends.
    pub(crate) fn start(
        work: impl FnOnce(ChunkSender) -> BoxFuture<'static, Result<(), DriverError>>,
    ) -> Self {
        let shared = SharedQueue::default();
        let work = work(ChunkSender(Arc::clone(&shared)));
        Self { shared, work: Some(work) }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<RawChunk, DriverError>>> {
        let lost = || Some(Err(DriverError::Lost("the stream's thread died".to_owned())));
        if let Some(work) = &mut self.work
            && let Poll::Ready(result) = work.as_mut().poll(context)
        {
            self.work = None;
            if let Err(error) = result {
                return Poll::Ready(Some(Err(error)));
            }
        }
        let Ok(mut state) = self.shared.0.lock() else { return Poll::Ready(lost()) };
        if let Some(chunk) = state.chunks.pop_front() {
            self.shared.1.notify_one();
            return Poll::Ready(Some(Ok(chunk)));
        }
        match state.end.take() {
            Some(Ok(())) => {
                state.end = Some(Ok(()));
                Poll::Ready(None)
            }
            Some(Err(error)) => {
                state.end = Some(Ok(()));
                Poll::Ready(Some(Err(error)))
            }
            None => {
                state.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl ChunkSource for ChunkQueue {
    fn next(&mut self) -> BoxFuture<'_, Option<Result<RawChunk, DriverError>>> {
        Box::pin(std::future::poll_fn(|context| self.poll(context)))
    }
}

impl Drop for ChunkQueue {
    fn drop(&mut self) {
        if let Ok(mut state) = self.shared.0.lock() {
            state.closed = true;
            state.chunks.clear();
        }
        self.shared.1.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait::block_on;

    /// A queue, and the sender that its work has.
    fn queue() -> (ChunkQueue, ChunkSender) {
        let mut slot = None;
        let queue = ChunkQueue::start(|sender| {
            slot = Some(sender);
            Box::pin(std::future::pending())
        });
        (queue, slot.unwrap())
    }

    fn text(text: &str) -> RawChunk {
        RawChunk::Text(text.to_owned())
    }

    fn lost(result: Result<(), DriverError>) -> bool {
        matches!(result, Err(DriverError::Lost(_)))
    }

    #[test]
    fn chunks_come_in_their_order_and_the_end_stays_the_end() {
        let (mut queue, sender) = queue();
        for one in ["a", "b"] {
            sender.send(text(one)).unwrap();
        }
        sender.finish(Ok(()));
        let mut next = || block_on(queue.next());
        assert_eq!(next(), Some(Ok(text("a"))));
        assert_eq!(next(), Some(Ok(text("b"))));
        assert_eq!((next(), next()), (None, None));
    }

    #[test]
    fn an_error_is_told_once_behind_what_came_before_it() {
        let (mut queue, sender) = queue();
        sender.send(text("a")).unwrap();
        let error = || DriverError::Failed("the disk is full".to_owned());
        sender.finish(Err(error()));
        let mut next = || block_on(queue.next());
        assert_eq!(next(), Some(Ok(text("a"))));
        assert_eq!((next(), next()), (Some(Err(error())), None));
    }

    #[test]
    fn who_sends_is_told_when_nobody_reads_any_more() {
        let (queue, sender) = queue();
        sender.send(text("a")).unwrap();
        drop(queue);
        assert!(lost(sender.send(text("b"))));
        assert!(sender.0.0.lock().unwrap().chunks.is_empty());
    }

    #[test]
    fn the_fifth_chunk_waits_until_one_is_read_or_nobody_reads() {
        for read in [true, false] {
            let (mut queue, sender) = queue();
            for _ in 0..4 {
                sender.send(text("a")).unwrap();
            }
            let waiting = std::thread::spawn(move || (sender.send(text("last")), sender));
            if read {
                for _ in 0..4 {
                    assert_eq!(block_on(queue.next()), Some(Ok(text("a"))));
                }
                assert_eq!(block_on(queue.next()), Some(Ok(text("last"))));
                assert_eq!(waiting.join().unwrap().0, Ok(()));
            } else {
                drop(queue);
                assert!(lost(waiting.join().unwrap().0));
            }
        }
    }

    #[test]
    fn work_that_could_not_be_started_ends_the_stream() {
        let refused = || DriverError::Unavailable("too many threads".to_owned());
        let mut queue = ChunkQueue::start(|_| {
            Box::pin(std::future::ready(Err(DriverError::Unavailable(
                "too many threads".to_owned(),
            ))))
        });
        assert_eq!(block_on(queue.next()), Some(Err(refused())));
    }
}
