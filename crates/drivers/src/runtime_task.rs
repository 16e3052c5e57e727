//! Runs work on the tokio runtime for a future that any executor may poll.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;

use tokio::runtime::Handle;
use weaver_agent_kernel::DriverError;
use weaver_types::{BoxFuture, RawResult};

use crate::abort_on_drop::AbortOnDrop;

/// Runs the work on the runtime. Dropping the future aborts the work.
///
/// If the runtime itself polls this future, the work is polled in place: a separate task would make
/// the chain from a client's line to the server's longer than tokio runs on one worker (three tasks
/// that wake each other), and each call would wake another worker twice.
pub(crate) async fn run_on(
    runtime: &Handle,
    work: BoxFuture<'static, Result<RawResult, DriverError>>,
) -> Result<RawResult, DriverError> {
    if Handle::try_current().is_ok_and(|current| current.id() == runtime.id()) {
        return poll_in_place(runtime, work).await;
    }
    let mut task = AbortOnDrop(runtime.spawn(work));
    match (&mut task.0).await {
        Ok(outcome) => outcome,
        Err(_) => Err(runtime_ended()),
    }
}

/// Polls the work like a task: within the runtime context, whoever polls it, and with a panic as
/// its failure.
async fn poll_in_place(
    runtime: &Handle,
    mut work: BoxFuture<'static, Result<RawResult, DriverError>>,
) -> Result<RawResult, DriverError> {
    poll_fn(|context| {
        let _inside = runtime.enter();
        let polled = catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context)));
        polled.unwrap_or_else(|_| Poll::Ready(Err(runtime_ended())))
    })
    .await
}

fn runtime_ended() -> DriverError {
    DriverError::Lost("the runtime of the driver has ended".to_owned())
}

#[cfg(test)]
mod tests {
    use tokio::runtime::{Builder, Runtime};

    use super::*;

    fn runtime() -> Runtime {
        Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
    }

    /// How many tasks of the runtime there are while the work runs, as its failure.
    async fn tasks_of(handle: Handle) -> Result<RawResult, DriverError> {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        Err(DriverError::Lost(handle.metrics().num_alive_tasks().to_string()))
    }

    fn said(outcome: Result<RawResult, DriverError>) -> String {
        match outcome {
            Err(DriverError::Lost(said)) => said,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn only_a_future_that_another_executor_polls_has_a_task_of_its_own() {
        let (own, other) = (runtime(), runtime());
        let handle = own.handle();
        assert_eq!(said(own.block_on(run_on(handle, Box::pin(tasks_of(handle.clone()))))), "0");
        assert_eq!(said(other.block_on(run_on(handle, Box::pin(tasks_of(handle.clone()))))), "1");
    }

    #[test]
    fn a_future_that_moves_to_another_executor_goes_on_within_its_runtime() {
        let (own, other) = (runtime(), runtime());
        let handle = own.handle().clone();
        let mut work =
            Box::pin(async move { run_on(&handle, Box::pin(tasks_of(handle.clone()))).await });
        own.block_on(poll_fn(|context| {
            assert!(work.as_mut().poll(context).is_pending());
            Poll::Ready(())
        }));
        assert_eq!(said(other.block_on(work)), "0");
    }

    #[test]
    fn a_panic_is_the_failure_of_the_work_alone() {
        let (own, other) = (runtime(), runtime());
        for polling in [&own, &other] {
            let outcome = polling
                .block_on(run_on(own.handle(), Box::pin(async { panic!("a driver fails") })));
            assert_eq!(said(outcome), said(Err(runtime_ended())));
        }
    }
}
