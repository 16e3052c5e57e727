//! Where a daemon is reached: a folder beside the store, open to its own user alone.
//!
//! The address follows from the store and from nothing else: not from the environment, which differs
//! between a terminal, a desktop and a service, so that one store never gets two daemons.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::error::DaemonError;

/// The longest path of a socket that every Unix takes, in bytes: macOS has 104 with the end.
const MAX_SOCKET_PATH: usize = 103;
/// The largest log file; one that is larger is moved aside.
const MAX_LOG: u64 = 8 * 1024 * 1024;

/// The folder of a daemon, and what lies in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DaemonFolder {
    folder: PathBuf,
    socket: PathBuf,
}

impl DaemonFolder {
    /// The folder of the daemon that owns this store.
    #[must_use]
    pub fn of_store(store: &Path) -> Self {
        let store = std::path::absolute(store).unwrap_or_else(|_| store.to_path_buf());
        let mut name = store.file_name().unwrap_or_default().to_owned();
        name.push(".run");
        let folder = store.with_file_name(name);
        let socket = folder.join("d.sock");
        let socket = match socket.as_os_str().len() <= MAX_SOCKET_PATH {
            true => socket,
            false => short_folder(&store).join("d.sock"),
        };
        Self { folder, socket }
    }

    /// True when a daemon of this store was started before.
    pub(super) fn exists(&self) -> bool {
        self.folder.exists()
    }

    /// The socket.
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// What the daemon has to say beside the protocol.
    #[must_use]
    pub fn log(&self) -> PathBuf {
        self.folder.join("daemon.log")
    }

    /// Makes the folders, and refuses those that others could write.
    ///
    /// # Errors
    /// [`DaemonError::Folder`].
    pub(super) fn prepare(&self) -> Result<(), DaemonError> {
        make_private(&self.folder)?;
        match self.socket.parent() {
            Some(other) if other != self.folder => make_private(other),
            _ => Ok(()),
        }
    }

    /// Checks that whatever listens at the socket can only be this user's: no other one could put it
    /// there.
    ///
    /// # Errors
    /// [`DaemonError::NotRunning`], when there is no folder; [`DaemonError::NotOwn`] and
    /// [`DaemonError::Open`], when others could write it.
    pub(super) fn check(&self) -> Result<(), DaemonError> {
        let above_socket = self.socket.parent().unwrap_or(&self.folder);
        match check_private(above_socket) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(DaemonError::NotRunning),
            Err(error) => Err(DaemonError::folder(above_socket, &error)),
            Ok(checked) => checked,
        }
    }

    /// Takes the lock that a daemon holds as long as it lives; `None` when another one has it. The
    /// file is never removed: two processes could then hold locks on two files of one name.
    ///
    /// # Errors
    /// [`DaemonError::Folder`].
    pub(super) fn lock_for_life(&self) -> Result<Option<File>, DaemonError> {
        try_lock(&self.folder.join("daemon.lock"))
    }

    /// Takes the lock of whoever starts a daemon; `None` while another one starts it.
    ///
    /// # Errors
    /// [`DaemonError::Folder`].
    pub(super) fn lock_for_start(&self) -> Result<Option<File>, DaemonError> {
        try_lock(&self.folder.join("start.lock"))
    }

    /// Whether a log of so many bytes is moved aside.
    pub(super) fn is_large(bytes: u64) -> bool {
        bytes > MAX_LOG
    }

    /// The log, to be appended to; an old one that is large is moved aside.
    ///
    /// # Errors
    /// [`DaemonError::Folder`].
    pub(super) fn open_log(&self) -> Result<File, DaemonError> {
        let path = self.log();
        if fs::metadata(&path).is_ok_and(|about| Self::is_large(about.len())) {
            let _ = fs::rename(&path, self.folder.join("daemon.log.1"));
        }
        let mut options = OpenOptions::new();
        options.append(true).create(true).mode(0o600);
        options.open(&path).map_err(|error| DaemonError::folder(&path, &error))
    }
}

/// A folder with a short name for a store whose own path is too long for a socket. It is named by a
/// digest of the store's path; whoever makes it first must be this user.
fn short_folder(store: &Path) -> PathBuf {
    let digest = Sha256::digest(store.as_os_str().as_encoded_bytes());
    let short: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let name = format!("weaver-{}-{short}", rustix::process::getuid().as_raw());
    Path::new("/tmp").join(name)
}

/// Makes a folder that only this user can enter, or checks that it is one. The folder guards the
/// socket, whose own mode some systems ignore.
fn make_private(folder: &Path) -> Result<(), DaemonError> {
    let failed = |error: &io::Error| DaemonError::folder(folder, error);
    if let Some(above) = folder.parent() {
        let mut make = fs::DirBuilder::new();
        make.recursive(true).mode(0o700);
        make.create(above).map_err(|error| failed(&error))?;
    }
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(&error)),
        _ => {}
    }
    check_private(folder).map_err(|error| failed(&error))?
}

/// Whether only this user can enter a folder; the outer error says why that is not known.
fn check_private(folder: &Path) -> io::Result<Result<(), DaemonError>> {
    let about = fs::symlink_metadata(folder)?;
    let own = about.is_dir() && about.uid() == rustix::process::getuid().as_raw();
    Ok(if !own {
        Err(DaemonError::NotOwn { path: folder.to_path_buf() })
    } else if about.mode() & 0o077 != 0 {
        Err(DaemonError::Open { path: folder.to_path_buf(), mode: about.mode() & 0o777 })
    } else {
        Ok(())
    })
}

fn try_lock(path: &Path) -> Result<Option<File>, DaemonError> {
    let failed = |error: &io::Error| DaemonError::folder(path, error);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let file = options.open(path).map_err(|error| failed(&error))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(fs::TryLockError::WouldBlock) => Ok(None),
        Err(fs::TryLockError::Error(error)) => Err(failed(&error)),
    }
}

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
        assert!(folder.socket().as_os_str().len() <= MAX_SOCKET_PATH);
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
        assert!(matches!(folder.prepare(), Err(DaemonError::Open { mode: 0o755, .. })));
        assert!(matches!(folder.check(), Err(DaemonError::Open { .. })));
        fs::remove_dir(&path).unwrap();
        assert!(matches!(folder.check(), Err(DaemonError::NotRunning)));
        std::os::unix::fs::symlink(root.path(), &path).unwrap();
        assert!(matches!(folder.prepare(), Err(DaemonError::NotOwn { .. })), "a link is no folder");
        assert!(matches!(folder.check(), Err(DaemonError::NotOwn { .. })));
    }

    #[test]
    fn one_process_has_the_lock() {
        let root = tempfile::tempdir().unwrap();
        let folder = DaemonFolder::of_store(&root.path().join("ledger.db"));
        folder.prepare().unwrap();
        let held = folder.lock_for_life().unwrap().unwrap();
        assert!(folder.lock_for_life().unwrap().is_none());
        assert!(folder.lock_for_start().unwrap().is_some(), "another lock");
        drop(held);
        assert!(folder.lock_for_life().unwrap().is_some());
    }
}
