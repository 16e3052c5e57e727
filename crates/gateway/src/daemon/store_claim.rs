//! The claim of a daemon to its store.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use super::error::DaemonError;
use super::folder::DaemonFolder;
use super::termination_signals::TerminationSignals;
use super::transport::{InheritedListener, SystemTransport, Transport as _};
use super::{DRAIN_TIMEOUT, FINAL_WRITES_TIMEOUT};

/// How often a daemon checks whether the store that it lent is free again.
const LOAN_POLL_INTERVAL: Duration = Duration::from_millis(2);

/// The exclusive claim of a daemon to a store, held until dropped.
#[derive(Debug)]
pub(super) struct StoreClaim {
    folder: DaemonFolder,
    /// The socket passed by a service manager.
    inherited: Option<InheritedListener>,
    /// `None` while a command borrows the store.
    daemon_lock: Option<File>,
}

impl StoreClaim {
    /// Claims a store for a daemon. Waits for a daemon that is about to end.
    ///
    /// # Errors
    /// [`DaemonError`], if another daemon owns the store, or its folder cannot be used.
    pub(super) fn of_store(store: &Path) -> Result<Self, DaemonError> {
        let folder = DaemonFolder::of_store(store);
        folder.prepare()?;
        let inherited = SystemTransport::take_over(&folder)?;
        let daemon_lock = wait_for_daemon_lock(&folder, inherited.is_some())?;
        Ok(Self { folder, inherited, daemon_lock: Some(daemon_lock) })
    }

    /// Whether this is the claim to `store`.
    pub(super) fn is_of(&self, store: &Path) -> bool {
        self.folder == DaemonFolder::of_store(store)
    }

    /// Lends the store to the command that asked for it, and claims it again afterwards. False if a
    /// signal ends the daemon meanwhile.
    pub(super) async fn lend(
        &mut self,
        signals: &mut TerminationSignals,
    ) -> Result<bool, DaemonError> {
        self.daemon_lock = None;
        loop {
            // However short the loan is: the command has held this lock since before it asked.
            if self.folder.try_loan_lock()?.is_some()
                && let Some(lock) = self.folder.try_daemon_lock()?
            {
                self.daemon_lock = Some(lock);
                return Ok(true);
            }
            if self.inherited.is_none() && SystemTransport::is_answered(&self.folder) {
                return Err(DaemonError::Running);
            }
            tokio::select! {
                () = signals.received() => return Ok(false),
                () = tokio::time::sleep(LOAN_POLL_INTERVAL) => {}
            }
        }
    }

    pub(super) fn folder(&self) -> &DaemonFolder {
        &self.folder
    }

    /// Whether a service manager passed the socket.
    pub(super) fn has_inherited_socket(&self) -> bool {
        self.inherited.is_some()
    }

    /// The socket passed by a service manager.
    pub(super) fn inherited(&self) -> Option<&InheritedListener> {
        self.inherited.as_ref()
    }
}

/// Takes the lock of the store's daemon. Waits for a daemon that is about to end, but not for one
/// that accepts connections. If this process inherited the socket, nobody else accepts connections
/// there, so the lock holder has lost its address and is about to end.
fn wait_for_daemon_lock(
    folder: &DaemonFolder,
    has_inherited_socket: bool,
) -> Result<File, DaemonError> {
    let deadline = Instant::now() + DRAIN_TIMEOUT + FINAL_WRITES_TIMEOUT;
    loop {
        if let Some(lock) = folder.try_daemon_lock()? {
            return Ok(lock);
        }
        let taken = !has_inherited_socket && SystemTransport::is_answered(folder);
        if taken || Instant::now() >= deadline {
            return Err(DaemonError::Running);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}
