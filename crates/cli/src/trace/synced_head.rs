//! Reads the head of a log that is synced to disk, in a process that does not write the ledger.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use weaver_trace_store::Reader;
use weaver_trace_store::verify::LogProver as _;
use weaver_types::ledger::{LedgerError, TreeHead};

use crate::{Exit, Failure};

/// The committed head, after this process has synced everything that it covers, because signed
/// events must not be lost. Needs no lock, so it works while a gateway runs.
pub(super) fn synced_head(store: &Path) -> Result<(Reader, TreeHead), Failure> {
    let failed = |error: LedgerError| Failure::store(store, &error);
    // The reader is closed first: with POSIX locks, closing any other handle of the file would drop
    // its locks.
    let head = super::open_ledger(store)?.head().map_err(failed)?;
    sync_ledger(store).map_err(|error| {
        let message = format!("{}: it cannot be synced to disk: {error}", store.display());
        Failure::new(Exit::Store, "trace.sync", message)
            .with_next_step("nothing was signed; run this as the user who writes the ledger")
    })?;
    let reader = super::open_ledger(store)?;
    if reader.root(head.size).map_err(failed)? != *head.root.as_bytes() {
        let message = format!("{}: the log is not the one of a moment ago", store.display());
        return Err(Failure::new(Exit::Failed, "trace.moved", message)
            .with_next_step("nothing was signed; run `weaver trace verify`"));
    }
    Ok((reader, head))
}

/// Syncs the write-ahead log, then the database file. SQLite syncs a commit in the log before it
/// moves it to the file, so this order misses nothing.
fn sync_ledger(store: &Path) -> io::Result<()> {
    let store = store.canonicalize()?;
    let mut log = store.clone().into_os_string();
    log.push("-wal");
    match open_read_write(&PathBuf::from(log)) {
        Ok(log) => log.sync_all()?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    open_read_write(&store)?.sync_all()?;
    match store.parent().filter(|_| cfg!(unix)) {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

fn open_read_write(path: &Path) -> io::Result<File> {
    File::options().read(true).write(true).open(path)
}
