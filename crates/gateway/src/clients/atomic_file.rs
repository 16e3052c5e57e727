//! Files that are written completely or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use weaver_types::{OsRandom, random_text};

use crate::interruption;
use crate::private_file;

/// Replaces or creates a file: a temporary file next to it is written and synced, then renamed. An
/// existing file keeps its permissions; a new one is accessible to this user only. A symbolic link
/// is followed, so that it stays a link.
///
/// # Errors
/// Those of the system. The file is then unchanged, and the temporary one is removed.
pub fn replace_file(path: &Path, text: &str) -> io::Result<()> {
    let target = match fs::canonicalize(path) {
        Ok(target) => target,
        Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_owned(),
        Err(error) => return Err(error),
    };
    let permissions = fs::metadata(&target).ok().map(|data| data.permissions());
    remove_abandoned(&target);
    let temporary = temporary_beside(&target)?;
    let written = write_synced(&temporary, text).and_then(|()| {
        if let Some(permissions) = permissions {
            fs::set_permissions(&temporary, permissions)?;
        }
        fs::rename(&temporary, &target)?;
        interruption::step();
        Ok(())
    });
    if let Err(error) = written {
        // Remove what is left of the attempt.
        let _ = fs::remove_file(&temporary);
        return Err(error);
    }
    sync_folder(&target)
}

/// Replaces a file; a new one is for everybody whom the process's file mode mask lets read it.
///
/// # Errors
/// As [`replace_file`] and [`NewFile::create`].
pub fn replace_public_file(path: &Path, text: &str) -> io::Result<()> {
    if path.symlink_metadata().is_ok() {
        return replace_file(path, text);
    }
    let mut file = NewFile::create(path, FilePermissions::Default)?;
    file.write_all(text.as_bytes())?;
    file.commit()
}

/// Writes a new file for this user only, synced to disk.
///
/// # Errors
/// Those of the system, including that the file exists. There is no file under this name then.
pub fn write_new_file(path: &Path, contents: impl AsRef<[u8]>) -> io::Result<()> {
    let mut file = NewFile::create(path, FilePermissions::OwnerOnly)?;
    let (first, rest) = contents.as_ref().split_at(contents.as_ref().len() / 2);
    file.write_all(first)?;
    interruption::step();
    file.write_all(rest)?;
    file.commit()
}

/// Who may open a new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilePermissions {
    /// This user only.
    OwnerOnly,
    /// Whom the process's file mode mask (`umask`) lets.
    Default,
}

/// A new file. It is written to a temporary file next to it and gets its name when it is complete;
/// without [`NewFile::commit`] it is removed.
#[derive(Debug)]
pub struct NewFile {
    file: File,
    temporary: PathBuf,
    path: PathBuf,
}

impl NewFile {
    /// Begins the file.
    ///
    /// # Errors
    /// Those of the system, including that there is a file of this name already.
    pub fn create(path: &Path, permissions: FilePermissions) -> io::Result<Self> {
        if fs::symlink_metadata(path).is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        remove_abandoned(path);
        let temporary = temporary_beside(path)?;
        let file = create_new(&temporary, permissions)?;
        Ok(Self { file, temporary, path: path.to_owned() })
    }

    /// Syncs the file and gives it its name.
    ///
    /// # Errors
    /// Those of the system, including that there is a file of this name by now.
    pub fn commit(self) -> io::Result<()> {
        self.file.sync_all()?;
        interruption::step();
        // Unlike a rename, a link never replaces a file. Not every file system has links.
        match fs::hard_link(&self.temporary, &self.path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
            Err(_) if fs::symlink_metadata(&self.path).is_ok() => {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            Err(_) => fs::rename(&self.temporary, &self.path)?,
            Ok(()) => {}
        }
        sync_folder(&self.path)
    }
}

impl io::Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        // The temporary name goes in any case: the file has its own name now, or is incomplete.
        let _ = fs::remove_file(&self.temporary);
    }
}

fn write_synced(path: &Path, text: &str) -> io::Result<()> {
    let mut file = create_new(path, FilePermissions::OwnerOnly)?;
    let (first, rest) = text.as_bytes().split_at(text.len() / 2);
    file.write_all(first)?;
    interruption::step();
    file.write_all(rest)?;
    file.sync_all()?;
    interruption::step();
    Ok(())
}

fn create_new(path: &Path, permissions: FilePermissions) -> io::Result<File> {
    let mut options = match permissions {
        FilePermissions::OwnerOnly => private_file::file_options(),
        FilePermissions::Default => OpenOptions::new(),
    };
    options.write(true).create_new(true).open(path)
}

/// Separates the file name from the id of the writing process in temporary names.
const MARK: &str = ".weaver-";

/// A unique name next to the file, containing the id of this process.
fn temporary_beside(path: &Path) -> io::Result<PathBuf> {
    let prefix = format!("{MARK}{}-", std::process::id());
    let fresh = random_text(&prefix, 8, &OsRandom).map_err(io::Error::other)?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(fresh);
    Ok(path.with_file_name(name))
}

/// Removes temporary files of this file whose processes have ended: they were interrupted while
/// writing, and the leftovers may contain secrets. Failing to remove one does no other harm.
fn remove_abandoned(path: &Path) {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let prefix = format!("{}{MARK}", name.to_string_lossy());
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let found = entry.file_name().to_string_lossy().into_owned();
        let writer = found.strip_prefix(&prefix).and_then(|rest| rest.split('-').next());
        if writer.and_then(|id| id.parse().ok()).is_some_and(has_ended) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Whether no process has this id. If this cannot be determined, one may exist.
fn has_ended(id: i32) -> bool {
    #[cfg(unix)]
    {
        use rustix::process::{Pid, test_kill_process};
        Pid::from_raw(id).is_some_and(|id| test_kill_process(id) == Err(rustix::io::Errno::SRCH))
    }
    #[cfg(not(unix))]
    {
        let _ = id;
        false
    }
}

/// Makes a rename durable, on systems that can sync folders.
fn sync_folder(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        File::open(folder)?.sync_all()?;
    }
    #[cfg(not(unix))]
    let _ = (path, File::open::<&Path>);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_link_and_its_permissions_stay() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (dir.path().join("real.json"), dir.path().join("link.json"));
        fs::write(&real, "old").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&real, &link).unwrap();
        replace_file(&link, "new").unwrap();
        assert_eq!(fs::read_to_string(&real).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[cfg(unix)]
    #[test]
    fn what_an_ended_process_left_goes_and_what_one_writes_stays() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str| dir.path().join(name);
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let (ended, mine) = (child.id(), std::process::id());
        let left =
            [format!("a.weaver-{ended}-x"), format!("a.weaver-{mine}-x"), "a.weaver-y".into()];
        left.iter().for_each(|name| fs::write(file(name), "half").unwrap());
        replace_file(&file("a"), "whole").unwrap();
        let stay: Vec<bool> = left.iter().map(|name| file(name).exists()).collect();
        assert_eq!(stay, [false, true, true]);
    }

    #[test]
    fn a_new_file_is_never_written_over_another() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a");
        write_new_file(&file, "one").unwrap();
        assert!(write_new_file(&file, "two").is_err());
        assert_eq!(fs::read_to_string(&file).unwrap(), "one");
    }
}
