//! Work that takes long, outside of the workers that serve clients.

use std::thread;

use tokio::runtime::{Handle, RuntimeFlavor};

/// Does long work on this thread, whose other tasks go on in another: one client's large results,
/// or the schemas of one server's tools, do not keep the calls of others waiting.
pub(super) fn off_worker<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}

/// The same on a thread of its own, which ends with the work: what it allocated for the moment goes
/// back to the system, and does not stay with each thread that ever did such work.
pub(super) fn on_own_thread(work: &mut (dyn FnMut() + Send)) {
    off_worker(|| {
        thread::scope(|scope| {
            let worker = thread::Builder::new().name("weaver-long-work".to_owned());
            match worker.spawn_scoped(scope, &mut *work) {
                Ok(running) => {
                    if let Err(panic) = running.join() {
                        std::panic::resume_unwind(panic);
                    }
                }
                Err(error) => tracing::error!(%error, "no thread for a large result"),
            }
        });
    });
}
