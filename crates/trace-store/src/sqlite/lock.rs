//! The lock beside the ledger: who writes it.

use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use weaver_types::Timestamp;
use weaver_types::ledger::LedgerError;

use super::fault;

/// The most that is read of a lock file.
const MAX_HOLDER: u64 = 512;

/// An exclusive lock on `<path>.lock`, which names its holder. The system frees it when the
/// process ends, however it ends. The file stays: removing it would let two processes lock two
/// files of the same name.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

impl Drop for Lock {
    /// Leaves no name behind that the next one to be refused might read too early. Closing the file
    /// would not be enough: a process that is just being started has a copy of it until it runs its
    /// own program, and the lock would stay for as long.
    fn drop(&mut self) {
        let _ = self.file.set_len(0);
        let _ = self.file.unlock();
    }
}

impl Lock {
    /// Takes the lock of the ledger at `path`.
    pub(super) fn take(path: &Path, holder: &str, since: Timestamp) -> Result<Self, LedgerError> {
        let place = beside(path, ".lock");
        let mut file = options()
            .open(&place)
            .map_err(|error| fault::from_io("cannot open the lock", &place, &error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let path = path.display().to_string();
                return Err(LedgerError::Locked { path, holder: who(&mut file) });
            }
            Err(TryLockError::Error(error)) => {
                return Err(fault::from_io("cannot lock", &place, &error));
            }
        }
        let text = format!("process {} ({}) since {since}\n", std::process::id(), one_line(holder));
        file.set_len(0)
            .and_then(|()| file.seek(SeekFrom::Start(0)))
            .and_then(|_| file.write_all(text.as_bytes()))
            .map_err(|error| fault::from_io("cannot write the lock", &place, &error))?;
        Ok(Self { file })
    }
}

/// `path` with `suffix` added to its name.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

/// Opens for reading and writing, for this user alone, and makes the file when there is none.
pub(super) fn options() -> std::fs::OpenOptions {
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn who(file: &mut File) -> String {
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
        let take = || Lock::take(&path, "test", Timestamp::default());
        let lock = take().unwrap();
        let copy = lock.file.try_clone().unwrap();
        assert!(matches!(take(), Err(LedgerError::Locked { .. })));
        drop(lock);
        assert!(take().is_ok());
        drop(copy);
    }
}
