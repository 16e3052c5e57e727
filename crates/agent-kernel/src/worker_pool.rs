//! Worker threads for blocking host functions: reused when idle, bounded in number.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Condvar, LazyLock, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use weaver_types::BoxFuture;

use crate::driver::DriverError;
use crate::fn_driver::catch_panic;

/// The most threads of a process; further calls are refused, so that no unbounded queue builds up.
const MAX_THREADS: usize = 256;
/// How long an idle thread waits for a job before it ends.
const MAX_IDLE_TIME: Duration = Duration::from_secs(10);

type Job = Box<dyn FnOnce() + Send>;

struct PoolState {
    max_threads: usize,
    jobs: Vec<Job>,
    idle: usize,
    threads: usize,
}

/// A handle of the pool.
#[derive(Clone)]
pub(crate) struct WorkerPool(Arc<PoolShared>);

/// What the handles and the threads share.
struct PoolShared {
    state: Mutex<PoolState>,
    /// Signalled when a job waits for an idle thread.
    job_added: Condvar,
}

static SHARED: LazyLock<WorkerPool> = LazyLock::new(|| WorkerPool::new(MAX_THREADS));

impl WorkerPool {
    fn new(most: usize) -> Self {
        let state = PoolState { max_threads: most, jobs: Vec::new(), idle: 0, threads: 0 };
        Self(Arc::new(PoolShared { state: Mutex::new(state), job_added: Condvar::new() }))
    }

    /// The pool of this process.
    pub(crate) fn shared() -> Self {
        SHARED.clone()
    }

    /// Runs a function on a thread; the future completes when the function returns. If the future
    /// is dropped before, `on_late_result` gets the result.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        f: impl FnOnce() -> Result<T, DriverError> + Send + 'static,
        on_late_result: impl FnOnce(&Result<T, DriverError>) + Send + 'static,
    ) -> BoxFuture<'static, Result<T, DriverError>> {
        let slot = Arc::new(Mutex::new(ResultSlot::new(Box::new(on_late_result))));
        let worker_slot = Arc::clone(&slot);
        let job: Job = Box::new(move || deliver(&worker_slot, catch_panic(f)));
        match self.submit(job) {
            Ok(()) => Box::pin(ResultFuture(slot)),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    fn submit(&self, job: Job) -> Result<(), DriverError> {
        let unavailable = DriverError::Unavailable;
        let mut state =
            self.0.state.lock().map_err(|_| unavailable("the worker pool was lost".to_owned()))?;
        if state.idle > state.jobs.len() {
            state.jobs.push(job);
            self.0.job_added.notify_one();
            return Ok(());
        }
        if state.threads >= state.max_threads {
            let most = state.max_threads;
            return Err(unavailable(format!("{most} blocking functions are running already")));
        }
        let shared = Arc::clone(&self.0);
        std::thread::Builder::new()
            .name("weaver-fn".to_owned())
            .spawn(move || worker_loop(&shared))
            .map_err(|error| {
                DriverError::Unavailable(format!("no thread could be started: {error}"))
            })?;
        state.threads += 1;
        state.jobs.push(job);
        Ok(())
    }
}

fn worker_loop(shared: &PoolShared) {
    let Ok(mut state) = shared.state.lock() else { return };
    loop {
        if let Some(job) = state.jobs.pop() {
            drop(state);
            // The job catches panics of the function itself; this catches those of a waker.
            let _ = catch_unwind(AssertUnwindSafe(job));
            let Ok(again) = shared.state.lock() else { return };
            state = again;
            continue;
        }
        state.idle += 1;
        let Ok((mut again, timeout)) = shared.job_added.wait_timeout(state, MAX_IDLE_TIME) else {
            return;
        };
        again.idle -= 1;
        if timeout.timed_out() && again.jobs.is_empty() {
            again.threads -= 1;
            return;
        }
        state = again;
    }
}

type LateResultCallback<T> = Box<dyn FnOnce(&Result<T, DriverError>) + Send>;

/// Passes the result from the worker thread to the future.
struct ResultSlot<T> {
    result: Option<Result<T, DriverError>>,
    waker: Option<Waker>,
    /// The future was dropped.
    receiver_dropped: bool,
    on_late_result: Option<LateResultCallback<T>>,
}

impl<T> ResultSlot<T> {
    fn new(on_late_result: LateResultCallback<T>) -> Self {
        Self {
            result: None,
            waker: None,
            receiver_dropped: false,
            on_late_result: Some(on_late_result),
        }
    }

