//! Waiting without a runtime: for synchronous hosts, and for racing a future against a timer.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

use weaver_types::{BoxFuture, Timer};

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future to its end on this thread.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// A timer that needs no runtime: one sleeping thread for each timer that is really waited for.
#[derive(Debug, Clone, Copy, Default)]
pub struct ThreadTimer;

impl Timer for ThreadTimer {
    fn sleep(&self, after: Duration) -> BoxFuture<'static, ()> {
        Box::pin(Sleep { after, thread: None })
    }
}

struct Sleep {
    after: Duration,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        match &self.thread {
            Some(thread) if thread.is_finished() => Poll::Ready(()),
            Some(_) => {
                // Woken for another reason: the sleeping thread holds the first waker, which is
                // the same task.
                Poll::Pending
            }
            None => {
                let (after, waker) = (self.after, context.waker().clone());
                let spawned =
                    std::thread::Builder::new().name("weaver-timer".to_owned()).spawn(move || {
                        std::thread::sleep(after);
                        WakeOnDrop(waker);
                    });
                match spawned {
                    Ok(thread) => {
                        self.thread = Some(thread);
                        Poll::Pending
                    }
                    // Without a thread the time counts as over: the stricter answer.
                    Err(_) => Poll::Ready(()),
                }
            }
        }
    }
}

struct WakeOnDrop(Waker);

impl Drop for WakeOnDrop {
    fn drop(&mut self) {
        self.0.wake_by_ref();
    }
}

/// The future's output, or `None` when `limit` passes first. The timer is asked for only when the
/// future is not done at once.
pub(crate) async fn within<F: Future>(
    future: F,
    limit: Duration,
    timer: &dyn Timer,
) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut sleep: Option<BoxFuture<'static, ()>> = None;
    std::future::poll_fn(move |context| {
        if let Poll::Ready(output) = future.as_mut().poll(context) {
            return Poll::Ready(Some(output));
        }
        let sleep = sleep.get_or_insert_with(|| timer.sleep(limit));
        sleep.as_mut().poll(context).map(|()| None)
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_future_that_is_done_at_once_needs_no_timer() {
        struct NoTimer;
        impl Timer for NoTimer {
            fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
                panic!("asked for a timer")
            }
        }
        assert_eq!(block_on(within(std::future::ready(7), Duration::ZERO, &NoTimer)), Some(7));
    }

    #[test]
    fn a_future_that_never_ends_is_cut_off() {
        assert_eq!(
            block_on(within(std::future::pending::<()>(), Duration::from_millis(5), &ThreadTimer)),
            None
        );
    }
}
