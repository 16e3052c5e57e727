//! Reading a ledger where nothing can be written: a read-only folder or mount.
//!
//! SQLite shares the index of a write-ahead log between processes, in a file beside the ledger, and
//! needs to create it even for reading. A file that nobody writes needs no such index in common. If
//! there is no write-ahead log, the file is opened as immutable. If there is one, it is read with
//! an index in this process's memory, for which SQLite must not lock the file: a read-only one
//! cannot be locked exclusively.

use std::fs::{File, TryLockError};
use std::path::Path;

use rusqlite::{Connection, OpenFlags};
use weaver_types::ledger::LedgerError;

use super::error_mapping::from_sql;
use super::lock::sibling_path;
use super::reader::SnapshotReader;

/// The variant of SQLite's file system that locks nothing.
const UNLOCKED_VFS: &str = if cfg!(windows) { "win32-none" } else { "unix-none" };

/// Opens the file as one that does not change. `None` where a writer may be changing it.
pub(super) fn open(path: &Path) -> Result<Option<SnapshotReader>, LedgerError> {
    if !path.is_file() || is_written(path) {
        return Ok(None);
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let has_log = std::fs::metadata(sibling_path(path, "-wal")).is_ok_and(|log| log.len() > 0);
    let opened = if has_log {
        Connection::open_with_flags_and_vfs(path, flags, UNLOCKED_VFS).and_then(|db| {
            db.pragma_update(None, "locking_mode", "exclusive")?;
            Ok(db)
        })
    } else {
        let flags = flags | OpenFlags::SQLITE_OPEN_URI;
        Connection::open_with_flags(format!("file:{}?immutable=1", uri_path(path)), flags)
    };
    SnapshotReader::new(opened.map_err(|error| from_sql(&error))?).map(Some)
}

/// Whether a process of this machine has the ledger open for writing, or this is not known.
fn is_written(path: &Path) -> bool {
    match File::open(sibling_path(path, ".lock")) {
        Ok(file) => match file.try_lock_shared() {
            Ok(()) => false,
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => true,
        },
        Err(error) => error.kind() != std::io::ErrorKind::NotFound,
    }
}

/// The path as it stands in a URI of SQLite, where `?`, `#` and `%` have a meaning.
fn uri_path(path: &Path) -> String {
    let mut uri = String::new();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' => {
                uri.push(char::from(*byte));
            }
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}
