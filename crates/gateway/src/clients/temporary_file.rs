//! A temporary file that takes the place of another one when it is complete.
//!
//! Servers work, and may write, in the folder of `weaver.toml`. A server that saw a temporary file of
//! the gateway there could put one of its own under that name before it is renamed. So below a
//! gateway's folder temporary files are made in `.weaver`, which servers are denied. Whoever renames a
//! file also looks whether it is what lies in the place of the target afterwards.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Permissions};
use std::io;
use std::path::{Path, PathBuf};

use weaver_types::{OsRandom, random_text};

use super::open_folder::{FilePermissions, OpenFolder};
use crate::interruption;
use crate::private_file::STATE_FOLDER;

/// Separates the file name from the id of the writing process in temporary names.
const MARK: &str = ".weaver-";

/// A temporary file, which is removed unless it takes the place of its target.
#[derive(Debug)]
pub(super) struct TemporaryFile {
    file: File,
    folder: OpenFolder,
    name: OsString,
    target_folder: OpenFolder,
    target_name: OsString,
}

impl TemporaryFile {
    /// Makes one for this target.
    ///
    /// # Errors
    /// Those of the system.
    pub(super) fn create(target: &Path, permissions: FilePermissions) -> io::Result<Self> {
        let target_name = target.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
        let above = match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => crate::canonical_path(parent)?,
            _ => crate::canonical_path(Path::new("."))?,
        };
        let staging = private_folder(&above).unwrap_or_else(|| above.clone());
        remove_abandoned(&staging, &target_name);
        let name = temporary_name(&target_name)?;
        let folder = OpenFolder::open(&staging)?;
        let target_folder = OpenFolder::open(&above)?;
        let file = folder.create(&name, permissions)?;
        Ok(Self { file, folder, name, target_folder, target_name })
    }

    /// Sets who may open it.
    pub(super) fn set_permissions(&self, permissions: Permissions) -> io::Result<()> {
        self.file.set_permissions(permissions)
    }

    /// Syncs the file and puts it in the place of its target.
    ///
    /// # Errors
    /// Those of the system, and if something else is there afterwards.
    pub(super) fn replace_target(self) -> io::Result<()> {
        self.file.sync_all()?;
        interruption::step();
        self.folder.rename(&self.name, &self.target_folder, &self.target_name)?;
        interruption::step();
        self.verify()?;
        self.target_folder.sync()
    }

    /// Syncs the file and gives it the name of its target, which must be free.
    ///
    /// # Errors
    /// As [`Self::replace_target`], and if there is a file of this name by now.
    pub(super) fn become_target(self) -> io::Result<()> {
        self.file.sync_all()?;
        interruption::step();
        // Unlike a rename, a link never replaces a file. Not every file system has links.
        match self.folder.link(&self.name, &self.target_folder, &self.target_name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
            Err(_) if self.target_folder.has(&self.target_name) => {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            Err(_) => self.folder.rename(&self.name, &self.target_folder, &self.target_name)?,
            Ok(()) => {}
        }
        self.verify()?;
        self.target_folder.sync()
    }

    /// Fails unless the target is the file that was written here.
    fn verify(&self) -> io::Result<()> {
        if self.target_folder.holds(&self.target_name, &self.file)? {
            return Ok(());
        }
        Err(io::Error::other(
            "another program put a file of its own in its place while it was written; look at \
             what is there, and at who may write in this folder",
        ))
    }
}

impl io::Write for TemporaryFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        // The temporary name goes in any case: the file has its own name now, or is incomplete.
        let _ = self.folder.remove(&self.name);
    }
}

/// The nearest `.weaver` in this folder or one above it, if files can be renamed from there.
fn private_folder(folder: &Path) -> Option<PathBuf> {
    let mut candidates = folder.ancestors().map(|above| above.join(STATE_FOLDER));
    candidates.find(|candidate| is_private(candidate) && is_same_mount(candidate, folder))
}

/// Whether this is a folder of this user, and no link, in which not everybody can make entries.
#[cfg(unix)]
fn is_private(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let user = rustix::process::geteuid().as_raw();
    folder
        .symlink_metadata()
        .is_ok_and(|about| about.is_dir() && about.uid() == user && about.mode() & 0o002 == 0)
}

#[cfg(not(unix))]
fn is_private(folder: &Path) -> bool {
    folder.symlink_metadata().is_ok_and(|about| about.is_dir())
}

