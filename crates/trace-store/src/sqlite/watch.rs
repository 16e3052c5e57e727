//! Whether the files that are written are still those of their names.
//!
//! A file that was removed or replaced goes on taking writes and syncs, and nobody will ever find
//! them again. The lock says who writes only as long as it is the one lock of its name.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use weaver_types::ledger::LedgerError;

use super::aliases;
use super::lock::beside;

/// How long a look holds for commits that are not synced, and for how many bytes of them. They
/// survive the end of the process, not the loss of a file.
const LOOK: Duration = Duration::from_millis(100);
const LOOK_BYTES: usize = 1024 * 1024;

/// The files of a ledger, as they were when it was opened.
pub(super) struct FileWatch {
    files: Vec<(PathBuf, Identity)>,
    log: PathBuf,
    last: Option<LastLook>,
}

/// What was seen when the files were looked at last.
struct LastLook {
    at: Instant,
    /// Bytes of the write-ahead log.
    log: u64,
    /// Bytes that were written since.
    written: usize,
}

impl FileWatch {
    /// Watches the ledger at `path`, its write-ahead log, its shared memory and its lock. All four
    /// must be there.
    pub(super) fn begin(path: &Path) -> Result<Self, LedgerError> {
        Self::of(path, &["", "-wal", "-shm", ".lock"])
    }

    /// Watches a file of records, which has no lock.
    pub(super) fn records(path: &Path) -> Result<Self, LedgerError> {
        Self::of(path, &["", "-wal", "-shm"])
    }

    fn of(path: &Path, suffixes: &[&str]) -> Result<Self, LedgerError> {
        let names = suffixes.iter().map(|suffix| beside(path, suffix));
        let files = names.map(|name| {
            let found = look(&name)?;
            Ok((name, found.0))
        });
        let files = files.collect::<Result<_, LedgerError>>()?;
        Ok(Self { files, log: beside(path, "-wal"), last: None })
    }

    /// The ledger.
    pub(super) fn ledger(&self) -> &Path {
        self.files.first().map_or(self.log.as_path(), |(name, _)| name)
    }

    /// Looks whether the files are still the same, under one name each, and gives the bytes of the
    /// write-ahead log.
    pub(super) fn check(&mut self) -> Result<u64, LedgerError> {
        let mut length = 0;
        for (name, identity) in &self.files {
            let (found, bytes) = look(name)?;
            if found != *identity {
                return Err(gone(name, "another file has its name now"));
            }
            if *name == self.log {
                length = bytes;
            }
        }
        self.last = Some(LastLook { at: Instant::now(), log: length, written: 0 });
        Ok(length)
    }

    /// The same by time and not by commit, after `written` bytes that are not synced.
    pub(super) fn check_by_time(&mut self, written: usize) -> Result<u64, LedgerError> {
        if let Some(last) = &mut self.last {
            last.written = last.written.saturating_add(written);
            if last.written < LOOK_BYTES && last.at.elapsed() < LOOK {
                return Ok(last.log);
            }
        }
        self.check()
    }
}

fn look(name: &Path) -> Result<(Identity, u64), LedgerError> {
    let metadata = std::fs::metadata(name).map_err(|error| gone(name, error))?;
    aliases::refuse_hard_links(name, &metadata)?;
    Ok((identity(&metadata), metadata.len()))
}

fn gone(name: &Path, why: impl std::fmt::Display) -> LedgerError {
    LedgerError::Failed(format!(
        "{} was removed or replaced while it was in use ({why}); what was written last may be lost, \
         put the files of one backup there, all or none",
        name.display()
    ))
}

/// Device and number of a file. Elsewhere than on Unix only its being there is looked at: an open
/// file cannot be removed or replaced on Windows.
#[cfg(unix)]
type Identity = (u64, u64);
#[cfg(unix)]
fn identity(metadata: &std::fs::Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

#[cfg(not(unix))]
type Identity = ();
#[cfg(not(unix))]
fn identity(_: &std::fs::Metadata) -> Identity {}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(folder: &Path) -> PathBuf {
        let path = folder.join("ledger.db");
        for suffix in ["", "-wal", "-shm", ".lock"] {
            std::fs::write(beside(&path, suffix), "x").unwrap();
        }
        path
    }

    #[test]
    fn each_file_must_be_there_and_stay_the_same() {
        for suffix in ["", "-wal", "-shm", ".lock"] {
            let folder = tempfile::tempdir().unwrap();
            let path = files(folder.path());
            let name = beside(&path, suffix);
            let mut watch = FileWatch::begin(&path).unwrap();
            std::fs::write(beside(&path, "-wal"), "four").unwrap();
            assert_eq!(watch.check(), Ok(4), "the bytes of the write-ahead log");
            assert_eq!(watch.ledger(), path);
            let moved = folder.path().join("moved");
            std::fs::rename(&name, &moved).unwrap();
            assert!(watch.check().unwrap_err().to_string().contains("was removed or replaced"));
            std::fs::write(&name, "x").unwrap();
            let said = watch.check().unwrap_err().to_string();
            assert!(said.contains("another file has its name now"), "{said}");
            std::fs::remove_file(&name).unwrap();
            assert!(FileWatch::begin(&path).is_err(), "{suffix}");
            assert_eq!(FileWatch::records(&path).is_ok(), suffix == ".lock", "{suffix}");
        }
    }

    #[test]
    fn so_many_bytes_ask_for_a_look_whenever_the_last_one_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = files(folder.path());
        let mut watch = FileWatch::begin(&path).unwrap();
        assert_eq!(watch.check_by_time(0), Ok(1), "the first look");
        std::fs::write(beside(&path, "-wal"), "four").unwrap();
        assert_eq!(watch.check_by_time(LOOK_BYTES), Ok(4));
        std::fs::write(beside(&path, "-wal"), "three").unwrap();
        let _ = watch.check_by_time(LOOK_BYTES / 2);
        assert_eq!(watch.check_by_time(LOOK_BYTES / 2), Ok(5), "both count");
        std::thread::sleep(LOOK);
        std::fs::write(beside(&path, "-wal"), "seven77").unwrap();
        assert_eq!(watch.check_by_time(0), Ok(7), "it is long ago");
    }
}
