//! Waits without a runtime: for synchronous hosts, to race a future against a timer, and to contain
//! panics.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
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
    // Most futures are ready at the first poll and need no waker.
    if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        return output;
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// The future's output, or `None` when `limit` passes first. The timer is started only if the
/// future is not ready at once.
pub(crate) async fn with_timeout<F: Future>(
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

/// The output of the future that `make` makes, or `None` when either panics.
pub(crate) async fn catch_future_panic<'a, T>(
    make: impl FnOnce() -> BoxFuture<'a, T> + Send,
) -> Option<T> {
    let mut future = catch_unwind(AssertUnwindSafe(make)).ok()?;
    std::future::poll_fn(move |context| {
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
            Ok(Poll::Ready(output)) => Poll::Ready(Some(output)),
            Ok(Poll::Pending) => Poll::Pending,
            Err(_) => Poll::Ready(None),
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timer::ThreadTimer;

    #[test]
    fn a_future_that_is_done_at_once_needs_no_timer() {
        struct NoTimer;
        impl Timer for NoTimer {
            fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
                panic!("asked for a timer")
            }
        }
        assert_eq!(
            block_on(with_timeout(std::future::ready(7), Duration::ZERO, &NoTimer)),
            Some(7)
        );
    }

    #[test]
    fn a_future_that_never_ends_is_cut_off() {
        let limit = Duration::from_millis(5);
        assert_eq!(block_on(with_timeout(std::future::pending::<()>(), limit, &ThreadTimer)), None);
    }

    #[test]
    fn a_panic_stays_where_it_happened() {
        let making = catch_future_panic(|| -> BoxFuture<'static, ()> { panic!("in making") });
        assert_eq!(block_on(making), None);
        let polling = catch_future_panic(|| -> BoxFuture<'static, ()> {
            Box::pin(async { panic!("in polling") })
        });
        assert_eq!(block_on(polling), None);
        assert_eq!(block_on(catch_future_panic(|| Box::pin(std::future::ready(7)))), Some(7));
    }
}
