//! A call whose result is shown as it comes.

use std::sync::{Arc, Mutex};
use std::task::Poll;

use crate::invocation::Invocation;
use weaver_firewall::StreamItem;
use weaver_types::BoxFuture;

/// Where the pipeline puts what is to be shown: one item at a time.
#[derive(Clone, Default)]
pub(crate) struct Outlet(Arc<Mutex<Option<StreamItem>>>);

impl Outlet {
    /// Shows a part; done when it was taken.
    pub(crate) async fn show(&self, item: StreamItem) {
        self.leave(item);
        // Whoever takes the item polls again; nobody else has to be woken.
        std::future::poll_fn(|_| match self.0.lock() {
            Ok(slot) if slot.is_some() => Poll::Pending,
            _ => Poll::Ready(()),
        })
        .await;
    }

    /// Leaves the last item.
    pub(crate) fn leave(&self, item: StreamItem) {
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
/// Nothing happens but in [`CallStream::next`]: a tool is read no faster than its frames are
/// taken. Dropping it ends the call. What was shown by then is charged, and the log says
/// `cancelled` of it, or "outcome unknown" where the tool may have acted.
pub struct CallStream<'k> {
    work: Option<BoxFuture<'k, Invocation>>,
    outlet: Outlet,
    done: Option<Invocation>,
}

impl<'k> CallStream<'k> {
    pub(crate) fn new(work: BoxFuture<'k, Invocation>, outlet: Outlet) -> Self {
        Self { work: Some(work), outlet, done: None }
    }

    /// The next item; `None` when the call is over. A call that was refused, or whose tool failed
    /// before it gave a stream, has no items: [`CallStream::finished`] says why.
    pub async fn next(&mut self) -> Option<StreamItem> {
        let Self { work, outlet, done } = self;
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

    /// What the call came to, once it is over.
    #[must_use]
    pub fn finished(&self) -> Option<&Invocation> {
        self.done.as_ref()
    }
}
