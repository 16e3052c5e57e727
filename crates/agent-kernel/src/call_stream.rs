//! A call whose result is shown as it arrives.

use std::sync::{Arc, Mutex};
use std::task::Poll;

use crate::invocation::Invocation;
use weaver_firewall::StreamItem;
use weaver_types::BoxFuture;

/// A one-place channel from the pipeline to the reader of the stream.
#[derive(Clone, Default)]
pub(crate) struct StreamOutlet(Arc<Mutex<Option<StreamItem>>>);

impl StreamOutlet {
    /// Puts an item and waits until the reader has taken it.
    pub(crate) async fn put_and_wait(&self, item: StreamItem) {
        self.put(item);
        // The reader polls this future again after taking the item, so no waker is needed.
        std::future::poll_fn(|_| match self.0.lock() {
            Ok(slot) if slot.is_some() => Poll::Pending,
            _ => Poll::Ready(()),
        })
        .await;
    }

    /// Puts an item without waiting; used for the last one.
    pub(crate) fn put(&self, item: StreamItem) {
        if let Ok(mut slot) = self.0.lock() {
            *slot = Some(item);
        }
    }

    fn take(&self) -> Option<StreamItem> {
        self.0.lock().ok()?.take()
    }
}

/// The frames of a call, as [`Kernel::invoke_stream`](crate::Kernel::invoke_stream) makes them.
///
/// All work happens in [`CallStream::next`]: a tool is read no faster than its frames are taken.
/// Dropping the stream ends the call. What was shown by then is charged, and the log records the
/// call as `cancelled`, or as "outcome unknown" if the tool may have acted.
pub struct CallStream<'k> {
    invocation: Option<BoxFuture<'k, Invocation>>,
    outlet: StreamOutlet,
    done: Option<Invocation>,
}

impl<'k> CallStream<'k> {
    pub(crate) fn new(work: BoxFuture<'k, Invocation>, outlet: StreamOutlet) -> Self {
        Self { invocation: Some(work), outlet, done: None }
    }

    /// The next item; `None` when the call is over. A call that was refused, or whose tool failed
    /// before it started a stream, has no items: [`CallStream::invocation`] says why.
    pub async fn next(&mut self) -> Option<StreamItem> {
        let Self { invocation: work, outlet, done } = self;
        std::future::poll_fn(move |context| {
            if let Some(item) = outlet.take() {
                return Poll::Ready(Some(item));
            }
            let Some(future) = work else { return Poll::Ready(None) };
            let poll = future.as_mut().poll(context);
            if let Poll::Ready(invocation) = poll {
                *work = None;
                *done = Some(invocation);
                return Poll::Ready(outlet.take());
            }
            match outlet.take() {
                Some(item) => Poll::Ready(Some(item)),
                None => Poll::Pending,
            }
        })
        .await
    }

    /// The result of the call, once it is over.
    #[must_use]
    pub fn invocation(&self) -> Option<&Invocation> {
        self.done.as_ref()
    }
}
