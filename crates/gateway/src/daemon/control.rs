//! Controls a daemon from the command line: its status, its end, and access to its store.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use super::error::DaemonError;
use super::folder::DaemonFolder;
use super::hello::{DaemonStatus, Purpose, WelcomeOutcome};
use super::start::{DaemonCommand, DaemonConnection, connect, connect_or_start};
use crate::serve::AfterShutdown;

/// How long a daemon may take to end.
const STOP_TIMEOUT: Duration = Duration::from_secs(60);
/// How long it may hold the store after its last connection has ended.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(10);
/// The pause between attempts to take a lock.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The status of a store's daemon.
///
/// # Errors
/// [`DaemonError::NotRunning`], if there is none.
pub fn status(store: &Path) -> Result<DaemonStatus, DaemonError> {
    let connected = connect(&DaemonFolder::of_store(store), Purpose::Status)?;
    match connected.welcome.outcome {
        WelcomeOutcome::Status(status) => Ok(*status),
        _ => Err(DaemonError::connection("it did not tell its state")),
    }
}

/// Stops the daemon of a store once current requests are answered, and waits for its end.
///
/// # Errors
/// [`DaemonError::NotRunning`], if there is none.
pub fn stop(store: &Path, farewell: AfterShutdown) -> Result<(), DaemonError> {
    stop_in(&DaemonFolder::of_store(store), farewell)
}

/// Starts the daemon of a store unless one runs.
///
/// # Errors
/// [`DaemonError`], if it does not become ready.
pub fn ensure_running(store: &Path, command: &DaemonCommand) -> Result<(), DaemonError> {
    let deadline = Instant::now() + STOP_TIMEOUT;
    let folder = DaemonFolder::of_store(store);
    connect_or_start(&folder, command, &Purpose::Status, deadline).map(drop)
}

fn stop_in(folder: &DaemonFolder, farewell: AfterShutdown) -> Result<(), DaemonError> {
    let DaemonConnection { mut reader, .. } = connect(folder, Purpose::End(farewell))?;
    reader.get_ref().set_read_timeout(Some(STOP_TIMEOUT)).map_err(DaemonError::connection)?;
    // The connection ends with the daemon.
    match reader.read_to_end(&mut Vec::new()) {
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            return Err(DaemonError::connection("the daemon did not end in time"));
        }
        _ => {}
    }
    // Its connections end slightly before it releases the store, which another daemon may own by
    // then.
    let deadline = Instant::now() + RELEASE_TIMEOUT;
    while Instant::now() < deadline
        && folder.try_daemon_lock()?.is_none()
        && UnixStream::connect(folder.socket()).is_err()
    {
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

/// Exclusive access of a command to a daemon's store. Until it is dropped no daemon starts; clients
/// of the replaced daemon wait for the next one.
#[derive(Debug)]
pub struct StoreLoan {
    _locks: Option<[File; 2]>,
}

/// Stops the daemon of a store if one runs, and prevents others from starting.
///
/// # Errors
/// [`DaemonError`], if it does not end in time.
pub fn borrow_store(store: &Path) -> Result<StoreLoan, DaemonError> {
    let folder = DaemonFolder::of_store(store);
    if !folder.exists() {
        // No daemon has ever run here; one that starts now fails to take the ledger's lock.
        return Ok(StoreLoan { _locks: None });
    }
    folder.prepare()?;
    // Only the holder of this lock starts a daemon, so none starts while it is held.
    let start_lock = wait_for_lock(|| folder.try_start_lock())?;
    match stop_in(&folder, AfterShutdown::Restarting) {
        Ok(()) | Err(DaemonError::NotRunning) => {}
        Err(error) => return Err(error),
    }
    let daemon_lock = wait_for_lock(|| folder.try_daemon_lock())?;
    Ok(StoreLoan { _locks: Some([start_lock, daemon_lock]) })
}

/// Waits for a lock.
fn wait_for_lock(
    mut lock: impl FnMut() -> Result<Option<File>, DaemonError>,
) -> Result<File, DaemonError> {
    let deadline = Instant::now() + STOP_TIMEOUT;
    loop {
        if let Some(file) = lock()? {
            return Ok(file);
        }
        if Instant::now() >= deadline {
            return Err(DaemonError::connection("the daemon did not end in time"));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}
