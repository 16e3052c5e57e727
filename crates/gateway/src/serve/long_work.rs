//! Work that takes long, outside of the workers that serve clients.

use tokio::runtime::{Handle, RuntimeFlavor};

/// Does long work on this thread, whose other tasks go on in another: one client's large results,
/// or the schemas of one server's tools, do not keep the calls of others waiting.
pub(super) fn off_worker<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}
