//! What this process has open beside its three standard descriptors.

use std::os::fd::RawFd;

use super::error::ProtectionError;

/// What the kernel says this process has open.
const OPEN: &str = "/proc/self/fd";

/// Closes all of it: neither what our caller left open nor what its caller did reaches a child.
pub(super) fn close() -> Result<(), ProtectionError> {
    let folder =
        std::fs::read_dir(OPEN).map_err(|source| ProtectionError::Read { file: OPEN, source })?;
    let open: Vec<RawFd> = folder
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|descriptor| *descriptor > 2)
        .collect();
    for descriptor in open {
        // The one by which the folder was read is closed already.
        let _ = nix::unistd::close(descriptor);
    }
    Ok(())
}
