//! Checks that the open files still have their names.
//!
//! A file that was removed or replaced continues to accept writes and syncs, but nobody will ever
//! find them again. And the lock names the writer only as long as it is the only lock of that name.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use weaver_types::ledger::LedgerError;

use super::aliases;
use super::lock::sibling_path;

/// How long a check stays valid for commits that are not synced, and for how many bytes of them.
/// Such commits survive the end of the process, but not the loss of a file.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);
const CHECK_BYTES: usize = 1024 * 1024;

/// The files of a ledger, as they were on opening.
pub(super) struct FileWatch {
    files: Vec<(PathBuf, FileId)>,
    wal: PathBuf,
    last: Option<LastCheck>,
}

/// The result of the last check.
struct LastCheck {
    at: Instant,
    /// The size of the write-ahead log in bytes.
    wal_bytes: u64,
    /// Bytes written since.
    written: usize,
}

impl FileWatch {
    /// Watches the ledger at `path`, its write-ahead log, its shared memory and its lock. All four
    /// must exist.
    pub(super) fn begin(path: &Path) -> Result<Self, LedgerError> {
        Self::of(path, &["", "-wal", "-shm", ".lock"])
    }

    /// Watches a record file, which has no lock.
    pub(super) fn records(path: &Path) -> Result<Self, LedgerError> {
        Self::of(path, &["", "-wal", "-shm"])
    }

    fn of(path: &Path, suffixes: &[&str]) -> Result<Self, LedgerError> {
        let names = suffixes.iter().map(|suffix| sibling_path(path, suffix));
        let files = names.map(|name| {
            let found = identify(&name)?;
            Ok((name, found.0))
        });
        let files = files.collect::<Result<_, LedgerError>>()?;
        Ok(Self { files, wal: sibling_path(path, "-wal"), last: None })
    }

    /// The path of the ledger.
    pub(super) fn ledger(&self) -> &Path {
        self.files.first().map_or(self.wal.as_path(), |(name, _)| name)
    }

    /// Checks that the files are unchanged and have a single name each, and returns the size of the
    /// write-ahead log.
    pub(super) fn check(&mut self) -> Result<u64, LedgerError> {
        let mut length = 0;
        for (name, identity) in &self.files {
            let (found, bytes) = identify(name)?;
            if found != *identity {
                return Err(replaced_error(name, "another file has its name now"));
            }
            if *name == self.wal {
                length = bytes;
            }
        }
        self.last = Some(LastCheck { at: Instant::now(), wal_bytes: length, written: 0 });
        Ok(length)
    }

    /// As [`FileWatch::check`], but limited by time and size instead of once per commit; `written`
    /// bytes were written without a sync.
    pub(super) fn check_by_time(&mut self, written: usize) -> Result<u64, LedgerError> {
        if let Some(last) = &mut self.last {
            last.written = last.written.saturating_add(written);
            if last.written < CHECK_BYTES && last.at.elapsed() < CHECK_INTERVAL {
                return Ok(last.wal_bytes);
            }
        }
        self.check()
    }
}

fn identify(name: &Path) -> Result<(FileId, u64), LedgerError> {
    let metadata = std::fs::metadata(name).map_err(|error| replaced_error(name, error))?;
    aliases::refuse_hard_links(name, &metadata)?;
    Ok((file_id(&metadata), metadata.len()))
}

fn replaced_error(name: &Path, why: impl std::fmt::Display) -> LedgerError {
    LedgerError::Failed(format!(
        "{} was removed or replaced while it was in use ({why}); what was written last may be lost, \
         put the files of one backup there, all or none",
        name.display()
    ))
}

/// Device and inode of a file. On systems other than Unix only existence is checked: on Windows an
/// open file cannot be removed or replaced.
#[cfg(unix)]
type FileId = (u64, u64);
#[cfg(unix)]
fn file_id(metadata: &std::fs::Metadata) -> FileId {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

#[cfg(not(unix))]
type FileId = ();
#[cfg(not(unix))]
fn file_id(_: &std::fs::Metadata) -> FileId {}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(folder: &Path) -> PathBuf {
        let path = folder.join("ledger.db");
        for suffix in ["", "-wal", "-shm", ".lock"] {
            std::fs::write(sibling_path(&path, suffix), "x").unwrap();
        }
        path
    }

    #[test]
    fn each_file_must_be_there_and_stay_the_same() {
        for suffix in ["", "-wal", "-shm", ".lock"] {
            let folder = tempfile::tempdir().unwrap();
            let path = files(folder.path());
            let name = sibling_path(&path, suffix);
            let mut watch = FileWatch::begin(&path).unwrap();
            std::fs::write(sibling_path(&path, "-wal"), "four").unwrap();
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
        std::fs::write(sibling_path(&path, "-wal"), "four").unwrap();
        assert_eq!(watch.check_by_time(CHECK_BYTES), Ok(4));
        std::fs::write(sibling_path(&path, "-wal"), "three").unwrap();
        let _ = watch.check_by_time(CHECK_BYTES / 2);
        assert_eq!(watch.check_by_time(CHECK_BYTES / 2), Ok(5), "both count");
        std::thread::sleep(CHECK_INTERVAL);
        std::fs::write(sibling_path(&path, "-wal"), "seven77").unwrap();
        assert_eq!(watch.check_by_time(0), Ok(7), "it is long ago");
    }
}
