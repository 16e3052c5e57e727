//! The open descriptors of this process.

use std::os::fd::RawFd;

use super::error::ProtectionError;

/// The kernel's list of this process's descriptors.
const OPEN_DESCRIPTORS: &str = "/proc/self/fd";

/// Closes all except the three standard descriptors, so that the child inherits none.
pub(super) fn close_inherited() -> Result<(), ProtectionError> {
    let folder = std::fs::read_dir(OPEN_DESCRIPTORS)
        .map_err(|source| ProtectionError::Read { file: OPEN_DESCRIPTORS, source })?;
    let open: Vec<RawFd> = folder
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|descriptor| *descriptor > 2)
        .collect();
    for descriptor in open {
        // The descriptor used to read the folder is already closed.
        let _ = nix::unistd::close(descriptor);
    }
    Ok(())
}
