//! The head that is synced to disk, seen by a process that does not write the ledger.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use weaver_trace_store::Reader;
use weaver_trace_store::verify::Prove as _;
use weaver_types::ledger::{Head, LedgerError};

use crate::{Exit, Failure};

/// The committed head, after all it rests on was synced by this process: what is signed must not be
/// lost. It needs no lock, so it works beside a running gateway.
pub(super) fn head(store: &Path) -> Result<(Reader, Head), Failure> {
    let failed = |error: LedgerError| Failure::store(store, &error);
    // The reader is closed first: closing a second handle of the file would take away its locks.
    let head = super::open(store)?.head().map_err(failed)?;
    sync(store).map_err(|error| {
        let message = format!("{}: it cannot be synced to disk: {error}", store.display());
        Failure::new(Exit::Store, "trace.sync", message)
            .next("nothing was signed; run this as the user who writes the ledger")
    })?;
    let reader = super::open(store)?;
    if reader.root(head.size).map_err(failed)? != *head.root.as_bytes() {
        let message = format!("{}: the log is not the one of a moment ago", store.display());
        return Err(Failure::new(Exit::Failed, "trace.moved", message)
            .next("nothing was signed; run `weaver trace verify`"));
    }
    Ok((reader, head))
}

/// Syncs the write-ahead log, then the file: what was committed stands in one of the two, and is
/// synced in the first before it is moved to the second.
fn sync(store: &Path) -> io::Result<()> {
    let store = store.canonicalize()?;
    let mut log = store.clone().into_os_string();
    log.push("-wal");
    match open(&PathBuf::from(log)) {
        Ok(log) => log.sync_all()?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    open(&store)?.sync_all()?;
    match store.parent().filter(|_| cfg!(unix)) {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

fn open(path: &Path) -> io::Result<File> {
    File::options().read(true).write(true).open(path)
}
