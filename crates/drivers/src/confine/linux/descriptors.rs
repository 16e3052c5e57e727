//! What this process has open beside its three standard descriptors.

use std::os::fd::RawFd;

/// Closes all of it: neither what our caller left open nor what its caller did reaches a child.
pub(super) fn close() -> Result<(), String> {
    let folder = std::fs::read_dir("/proc/self/fd")
        .map_err(|error| format!("/proc/self/fd cannot be read: {error}"))?;
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
