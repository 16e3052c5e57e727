//! Controls a daemon from the command line: its status, its end, and access to its store.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::Path;
use std::time::{Duration, Instant};

use super::error::DaemonError;
use super::folder::DaemonFolder;
use super::hello::{DaemonStatus, Purpose, WelcomeOutcome};
use super::start::{DaemonCommand, DaemonConnection, connect, connect_or_start};
use super::transport::{ClientInput as _, SystemTransport, Transport as _};
use crate::serve::AfterShutdown;

/// How long a daemon may take to end.
const STOP_TIMEOUT: Duration = Duration::from_secs(60);
/// How long it may hold the store after its last connection has ended.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a daemon that lent its store may take to claim it again.
const RETURN_TIMEOUT: Duration = Duration::from_secs(5);
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

/// Makes the daemon of a store start the installed program in its own process once current requests
/// are answered, and waits until that one answers. For a daemon that a service manager, a container
/// or a terminal started, and watches.
///
/// # Errors
/// [`DaemonError::NotRunning`], if there is none; [`DaemonError::Start`], if it does not return.
pub fn restart(store: &Path) -> Result<(), DaemonError> {
    let folder = DaemonFolder::of_store(store);
    // Clients wait for it meanwhile, and start no other one.
    let _start = wait_for_lock(|| folder.try_start_lock())?;
    wait_for_end(connect(&folder, Purpose::Restart)?)?;
    let deadline = Instant::now() + STOP_TIMEOUT;
    loop {
        match connect(&folder, Purpose::Status) {
            Err(DaemonError::NotRunning) if Instant::now() < deadline => {
                std::thread::sleep(POLL_INTERVAL);
            }
            Err(DaemonError::NotRunning) => {
                let problem = "it has ended, and did not return".to_owned();
                return Err(DaemonError::Start { problem, log: folder.log() });
            }
            answered => return answered.map(drop),
        }
    }
}

fn stop_in(folder: &DaemonFolder, farewell: AfterShutdown) -> Result<(), DaemonError> {
    wait_for_end(connect(folder, Purpose::End(farewell))?)?;
    // Its connections end slightly before it releases the store, which another daemon may own by
    // then.
    let deadline = Instant::now() + RELEASE_TIMEOUT;
    while Instant::now() < deadline
        && folder.try_daemon_lock()?.is_none()
        && !SystemTransport::is_answered(folder)
    {
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

/// Waits for the end of a daemon's connection, which ends with the daemon.
fn wait_for_end(mut connection: DaemonConnection) -> Result<(), DaemonError> {
    let stream = connection.reader.get_mut();
    stream.set_timeout(STOP_TIMEOUT).map_err(DaemonError::connection)?;
    match connection.reader.read_to_end(&mut Vec::new()) {
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            Err(DaemonError::connection("the daemon did not end in time"))
        }
        _ => Ok(()),
    }
}

/// Exclusive access of a command to a daemon's store. Until it is dropped no daemon starts; clients
/// wait for the daemon that comes then: the same one, or the next if a client had started it.
#[derive(Debug)]
pub struct StoreLoan {
    _locks: Option<LoanLocks>,
}

#[derive(Debug)]
struct LoanLocks {
    folder: DaemonFolder,
    /// Only the holder of this lock starts a daemon.
    _start: File,
    /// Held from before the daemon is asked until its lock is free again.
    loan: Option<File>,
    daemon: Option<File>,
    /// Whether the daemon that lent the store takes it back.
    is_lent: bool,
}

impl Drop for LoanLocks {
    /// Gives the store back before others may start a daemon.
    fn drop(&mut self) {
        self.daemon = None;
        self.loan = None;
        let deadline = Instant::now() + RETURN_TIMEOUT;
        while self.is_lent
            && Instant::now() < deadline
            && matches!(self.folder.try_daemon_lock(), Ok(Some(_)))
        {
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}

/// Makes the daemon of a store release it, if one runs, and prevents others from starting.
///
/// # Errors
/// [`DaemonError`], if it does not release it in time.
pub fn borrow_store(store: &Path) -> Result<StoreLoan, DaemonError> {
    let folder = DaemonFolder::of_store(store);
    if !folder.exists() {
        // No daemon has ever run here; one that starts now fails to take the ledger's lock.
        return Ok(StoreLoan { _locks: None });
    }
    folder.prepare()?;
    let start = wait_for_lock(|| folder.try_start_lock())?;
    let loan = wait_for_lock(|| folder.try_loan_lock())?;
    let is_lent = match connect(&folder, Purpose::Borrow) {
        Ok(connection) => {
            let is_lent = matches!(connection.welcome.outcome, WelcomeOutcome::Lending);
            wait_for_end(connection)?;
            is_lent
        }
        Err(DaemonError::NotRunning) => false,
        Err(error) => return Err(error),
    };
    let daemon = wait_for_lock(|| folder.try_daemon_lock())?;
    let locks =
        LoanLocks { folder, _start: start, loan: Some(loan), daemon: Some(daemon), is_lent };
    Ok(StoreLoan { _locks: Some(locks) })
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
