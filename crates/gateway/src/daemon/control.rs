//! What the command line asks of a daemon: its state, its end, and the store for a while.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use super::error::DaemonError;
use super::folder::DaemonFolder;
use super::hello::{DaemonStatus, Outcome, Purpose};
use super::start::{DaemonCommand, DaemonConnection, connect, connect_or_start};
use crate::serve::Farewell;

/// How long a daemon may take to end.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long it may take after its last connection has ended.
const LETTING_GO: Duration = Duration::from_secs(10);
/// The pause between two looks at locks of others.
const PAUSE: Duration = Duration::from_millis(10);

/// What an operator sees of the daemon of a store.
///
/// # Errors
/// [`DaemonError::NotRunning`], when there is none.
pub fn status(store: &Path) -> Result<DaemonStatus, DaemonError> {
    let connected = connect(&DaemonFolder::of_store(store), Purpose::Status)?;
    match connected.welcome.outcome {
        Outcome::Status(status) => Ok(*status),
        _ => Err(DaemonError::connection("it did not tell its state")),
    }
}

/// Ends the daemon of a store, once what is under way is answered, and waits until it has ended.
///
/// # Errors
/// [`DaemonError::NotRunning`], when there is none.
pub fn end(store: &Path, farewell: Farewell) -> Result<(), DaemonError> {
    end_in(&DaemonFolder::of_store(store), farewell)
}

/// Starts the daemon of a store, where none runs.
///
/// # Errors
/// [`DaemonError`], when it does not get ready.
pub fn ensure(store: &Path, command: &DaemonCommand) -> Result<(), DaemonError> {
    let deadline = Instant::now() + PATIENCE;
    let folder = DaemonFolder::of_store(store);
    connect_or_start(&folder, command, &Purpose::Status, deadline).map(drop)
}

fn end_in(folder: &DaemonFolder, farewell: Farewell) -> Result<(), DaemonError> {
    let DaemonConnection { mut reader, .. } = connect(folder, Purpose::End(farewell))?;
    reader.get_ref().set_read_timeout(Some(PATIENCE)).map_err(DaemonError::connection)?;
    // The connection ends with the daemon.
    match reader.read_to_end(&mut Vec::new()) {
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            return Err(DaemonError::connection("the daemon did not end in time"));
        }
        _ => {}
    }
    // Its connections end a moment before it lets go of the store. Another one may have that by now.
    let deadline = Instant::now() + LETTING_GO;
    while Instant::now() < deadline
        && folder.lock_for_life()?.is_none()
        && UnixStream::connect(folder.socket()).is_err()
    {
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

/// The store of a daemon, lent to a command that writes it. Until it is dropped no daemon starts;
/// clients of the one that made way wait for the next.
#[derive(Debug)]
pub struct StoreLoan {
    _locks: Option<[File; 2]>,
}

/// Has the daemon of a store make way, where one runs, and keeps others from starting meanwhile.
///
/// # Errors
/// [`DaemonError`], when it does not end in time.
pub fn borrow_store(store: &Path) -> Result<StoreLoan, DaemonError> {
    let folder = DaemonFolder::of_store(store);
    if !folder.exists() {
        // No daemon was ever here. One that starts now finds the ledger's own lock taken.
        return Ok(StoreLoan { _locks: None });
    }
    folder.prepare()?;
    // Whoever has this lock starts the next daemon: nobody does while it is held here.
    let start = wait_for(|| folder.lock_for_start())?;
    match end_in(&folder, Farewell::Restarting) {
        Ok(()) | Err(DaemonError::NotRunning) => {}
        Err(error) => return Err(error),
    }
    let life = wait_for(|| folder.lock_for_life())?;
    Ok(StoreLoan { _locks: Some([start, life]) })
}

/// Waits for a lock.
fn wait_for(
    mut lock: impl FnMut() -> Result<Option<File>, DaemonError>,
) -> Result<File, DaemonError> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(file) = lock()? {
            return Ok(file);
        }
        if Instant::now() >= deadline {
            return Err(DaemonError::connection("the daemon did not end in time"));
        }
        std::thread::sleep(PAUSE);
    }
}
