//! Files of the kernel by which other processes and the machine are set: `/proc` and `/sys`.

use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, mount_remount};
use rustix::process::getuid;

use super::error::ProtectionError;

const PROCESSES: &str = "/proc";
const SYSTEM: &str = "/sys";
/// The mounts that this process sees.
const MOUNTS: &str = "/proc/self/mountinfo";
/// What every mount of these has.
const FLAGS: MountFlags = MountFlags::BIND
    .union(MountFlags::RDONLY)
    .union(MountFlags::NODEV)
    .union(MountFlags::NOSUID)
    .union(MountFlags::NOEXEC);

/// Whether this is where a file of the kernel lies that this user must not write.
///
/// For root that is `/proc` too. For others the files of a process belong to whoever owns it, so
/// that a host keeps its own by [`keep_process_private`](crate::confine::keep_process_private).
pub(super) fn is_closed(path: &Path) -> bool {
    let below = |folder: &str| path.starts_with(folder);
    below(SYSTEM) || (below(PROCESSES) && getuid().is_root())
}

/// Makes them read-only, in a mount namespace of this process's own.
pub(super) fn close() -> Result<(), ProtectionError> {
    let mounts =
        std::fs::read(MOUNTS).map_err(|source| ProtectionError::Read { file: MOUNTS, source })?;
    let mut closed: Vec<PathBuf> = mounts.split(|byte| *byte == b'\n').filter_map(place).collect();
    closed.retain(|path| is_closed(path));
    for path in closed {
        match mount_remount(&path, FLAGS, "") {
            // What another mount covers is out of reach.
            Ok(()) | Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOENT) => {}
            Err(source) => return Err(ProtectionError::KernelFiles { path, source }),
        }
    }
    Ok(())
}

/// The place of a mount: the fifth word of its line. The kernel writes blanks and the like as
/// octal numbers; folders of the kernel have none.
fn place(line: &[u8]) -> Option<PathBuf> {
    let word = line.split(|byte| *byte == b' ').nth(4)?;
    Some(PathBuf::from(std::str::from_utf8(word).ok()?))
}
