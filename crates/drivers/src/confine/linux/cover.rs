//! Covers the denied paths with mounts that only this process and its children see.
//!
//! Landlock can only allow, and an allowed folder includes everything below it, even what is
//! created later. So Landlock cannot express "this folder except for one entry"; a mount over the
//! entry can. The child cannot remove the mount: Landlock forbids mounting to restricted processes,
//! the capability is dropped, and in a user namespace of its own the mounts would be locked.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::os::linux::fs::MetadataExt as _;
use std::os::unix::fs::FileTypeExt as _;
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

/// Covers a file: on a mount without devices nobody can open a device.
const COVER_DEVICE: &str = "/dev/null";
/// The name of the empty folder until it is removed.
const EMPTY_DIR_NAME: &str = "empty";

/// How the denied paths are kept from the child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CoverMethod {
    /// Mounts over them.
    Mounts,
    /// No mounts: the Landlock rules must exclude them.
    None,
}

/// Covers these files and folders for this process and its descendants.
pub(super) fn cover(denied: &BTreeSet<PathBuf>) -> Result<(), ProtectionError> {
    let hidden = DeniedPaths::from_denied(denied)?;
    namespace::enter(CloneFlags::CLONE_NEWNS)?;
    let here = std::env::current_dir();
    // Later mounts of the host still propagate in, but ours do not propagate out.
    let slave = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
    mount_change("/", slave).map_err(|error| cover_error(Path::new("/"), error))?;
    let covered = hidden.pin_ancestors().and_then(|()| hidden.cover_folders());
    let covered = covered.and_then(|()| hidden.cover_files());
    // The working directory still refers to the folder below the mounts.
    let moved = here.and_then(std::env::set_current_dir);
    if moved.is_err() {
        std::env::set_current_dir("/")
            .map_err(|source| ProtectionError::WorkingDirectory { source })?;
    }
    covered?;
    hidden.verify()
}

/// The paths to cover, by kind. A missing path cannot be covered.
struct DeniedPaths {
    folders: Vec<CoverTarget>,
    files: Vec<CoverTarget>,
    /// The folders above them, outermost first.
    ancestors: BTreeSet<PathBuf>,
}

struct CoverTarget {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl DeniedPaths {
    fn from_denied(denied: &BTreeSet<PathBuf>) -> Result<Self, ProtectionError> {
        let (mut folders, mut files): (Vec<CoverTarget>, Vec<CoverTarget>) =
            (Vec::new(), Vec::new());
        let mut ancestors = BTreeSet::new();
        // A folder is visited before its contents, because the set is sorted.
        for path in denied {
            let inside = folders.iter().any(|folder| path.starts_with(&folder.path));
            let Ok(about) = path.symlink_metadata() else {
                ancestors.extend(
                    path.ancestors()
                        .skip(1)
                        .filter(|ancestor| ancestor.is_dir())
                        .map(PathBuf::from),
                );
                continue;
            };
            if inside {
                continue;
            }
            if about.is_symlink() {
                // A link can be replaced by another one; no mount prevents that.
                return Err(ProtectionError::SymbolicLink { path: path.clone() });
            }
            ancestors.extend(path.ancestors().skip(1).map(PathBuf::from));
            let target =
                CoverTarget { path: path.clone(), device: about.st_dev(), inode: about.st_ino() };
            if about.is_dir() { folders.push(target) } else { files.push(target) }
        }
        ancestors.retain(|path| !folders.iter().any(|folder| path.starts_with(&folder.path)));
        Ok(Self { folders, files, ancestors })
    }

    /// Prevents the folders above from being renamed, which would move the denied paths and free
    /// their names: a folder that is a mount point cannot be renamed.
    fn pin_ancestors(&self) -> Result<(), ProtectionError> {
        for folder in &self.ancestors {
            let Some(parent) = folder.parent() else { continue };
            // Without write access to the parent it cannot be renamed anyway.
            if access(parent, Access::WRITE_OK).is_err() {
                continue;
            }
            mount_bind_recursive(folder, folder).map_err(|error| cover_error(folder, error))?;
        }
        Ok(())
    }

