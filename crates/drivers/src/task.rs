//! Work on the tokio runtime, for a future that any executor may poll.

use std::future::Future;

use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use weaver_agent_kernel::DriverError;
use weaver_types::RawResult;

/// Does the work on the runtime. It is abandoned with the future that waits for it.
pub(crate) async fn on(
    runtime: &Handle,
    work: impl Future<Output = Result<RawResult, DriverError>> + Send + 'static,
) -> Result<RawResult, DriverError> {
    let mut task = Task(runtime.spawn(work));
    match (&mut task.0).await {
        Ok(outcome) => outcome,
        Err(_) => Err(DriverError::Lost("the runtime of the driver has ended".to_owned())),
    }
}

struct Task(JoinHandle<Result<RawResult, DriverError>>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}
