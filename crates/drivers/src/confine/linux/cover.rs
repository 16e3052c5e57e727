//! Covering what is denied by mounts that only this process and its children see.
//!
//! Landlock can only allow, and whatever it allows includes everything below, even what is created
//! later. So it cannot say "this folder, except for one entry". A mount over the entry can. What
//! keeps the child from taking it away again is that it has no right to: Landlock forbids mounts to
//! whoever is under its rules, the capability is gone, and a user namespace of the child's own
//! would get the mounts locked.

use std::collections::BTreeSet;
use std::os::linux::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use nix::sched::CloneFlags;
use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags, access, mkdirat, openat, unlinkat};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, mount, mount_bind, mount_bind_recursive, mount_change,
    mount_remount,
};

use super::error::ProtectionError;
use super::namespace;

/// What covers a file: opening a device is refused to everybody where a mount has no devices.
const COVER: &str = "/dev/null";
/// The name of the empty folder, until it is removed.
const EMPTY: &str = "empty";

/// What keeps the denied paths from the child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CoverMethod {
    /// Mounts over them.
    Mounts,
    /// No mount: the rules for files have to leave them out.
    None,
}

/// Covers these files and folders for this process and all that it starts.
pub(super) fn cover(denied: &BTreeSet<PathBuf>) -> Result<(), ProtectionError> {
    let hidden = HiddenPaths::of(denied)?;
    namespace::enter(CloneFlags::CLONE_NEWNS)?;
    let here = std::env::current_dir();
    // What is mounted outside later still comes in, and nothing of ours goes out.
    let slave = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
    mount_change("/", slave).map_err(|error| failed(Path::new("/"), error))?;
    let covered = hidden.pin().and_then(|()| hidden.cover_folders());
    let covered = covered.and_then(|()| hidden.cover_files());
    // The working directory is still the one below the mounts.
    let moved = here.and_then(std::env::set_current_dir);
    if moved.is_err() {
        std::env::set_current_dir("/")
            .map_err(|source| ProtectionError::WorkingDirectory { source })?;
    }
    covered?;
    hidden.verify()
}

/// What has to be covered, by kind. What is not there cannot be covered.
struct HiddenPaths {
    folders: Vec<Target>,
    files: Vec<Target>,
    /// The folders above them, the outermost first.
    above: BTreeSet<PathBuf>,
}

struct Target {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl HiddenPaths {
    fn of(denied: &BTreeSet<PathBuf>) -> Result<Self, ProtectionError> {
        let (mut folders, mut files): (Vec<Target>, Vec<Target>) = (Vec::new(), Vec::new());
        let mut above = BTreeSet::new();
        // A folder comes before what lies in it.
        for path in denied {
            let inside = folders.iter().any(|folder| path.starts_with(&folder.path));
            let Ok(about) = path.symlink_metadata() else {
                above.extend(
                    path.ancestors().skip(1).filter(|above| above.is_dir()).map(PathBuf::from),
                );
                continue;
            };
            if inside {
                continue;
            }
            if about.is_symlink() {
                // A link can be removed and another put in its place; no mount prevents that.
                return Err(ProtectionError::SymbolicLink { path: path.clone() });
            }
            above.extend(path.ancestors().skip(1).map(PathBuf::from));
            let target =
                Target { path: path.clone(), device: about.st_dev(), inode: about.st_ino() };
            if about.is_dir() { folders.push(target) } else { files.push(target) }
        }
        above.retain(|path| !folders.iter().any(|folder| path.starts_with(&folder.path)));
        Ok(Self { folders, files, above })
    }

    /// Keeps the folders above from being renamed, whereby everything denied would get another
    /// place and something else could take its own: a folder on which something is mounted stays.
    fn pin(&self) -> Result<(), ProtectionError> {
        for folder in &self.above {
            let Some(parent) = folder.parent() else { continue };
            // Who may not write above it cannot rename it.
            if access(parent, Access::WRITE_OK).is_err() {
                continue;
            }
            mount_bind_recursive(folder, folder).map_err(|error| failed(folder, error))?;
        }
        Ok(())
    }

    /// Covers each folder with an empty, already deleted directory: nothing is in it and nothing
    /// can be created in it.
    fn cover_folders(&self) -> Result<(), ProtectionError> {
        let Some((first, others)) = self.folders.split_first() else { return Ok(()) };
        let at = |error| failed(&first.path, error);
        mount("tmpfs", &first.path, "tmpfs", LOCKED, None).map_err(at)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let scratch = openat(CWD, &first.path, flags, Mode::empty()).map_err(at)?;
        mkdirat(&scratch, EMPTY, Mode::empty()).map_err(at)?;
        let empty = first.path.join(EMPTY);
        for folder in others {
            mount_bind(&empty, &folder.path).map_err(|error| failed(&folder.path, error))?;
        }
        // Done last, because it hides the path to the empty folder.
        mount_bind(&empty, &first.path).map_err(at)?;
        unlinkat(&scratch, EMPTY, AtFlags::REMOVEDIR).map_err(at)?;
        self.folders.iter().try_for_each(|folder| read_only(&folder.path))
    }

    fn cover_files(&self) -> Result<(), ProtectionError> {
        for file in &self.files {
            let at = |error| failed(&file.path, error);
            mount_bind(COVER, &file.path).map_err(at)?;
            read_only(&file.path)?;
        }
        Ok(())
    }

    /// Nothing denied is in its place any more.
    fn verify(&self) -> Result<(), ProtectionError> {
        for target in self.folders.iter().chain(&self.files) {
            let about = target.path.symlink_metadata();
            let same = |device, inode| (device, inode) == (target.device, target.inode);
            if about.is_ok_and(|about| same(about.st_dev(), about.st_ino())) {
                return Err(ProtectionError::Uncovered { path: target.path.clone() });
            }
        }
        Ok(())
    }
}

const LOCKED: MountFlags = MountFlags::NODEV.union(MountFlags::NOSUID).union(MountFlags::NOEXEC);

fn read_only(path: &Path) -> Result<(), ProtectionError> {
    mount_remount(path, MountFlags::BIND | LOCKED | MountFlags::RDONLY, "")
        .map_err(|error| failed(path, error))
}

fn failed(path: &Path, source: Errno) -> ProtectionError {
    ProtectionError::Cover { path: path.to_path_buf(), source }
}
