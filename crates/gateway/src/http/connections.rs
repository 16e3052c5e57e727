//! The connections of clients over HTTP, as far as their ends go.

use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// The connections of one gateway. They close in two steps: first nothing new is accepted, and
/// when all requests have run, each connection ends with the answers that it still carries.
#[derive(Debug)]
pub(crate) struct HttpConnections {
    /// Cancelled when nothing new is accepted.
    pub(crate) closing: CancellationToken,
    /// Cancelled when only answers are still sent.
    pub(super) ending: CancellationToken,
    /// Each connection holds a receiver.
    open: watch::Sender<()>,
}

impl Default for HttpConnections {
    fn default() -> Self {
        let open = watch::Sender::new(());
        Self { closing: CancellationToken::new(), ending: CancellationToken::new(), open }
    }
}

impl HttpConnections {
    /// Counts a connection until the returned guard is dropped.
    pub(super) fn begin(&self) -> watch::Receiver<()> {
        self.open.subscribe()
    }

    /// Ends every connection with its last answer; false when some are left after `patience`.
    pub(crate) async fn end(&self, patience: Duration) -> bool {
        self.ending.cancel();
        tokio::time::timeout(patience, self.open.closed()).await.is_ok()
    }
}
