//! The signals that end a daemon.

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::error::DaemonError;

/// The signals that end the process, SIGTERM and SIGINT, watched from its first gateway to its last.
///
/// Once a signal is watched, the system no longer ends the process by itself. So a signal that comes
/// while nobody waits for one, for instance between two gateways, is remembered.
#[derive(Debug)]
pub(super) struct TerminationSignals {
    terminated: Signal,
    interrupted: Signal,
    received: bool,
}

impl TerminationSignals {
    /// Watches the signals from now on. Needs a runtime, but outlives it.
    ///
    /// # Errors
    /// [`DaemonError::Connection`], if they cannot be watched.
    pub(super) fn watch() -> Result<Self, DaemonError> {
        let watch = |kind| signal(kind).map_err(DaemonError::connection);
        Ok(Self {
            terminated: watch(SignalKind::terminate())?,
            interrupted: watch(SignalKind::interrupt())?,
            received: false,
        })
    }

    /// Waits for a signal. Returns at once if one has been received.
    pub(super) async fn received(&mut self) {
        if !self.received {
            tokio::select! {
                _ = self.terminated.recv() => {}
                _ = self.interrupted.recv() => {}
            }
            self.received = true;
        }
    }

    /// Whether one has been received so far.
    pub(super) async fn have_been_received(&mut self) -> bool {
        tokio::select! {
            biased;
            () = self.received() => true,
            () = std::future::ready(()) => false,
        }
    }
}
