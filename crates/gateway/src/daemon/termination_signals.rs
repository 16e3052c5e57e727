//! The signals that end a daemon, or make it read its configuration again.

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};
#[cfg(windows)]
use tokio::signal::windows::{self, CtrlBreak, CtrlC, CtrlClose, CtrlLogoff, CtrlShutdown};

use super::error::DaemonError;

/// The signals that end the process, watched from its first gateway to its last: SIGTERM and SIGINT,
/// or the control events of a console.
///
/// Once a signal is watched, the system no longer ends the process by itself. So a signal that comes
/// while nobody waits for one, for instance between two gateways, is remembered.
#[derive(Debug)]
pub(super) struct TerminationSignals {
    source: SignalSource,
    received: bool,
}

impl TerminationSignals {
    /// Watches the signals from now on. Needs a runtime, but outlives it.
    ///
    /// # Errors
    /// [`DaemonError::Connection`], if they cannot be watched.
    pub(super) fn watch() -> Result<Self, DaemonError> {
        Ok(Self { source: SignalSource::watch()?, received: false })
    }

    /// Waits for a signal. Returns at once if one has been received.
    pub(super) async fn received(&mut self) {
        if !self.received {
            self.source.received().await;
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

#[cfg(unix)]
#[derive(Debug)]
struct SignalSource {
    terminated: Signal,
    interrupted: Signal,
}

#[cfg(unix)]
impl SignalSource {
    fn watch() -> Result<Self, DaemonError> {
        let watch = |kind| signal(kind).map_err(DaemonError::connection);
        Ok(Self {
            terminated: watch(SignalKind::terminate())?,
            interrupted: watch(SignalKind::interrupt())?,
        })
    }

    async fn received(&mut self) {
        tokio::select! {
            _ = self.terminated.recv() => {}
            _ = self.interrupted.recv() => {}
        }
    }
}

/// A detached process has no console, and gets none of these; `weaver stop` ends it.
#[cfg(windows)]
#[derive(Debug)]
struct SignalSource {
    interrupted: CtrlC,
    broken_off: CtrlBreak,
    closed: CtrlClose,
    logged_off: CtrlLogoff,
    shut_down: CtrlShutdown,
}

#[cfg(windows)]
impl SignalSource {
    fn watch() -> Result<Self, DaemonError> {
        Ok(Self {
            interrupted: windows::ctrl_c().map_err(DaemonError::connection)?,
            broken_off: windows::ctrl_break().map_err(DaemonError::connection)?,
            closed: windows::ctrl_close().map_err(DaemonError::connection)?,
            logged_off: windows::ctrl_logoff().map_err(DaemonError::connection)?,
            shut_down: windows::ctrl_shutdown().map_err(DaemonError::connection)?,
        })
    }

    async fn received(&mut self) {
        tokio::select! {
            _ = self.interrupted.recv() => {}
            _ = self.broken_off.recv() => {}
            _ = self.closed.recv() => {}
            _ = self.logged_off.recv() => {}
            _ = self.shut_down.recv() => {}
        }
    }
}

/// The signal to read the configuration again: SIGHUP. Windows has none.
pub(super) struct HangUpSignal {
    #[cfg(unix)]
    signal: Signal,
}

impl HangUpSignal {
    /// Watches it from now on. Needs a runtime.
    ///
    /// # Errors
    /// [`DaemonError::Connection`], if it cannot be watched.
    pub(super) fn watch() -> Result<Self, DaemonError> {
        Ok(Self {
            #[cfg(unix)]
            signal: signal(SignalKind::hangup()).map_err(DaemonError::connection)?,
        })
    }

    /// Waits for it.
    pub(super) async fn received(&mut self) {
        #[cfg(unix)]
        let _ = self.signal.recv().await;
        #[cfg(not(unix))]
        std::future::pending::<()>().await;
    }
}