    /// Takes a result that nobody waits for, with the callback for it.
    fn take_late_result(&mut self) -> Option<(Result<T, DriverError>, LateResultCallback<T>)> {
        if !self.receiver_dropped || self.result.is_none() {
            return None;
        }
        self.result.take().zip(self.on_late_result.take())
    }
}

fn deliver<T>(slot: &Mutex<ResultSlot<T>>, result: Result<T, DriverError>) {
    let Ok(mut locked) = slot.lock() else { return };
    locked.result = Some(result);
    let (unread, waker) = (locked.take_late_result(), locked.waker.take());
    drop(locked);
    if let Some((result, on_late_result)) = unread {
        on_late_result(&result);
    }
    if let Some(waker) = waker {
        waker.wake();
    }
}

struct ResultFuture<T>(Arc<Mutex<ResultSlot<T>>>);

impl<T> Future for ResultFuture<T> {
    type Output = Result<T, DriverError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Ok(mut slot) = self.0.lock() else {
            return Poll::Ready(Err(DriverError::Failed(
                "the function's result was lost".to_owned(),
            )));
        };
        match slot.result.take() {
            Some(result) => {
                slot.on_late_result = None;
                Poll::Ready(result)
            }
            None => {
                slot.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl<T> Drop for ResultFuture<T> {
    fn drop(&mut self) {
        let Ok(mut slot) = self.0.lock() else { return };
        slot.receiver_dropped = true;
        slot.waker = None;
        let unread = slot.take_late_result();
        drop(slot);
        if let Some((result, on_late_result)) = unread {
            on_late_result(&result);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use weaver_types::RawResult;

    use super::*;
    use crate::wait::block_on;

    #[test]
    fn threads_are_bounded_and_used_again() {
        let workers = WorkerPool::new(2);
        let (release, gate) = mpsc::channel::<()>();
        let gate = Arc::new(Mutex::new(gate));
        let waiting = || {
            let gate = Arc::clone(&gate);
            workers.run(
                move || {
                    let _ = gate.lock().unwrap().recv();
                    Ok(RawResult::text("done"))
                },
                |_| (),
            )
        };
        let busy = [waiting(), waiting()];
        let refused = block_on(waiting()).unwrap_err();
        assert!(matches!(refused, DriverError::Unavailable(_)), "{refused}");
        release.send(()).unwrap();
        release.send(()).unwrap();
        for call in busy {
            assert!(block_on(call).is_ok());
        }
        for _ in 0..100 {
            let quick = || workers.run(|| Ok(RawResult::text("done")), |_| ());
            // The threads that are done may not have come back yet.
            while block_on(quick()).is_err() {
                std::thread::yield_now();
            }
        }
        assert!(workers.0.state.lock().unwrap().threads <= 2);
    }

    #[test]
    fn a_late_result_is_reported_once() {
        let workers = WorkerPool::new(1);
        let (release, gate) = mpsc::channel::<()>();
        let (sender, received) = mpsc::channel();
        let work = workers.run(
            move || {
                let _ = gate.recv();
                Ok(RawResult::text("late"))
            },
            move |result| sender.send(result.is_ok()).unwrap(),
        );
        drop(work);
        release.send(()).unwrap();
        assert_eq!(received.recv(), Ok(true));
        assert!(received.recv().is_err(), "once");
    }

    #[test]
    fn a_panic_is_an_error_and_the_thread_lives_on() {
        let workers = WorkerPool::new(1);
        let failed = block_on(workers.run::<()>(|| panic!("on purpose"), |_| ())).unwrap_err();
        assert!(failed.is_ambiguous(), "{failed}");
        while block_on(workers.run(|| Ok(RawResult::text("done")), |_| ())).is_err() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn work_is_not_left_to_a_thread_that_is_busy() {
        let workers = WorkerPool::new(2);
        block_on(workers.run(|| Ok(RawResult::text("done")), |_| ())).unwrap();
        while workers.0.state.lock().unwrap().idle == 0 {
            std::thread::yield_now();
        }
        let (release, gate) = mpsc::channel::<()>();
        let (begun, begins) = mpsc::channel();
        let busy = workers.run(
            move || {
                begun.send(()).unwrap();
                let _ = gate.recv();
                Ok(RawResult::text("late"))
            },
            |_| (),
        );
        begins.recv().unwrap();
        let (sender, received) = mpsc::channel();
        let other = workers.run(
            move || {
                sender.send(()).unwrap();
                Ok(RawResult::text("done"))
            },
            |_| (),
        );
        assert_eq!(
            received.recv_timeout(Duration::from_secs(10)),
            Ok(()),
            "it has a thread of its own"
        );
        assert!(block_on(other).is_ok());
        release.send(()).unwrap();
        assert!(block_on(busy).is_ok());
    }
}
