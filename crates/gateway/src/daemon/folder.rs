//! The folder through which a daemon is reached: next to the store, accessible to its user only.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::error::DaemonError;
use crate::{daemon_address, private_file};

/// The size at which a log file is rotated.
const MAX_LOG_BYTES: u64 = 8 * 1024 * 1024;

/// The folder of a daemon and the files in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DaemonFolder {
    folder: PathBuf,
    socket: PathBuf,
}

impl DaemonFolder {
    /// The folder of the daemon for this store.
    #[must_use]
    pub fn of_store(store: &Path) -> Self {
        let (folder, socket) = (daemon_address::run_folder(store), daemon_address::socket(store));
        Self { folder, socket }
    }

    /// The folder itself.
    #[cfg(windows)]
    pub(super) fn path(&self) -> &Path {
        &self.folder
    }

    /// True if a daemon of this store has been started before.
    pub(super) fn exists(&self) -> bool {
        self.folder.exists()
    }

    /// The socket.
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// The daemon's log file.
    #[must_use]
    pub fn log(&self) -> PathBuf {
        self.folder.join("daemon.log")
    }

    /// The file of sessions over HTTP, between two daemons.
    pub(super) fn sessions(&self) -> PathBuf {
        self.folder.join("sessions.json")
    }

    /// Creates the folders, and refuses those that others could write.
    ///
    /// # Errors
    /// [`DaemonError::Folder`].
    pub(super) fn prepare(&self) -> Result<(), DaemonError> {
        create_private_folder(&self.folder)?;
        match self.socket.parent() {
            Some(other) if other != self.folder => create_private_folder(other),
            _ => Ok(()),
        }
    }

    /// Checks that only this user can have created the socket.
    ///
    /// # Errors
    /// [`DaemonError::NotRunning`] if there is no folder; [`DaemonError::ForeignFolder`] and
    /// [`DaemonError::FolderNotPrivate`] if others could write it.
    pub(super) fn check(&self) -> Result<(), DaemonError> {
        let above_socket = self.socket.parent().unwrap_or(&self.folder);
        match check_private(above_socket) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(DaemonError::NotRunning),
            Err(error) => Err(DaemonError::folder(above_socket, &error)),
            Ok(checked) => checked,
        }
    }

    /// Takes the lock that a daemon holds for its whole life; `None` if another daemon holds it.
    /// The file is never removed, because two processes could then hold locks on two files of the
    /// same name.
    ///
    /// # Errors
    /// [`DaemonError::Folder`].
    pub(super) fn try_daemon_lock(&self) -> Result<Option<File>, DaemonError> {
        try_lock(&self.folder.join("daemon.lock"))
    }

    /// Takes the lock for starting a daemon; `None` while another process starts one.
    ///
    /// # Errors
    /// [`DaemonError::Folder`].
    pub(super) fn try_start_lock(&self) -> Result<Option<File>, DaemonError> {
        try_lock(&self.folder.join("start.lock"))
    }

    /// Takes the lock of a command that borrows the store, which it holds from before it asks until it
    /// gives the store back; `None` while another command does.
    ///
    /// # Errors
    /// [`DaemonError::Folder`].
    pub(super) fn try_loan_lock(&self) -> Result<Option<File>, DaemonError> {
        try_lock(&self.folder.join("loan.lock"))
    }

    /// Whether a log of this size must be rotated.
    pub(super) fn is_log_large(bytes: u64) -> bool {
        bytes > MAX_LOG_BYTES
    }

    /// Opens the log for appending; a large one is rotated first.
    ///
    /// # Errors
    /// [`DaemonError::Folder`].
    pub(super) fn open_log(&self) -> Result<File, DaemonError> {
        let path = self.log();
        if fs::metadata(&path).is_ok_and(|about| Self::is_log_large(about.len())) {
            let _ = fs::rename(&path, self.folder.join("daemon.log.1"));
        }
        let mut options = private_file::file_options();
        options
            .append(true)
            .create(true)
            .open(&path)
            .map_err(|error| DaemonError::folder(&path, &error))
    }
}

