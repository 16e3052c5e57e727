//! Moves this process into new namespaces.

use nix::sched::{CloneFlags, unshare};
use rustix::process::{getgid, getuid};

use super::error::ProtectionError;

/// Moves this process into new namespaces of these kinds. Without the privilege to create them it
/// creates them in a new user namespace, keeping its user id.
pub(super) fn enter(kinds: CloneFlags) -> Result<(), ProtectionError> {
    if unshare(kinds).is_ok() {
        return Ok(());
    }
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    let both = CloneFlags::CLONE_NEWUSER | kinds;
    unshare(both).map_err(|source| ProtectionError::Namespace { source })?;
    let maps = [
        ("/proc/self/setgroups", "deny".to_owned()),
        ("/proc/self/uid_map", format!("{user} {user} 1")),
        ("/proc/self/gid_map", format!("{group} {group} 1")),
    ];
    for (file, text) in maps {
        std::fs::write(file, text).map_err(|source| ProtectionError::Write { file, source })?;
    }
    Ok(())
}
