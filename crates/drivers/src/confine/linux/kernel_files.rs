//! Kernel files that control other processes and the machine: `/proc` and `/sys`.

use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, mount_remount};
use rustix::process::getuid;

use super::error::ProtectionError;

const PROCESSES: &str = "/proc";
const SYSTEM: &str = "/sys";
/// The list of mounts that this process sees.
const MOUNTS: &str = "/proc/self/mountinfo";
/// The flags of a read-only kernel file system.
const READ_ONLY_FLAGS: MountFlags = MountFlags::BIND
    .union(MountFlags::RDONLY)
    .union(MountFlags::NODEV)
    .union(MountFlags::NOSUID)
    .union(MountFlags::NOEXEC);

/// Whether this path is a kernel file that this user must not write.
///
/// For root that includes `/proc`. For other users the files of a process belong to its owner, so a
/// host protects its own with [`keep_process_private`](crate::confine::keep_process_private).
pub(super) fn is_read_only(path: &Path) -> bool {
    let below = |folder: &str| path.starts_with(folder);
    below(SYSTEM) || (below(PROCESSES) && getuid().is_root())
}

/// Makes kernel files read-only, in a mount namespace of this process.
pub(super) fn make_read_only() -> Result<(), ProtectionError> {
    let mounts =
        std::fs::read(MOUNTS).map_err(|source| ProtectionError::Read { file: MOUNTS, source })?;
    let mut closed: Vec<PathBuf> =
        mounts.split(|byte| *byte == b'\n').filter_map(mount_point).collect();
    closed.retain(|path| is_read_only(path));
    for path in closed {
        match mount_remount(&path, READ_ONLY_FLAGS, "") {
            // A mount covered by another one is not accessible.
            Ok(()) | Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOENT) => {}
            Err(source) => return Err(ProtectionError::KernelFiles { path, source }),
        }
    }
    Ok(())
}

/// The place of a mount: the fifth word of its line. The kernel writes blanks and the like as
/// octal numbers; folders of the kernel have none.
fn mount_point(line: &[u8]) -> Option<PathBuf> {
    let word = line.split(|byte| *byte == b' ').nth(4)?;
    Some(PathBuf::from(std::str::from_utf8(word).ok()?))
}