/// Creates a folder that only this user can enter, or checks an existing one. The folder protects
/// the socket, whose own mode some systems ignore.
fn create_private_folder(folder: &Path) -> Result<(), DaemonError> {
    let failed = |error: &io::Error| DaemonError::folder(folder, error);
    if let Some(above) = folder.parent() {
        private_file::create_folders(above).map_err(|error| failed(&error))?;
    }
    match private_file::create_folder(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(&error)),
        _ => {}
    }
    check_private(folder).map_err(|error| failed(&error))?
}

/// Checks that only this user can enter a folder; the outer error means that it cannot be examined.
fn check_private(folder: &Path) -> io::Result<Result<(), DaemonError>> {
    let about = fs::symlink_metadata(folder)?;
    Ok(check_owner(folder, &about))
}

#[cfg(unix)]
fn check_owner(folder: &Path, about: &fs::Metadata) -> Result<(), DaemonError> {
    use std::os::unix::fs::MetadataExt as _;

    let is_own_folder = about.is_dir() && about.uid() == rustix::process::getuid().as_raw();
    if !is_own_folder {
        Err(DaemonError::ForeignFolder { path: folder.to_path_buf() })
    } else if about.mode() & 0o077 != 0 {
        Err(DaemonError::FolderNotPrivate {
            path: folder.to_path_buf(),
            mode: about.mode() & 0o777,
        })
    } else {
        Ok(())
    }
}

/// The folder's access rights are those of the one above it. What others could do in it is to keep a
/// daemon from starting: clients check who owns the pipe.
#[cfg(not(unix))]
fn check_owner(folder: &Path, about: &fs::Metadata) -> Result<(), DaemonError> {
    match about.is_dir() {
        true => Ok(()),
        false => Err(DaemonError::ForeignFolder { path: folder.to_path_buf() }),
    }
}

fn try_lock(path: &Path) -> Result<Option<File>, DaemonError> {
    let failed = |error: &io::Error| DaemonError::folder(path, error);
    let mut options = private_file::file_options();
    options.read(true).write(true).create(true).truncate(false);
    let file = options.open(path).map_err(|error| failed(&error))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(fs::TryLockError::WouldBlock) => Ok(None),
        Err(fs::TryLockError::Error(error)) => Err(failed(&error)),
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_store_has_one_address_and_a_long_one_a_short_socket() {
        let folder = DaemonFolder::of_store(Path::new("/srv/w/ledger.db"));
        assert_eq!(folder.socket(), Path::new("/srv/w/ledger.db.run/d.sock"));
        let long = PathBuf::from(format!("/srv/{}/ledger.db", "x".repeat(120)));
        let folder = DaemonFolder::of_store(&long);
        assert!(folder.socket().as_os_str().len() <= daemon_address::MAX_SOCKET_PATH_BYTES);
        assert_eq!(folder, DaemonFolder::of_store(&long));
        assert_ne!(
            folder.socket(),
            DaemonFolder::of_store(&long.with_file_name("other.db")).socket()
        );
    }

    #[test]
    fn a_folder_that_others_can_enter_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let folder = DaemonFolder::of_store(&root.path().join("ledger.db"));
        folder.prepare().unwrap();
        folder.prepare().unwrap();
        let path = root.path().join("ledger.db.run");
        folder.check().unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(matches!(folder.prepare(), Err(DaemonError::FolderNotPrivate { mode: 0o755, .. })));
        assert!(matches!(folder.check(), Err(DaemonError::FolderNotPrivate { .. })));
        fs::remove_dir(&path).unwrap();
        assert!(matches!(folder.check(), Err(DaemonError::NotRunning)));
        std::os::unix::fs::symlink(root.path(), &path).unwrap();
        assert!(
            matches!(folder.prepare(), Err(DaemonError::ForeignFolder { .. })),
            "a link is not a folder"
        );
        assert!(matches!(folder.check(), Err(DaemonError::ForeignFolder { .. })));
    }

    #[test]
    fn one_process_has_the_lock() {
        let root = tempfile::tempdir().unwrap();
        let folder = DaemonFolder::of_store(&root.path().join("ledger.db"));
        folder.prepare().unwrap();
        let held = folder.try_daemon_lock().unwrap().unwrap();
        assert!(folder.try_daemon_lock().unwrap().is_none());
        assert!(folder.try_start_lock().unwrap().is_some(), "another lock");
        drop(held);
        assert!(folder.try_daemon_lock().unwrap().is_some());
    }
}
