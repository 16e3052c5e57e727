//! The lock file next to the ledger, which names the writing process.

use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use weaver_types::Timestamp;
use weaver_types::ledger::LedgerError;

use super::error_mapping;

/// The most bytes that are read from a lock file.
const MAX_HOLDER: u64 = 512;

/// An exclusive lock on `<path>.lock`, which names its holder. The system releases it when the
/// process ends for any reason. The file is never deleted: otherwise two processes could lock two
/// different files of the same name.
#[derive(Debug)]
pub(super) struct LedgerLock {
    file: File,
}

impl Drop for LedgerLock {
    /// Clears the holder's name, so that a process that is refused later does not read a stale one,
    /// and unlocks explicitly. Closing the file would not be enough: a child process that is just
    /// being started holds a copy of the descriptor until it executes its own program, and would
    /// keep the lock.
    fn drop(&mut self) {
        let _ = self.file.set_len(0);
        let _ = self.file.unlock();
    }
}

impl LedgerLock {
    /// Takes the lock of the ledger at `path`.
    pub(super) fn take(path: &Path, holder: &str, since: Timestamp) -> Result<Self, LedgerError> {
        let lock_path = sibling_path(path, ".lock");
        let mut file = options()
            .open(&lock_path)
            .map_err(|error| error_mapping::from_io("cannot open the lock", &lock_path, &error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let path = path.display().to_string();
                return Err(LedgerError::Locked { path, holder: read_holder(&mut file) });
            }
            Err(TryLockError::Error(error)) => {
                return Err(error_mapping::from_io("cannot lock", &lock_path, &error));
            }
        }
        let text = format!("process {} ({}) since {since}\n", std::process::id(), one_line(holder));
        file.set_len(0)
            .and_then(|()| file.seek(SeekFrom::Start(0)))
            .and_then(|_| file.write_all(text.as_bytes()))
            .map_err(|error| error_mapping::from_io("cannot write the lock", &lock_path, &error))?;
        Ok(Self { file })
    }
}

/// `path` with a suffix appended to its file name.
pub(super) fn sibling_path(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

/// Options to open a file for reading and writing; creates it for this user only.
pub(super) fn options() -> std::fs::OpenOptions {
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn read_holder(file: &mut File) -> String {
    let mut bytes = Vec::new();
    let read = file.take(MAX_HOLDER).read_to_end(&mut bytes);
    let text = one_line(String::from_utf8_lossy(&bytes).trim());
    if read.is_err() || text.is_empty() { "another process".to_owned() } else { text }
}

fn one_line(text: &str) -> String {
    text.escape_debug().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_in_a_process_that_is_being_started_does_not_keep_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.db");
        let take = || LedgerLock::take(&path, "test", Timestamp::default());
        let lock = take().unwrap();
        let copy = lock.file.try_clone().unwrap();
        assert!(matches!(take(), Err(LedgerError::Locked { .. })));
        drop(lock);
        assert!(take().is_ok());
        drop(copy);
    }
}