    /// Covers each folder with an empty, already deleted directory, in which nothing can be
    /// created.
    fn cover_folders(&self) -> Result<(), ProtectionError> {
        let Some((first, others)) = self.folders.split_first() else { return Ok(()) };
        let at = |error| cover_error(&first.path, error);
        mount("tmpfs", &first.path, "tmpfs", COVER_FLAGS, None).map_err(at)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let scratch = openat(CWD, &first.path, flags, Mode::empty()).map_err(at)?;
        mkdirat(&scratch, EMPTY_DIR_NAME, Mode::empty()).map_err(at)?;
        let empty = first.path.join(EMPTY_DIR_NAME);
        for folder in others {
            mount_bind(&empty, &folder.path).map_err(|error| cover_error(&folder.path, error))?;
        }
        // Done last, because it hides the path of the empty folder.
        mount_bind(&empty, &first.path).map_err(at)?;
        unlinkat(&scratch, EMPTY_DIR_NAME, AtFlags::REMOVEDIR).map_err(at)?;
        self.folders.iter().try_for_each(|folder| read_only(&folder.path))
    }

    fn cover_files(&self) -> Result<(), ProtectionError> {
        for file in &self.files {
            let at = |error| cover_error(&file.path, error);
            mount_bind(COVER_DEVICE, &file.path).map_err(at)?;
            read_only(&file.path)?;
        }
        Ok(())
    }

    /// Checks that no denied path is still visible in its place.
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

/// Device and inode of what is at a path.
type FileId = (u64, u64);

/// The folders among these paths, by device and inode.
pub(super) fn folder_ids(paths: &BTreeSet<PathBuf>) -> BTreeMap<PathBuf, FileId> {
    let folder = |path: &PathBuf| {
        let about = path.symlink_metadata().ok().filter(Metadata::is_dir)?;
        Some((path.clone(), file_id(&about)))
    };
    paths.iter().filter_map(folder).collect()
}

/// Covers the denied files that are visible in this mount namespace, in which others were covered
/// before: those that were replaced or created since. So are folders that are visible, given those
/// outside of the namespace; what is open in one is for the host to find.
pub(super) fn cover_visible(
    denied: &BTreeSet<PathBuf>,
    folders_outside: &BTreeMap<PathBuf, FileId>,
) -> Result<(), ProtectionError> {
    let device = Path::new(COVER_DEVICE);
    let about = std::fs::metadata(device);
    let about = about.map_err(|_| ProtectionError::Uncovered { path: device.to_path_buf() })?;
    if !about.file_type().is_char_device() {
        return Err(ProtectionError::Uncovered { path: device.to_path_buf() });
    }
    let cover = file_id(&about);
    let uncovered = |path: &PathBuf| ProtectionError::Uncovered { path: path.clone() };
    for path in denied {
        let about = match path.symlink_metadata() {
            Ok(about) => about,
            // It does not exist, or a folder above it is covered.
            Err(error) if is_out_of_sight(error.kind()) => continue,
            Err(_) => return Err(uncovered(path)),
        };
        if about.is_symlink() {
            return Err(ProtectionError::SymbolicLink { path: path.clone() });
        }
        if about.is_dir() {
            let outside = folders_outside.get(path);
            if outside == Some(&file_id(&about)) {
                cover_folder(path)?;
                let about = path.symlink_metadata().map_err(|_| uncovered(path))?;
                if outside == Some(&file_id(&about)) {
                    return Err(uncovered(path));
                }
            }
            continue;
        }
        if file_id(&about) == cover {
            continue;
        }
        mount_bind(COVER_DEVICE, path).map_err(|error| cover_error(path, error))?;
        read_only(path)?;
        let about = path.symlink_metadata().map_err(|_| uncovered(path))?;
        if file_id(&about) != cover {
            return Err(uncovered(path));
        }
    }
    Ok(())
}

/// Covers a folder with an empty one in which nothing can be created.
fn cover_folder(path: &Path) -> Result<(), ProtectionError> {
    let mounted = mount("tmpfs", path, "tmpfs", COVER_FLAGS, Some(c"mode=000"));
    mounted.map_err(|error| cover_error(path, error))?;
    read_only(path)
}

fn is_out_of_sight(error: std::io::ErrorKind) -> bool {
    use std::io::ErrorKind;
    matches!(error, ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::PermissionDenied)
}

fn file_id(about: &Metadata) -> FileId {
    (about.st_dev(), about.st_ino())
}

const COVER_FLAGS: MountFlags =
    MountFlags::NODEV.union(MountFlags::NOSUID).union(MountFlags::NOEXEC);

fn read_only(path: &Path) -> Result<(), ProtectionError> {
    mount_remount(path, MountFlags::BIND | COVER_FLAGS | MountFlags::RDONLY, "")
        .map_err(|error| cover_error(path, error))
}

fn cover_error(path: &Path, source: Errno) -> ProtectionError {
    ProtectionError::Cover { path: path.to_path_buf(), source }
}