/// Whether two folders are on one mount, so that a file of one can be renamed into the other.
#[cfg(target_os = "linux")]
pub(crate) fn is_same_mount(one: &Path, other: &Path) -> bool {
    use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
    // Since Linux 5.8. An older kernel leaves the number out.
    const MOUNT_ID: StatxFlags = StatxFlags::from_bits_retain(0x1000);
    let place = |path: &Path| {
        let about = statx(CWD, path, AtFlags::empty(), StatxFlags::BASIC_STATS | MOUNT_ID).ok()?;
        let mount = (about.stx_mask & MOUNT_ID.bits() != 0).then_some(about.stx_mnt_id);
        Some((about.stx_dev_major, about.stx_dev_minor, mount))
    };
    place(one).is_some_and(|found| Some(found) == place(other))
}

/// Whether two folders are on one file system.
#[cfg(all(unix, not(target_os = "linux")))]
pub(crate) fn is_same_mount(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let device = |path: &Path| fs::metadata(path).ok().map(|about| about.dev());
    device(one).is_some_and(|found| Some(found) == device(other))
}

/// A folder of this system is seldom the place of another file system.
#[cfg(not(unix))]
pub(crate) fn is_same_mount(_one: &Path, _other: &Path) -> bool {
    true
}

/// A unique name for a temporary file, containing the id of this process.
fn temporary_name(target: &OsStr) -> io::Result<OsString> {
    let prefix = format!("{MARK}{}-", std::process::id());
    let fresh = random_text(&prefix, 8, &OsRandom).map_err(io::Error::other)?;
    let mut name = target.to_owned();
    name.push(fresh);
    Ok(name)
}

/// Removes temporary files of a target whose processes have ended: they were interrupted while
/// writing, and the leftovers may contain secrets. Failing to remove one does no other harm.
fn remove_abandoned(folder: &Path, target: &OsStr) {
    let prefix = format!("{}{MARK}", target.to_string_lossy());
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

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn gateway_folder() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        crate::private_file::create_folder(&dir.path().join(STATE_FOLDER)).unwrap();
        dir
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn below_a_gateways_folder_it_lies_in_the_state_folder() {
        let dir = gateway_folder();
        for name in ["weaver.toml", "policy/policy.toml", "made/later.toml"] {
            let target = dir.path().join(name);
            fs::create_dir_all(target.parent().unwrap()).unwrap();
            let before = names(target.parent().unwrap());
            let mut file = TemporaryFile::create(&target, FilePermissions::OwnerOnly).unwrap();
            file.write_all(b"whole").unwrap();
            assert_eq!(names(target.parent().unwrap()), before);
            assert_eq!(names(&dir.path().join(STATE_FOLDER)).len(), 1);
            file.replace_target().unwrap();
            assert_eq!(fs::read_to_string(&target).unwrap(), "whole");
            assert_eq!(names(&dir.path().join(STATE_FOLDER)).len(), 0);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_state_folder_that_others_may_have_made_is_not_used() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let (dir, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let state = dir.path().join(STATE_FOLDER);
        symlink(elsewhere.path(), &state).unwrap();
        assert_eq!(private_folder(dir.path()), None);
        fs::remove_file(&state).unwrap();
        fs::create_dir(&state).unwrap();
        fs::set_permissions(&state, Permissions::from_mode(0o777)).unwrap();
        assert_eq!(private_folder(dir.path()), None);
        fs::set_permissions(&state, Permissions::from_mode(0o775)).unwrap();
        assert_eq!(private_folder(dir.path()), Some(state));
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_another_program_put_under_its_name_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("a");
        let planted = dir.path().join("planted");
        let complete: [fn(TemporaryFile) -> io::Result<()>; 2] =
            [TemporaryFile::replace_target, TemporaryFile::become_target];
        for complete in complete {
            let mut file = TemporaryFile::create(&target, FilePermissions::OwnerOnly).unwrap();
            file.write_all(b"ours").unwrap();
            fs::write(&planted, "theirs").unwrap();
            fs::rename(&planted, dir.path().join(&file.name)).unwrap();
            let error = complete(file).unwrap_err();
            assert!(error.to_string().contains("another program"), "{error}");
            let _ = fs::remove_file(&target);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_a_link_takes_the_place_of_is_still_the_one_that_was_opened() {
        use std::os::unix::fs::symlink;
        let (dir, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let folder = dir.path().join("folder");
        fs::create_dir(&folder).unwrap();
        let mut file =
            TemporaryFile::create(&folder.join("a"), FilePermissions::OwnerOnly).unwrap();
        file.write_all(b"ours").unwrap();
        fs::rename(&folder, dir.path().join("moved")).unwrap();
        symlink(elsewhere.path(), &folder).unwrap();
        file.replace_target().unwrap();
        assert_eq!(names(elsewhere.path()).len(), 0);
        assert_eq!(names(&dir.path().join("moved")), ["a"]);
    }
}
