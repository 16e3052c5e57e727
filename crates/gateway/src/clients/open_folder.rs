//! A folder that is opened once. Its entries are made, renamed and removed through the descriptor, so
//! that no link that takes the place of the folder leads elsewhere.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::Path;

pub(super) use system::OpenFolder;

/// Who may open a new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilePermissions {
    /// This user only.
    OwnerOnly,
    /// Whom the process's file mode mask (`umask`) lets.
    Default,
}

#[cfg(unix)]
mod system {
    use std::os::fd::OwnedFd;

    use rustix::fs::{
        AtFlags, CWD, Mode, OFlags, fstat, linkat, openat, renameat, statat, unlinkat,
    };

    use super::{File, FilePermissions, OsStr, Path, io};

    /// An open folder.
    #[derive(Debug)]
    pub(in super::super) struct OpenFolder(OwnedFd);

    impl OpenFolder {
        /// Opens a folder. The last part of its path must not be a link.
        pub(in super::super) fn open(path: &Path) -> io::Result<Self> {
            let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            Ok(Self(openat(CWD, path, flags, Mode::empty())?))
        }

        /// Makes a file that does not exist yet, and opens it for writing.
        pub(in super::super) fn create(
            &self,
            name: &OsStr,
            permissions: FilePermissions,
        ) -> io::Result<File> {
            let flags =
                OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let mode = match permissions {
                FilePermissions::OwnerOnly => Mode::RUSR | Mode::WUSR,
                FilePermissions::Default => Mode::from_raw_mode(0o666),
            };
            Ok(File::from(openat(&self.0, name, flags, mode)?))
        }

        /// Gives an entry another name, which may be taken.
        pub(in super::super) fn rename(
            &self,
            name: &OsStr,
            to: &Self,
            new_name: &OsStr,
        ) -> io::Result<()> {
            Ok(renameat(&self.0, name, &to.0, new_name)?)
        }

        /// Gives a file a second name, which must be free.
        pub(in super::super) fn link(
            &self,
            name: &OsStr,
            to: &Self,
            new_name: &OsStr,
        ) -> io::Result<()> {
            Ok(linkat(&self.0, name, &to.0, new_name, AtFlags::empty())?)
        }

        /// Removes a file.
        pub(in super::super) fn remove(&self, name: &OsStr) -> io::Result<()> {
            Ok(unlinkat(&self.0, name, AtFlags::empty())?)
        }

        /// Whether there is something under this name.
        pub(in super::super) fn has(&self, name: &OsStr) -> bool {
            statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
        }

        /// Whether an open file is what is under this name.
        pub(in super::super) fn holds(&self, name: &OsStr, file: &File) -> io::Result<bool> {
            let (named, open) = (statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?, fstat(file)?);
            Ok((named.st_dev, named.st_ino) == (open.st_dev, open.st_ino))
        }

        /// Makes its entries durable.
        pub(in super::super) fn sync(&self) -> io::Result<()> {
            Ok(rustix::fs::fsync(&self.0)?)
        }
    }
}

#[cfg(not(unix))]
mod system {
    use std::fs::{self, OpenOptions};
    use std::path::PathBuf;

    use super::{File, FilePermissions, OsStr, Path, io};

    /// A folder, known by its path on this system.
    #[derive(Debug)]
    pub(in super::super) struct OpenFolder(PathBuf);

    impl OpenFolder {
        pub(in super::super) fn open(path: &Path) -> io::Result<Self> {
            Ok(Self(path.to_owned()))
        }

        pub(in super::super) fn create(
            &self,
            name: &OsStr,
            _permissions: FilePermissions,
        ) -> io::Result<File> {
            OpenOptions::new().write(true).create_new(true).open(self.0.join(name))
        }

        pub(in super::super) fn rename(
            &self,
            name: &OsStr,
            to: &Self,
            new_name: &OsStr,
        ) -> io::Result<()> {
            fs::rename(self.0.join(name), to.0.join(new_name))
        }

        pub(in super::super) fn link(
            &self,
            name: &OsStr,
            to: &Self,
            new_name: &OsStr,
        ) -> io::Result<()> {
            fs::hard_link(self.0.join(name), to.0.join(new_name))
        }

        pub(in super::super) fn remove(&self, name: &OsStr) -> io::Result<()> {
            fs::remove_file(self.0.join(name))
        }

        pub(in super::super) fn has(&self, name: &OsStr) -> bool {
            self.0.join(name).symlink_metadata().is_ok()
        }

        /// This system confines no servers, and its files have no number to compare.
        pub(in super::super) fn holds(&self, _name: &OsStr, _file: &File) -> io::Result<bool> {
            Ok(true)
        }

        pub(in super::super) fn sync(&self) -> io::Result<()> {
            Ok(())
        }
    }
}
