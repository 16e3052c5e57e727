//! Leaving the network.

use nix::sched::{CloneFlags, unshare};
use rustix::process::{getgid, getuid};

/// Moves this process into a network namespace without interfaces. Whoever may not make one by
/// itself makes one in a user namespace of its own, in which it stays who it is.
pub(super) fn leave() -> Result<(), String> {
    if unshare(CloneFlags::CLONE_NEWNET).is_ok() {
        return Ok(());
    }
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    let both = CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET;
    unshare(both).map_err(|error| format!("no user and network namespace: {error}"))?;
    let maps = [
        ("/proc/self/setgroups", "deny".to_owned()),
        ("/proc/self/uid_map", format!("{user} {user} 1")),
        ("/proc/self/gid_map", format!("{group} {group} 1")),
    ];
    for (file, text) in maps {
        std::fs::write(file, text).map_err(|error| format!("{file} cannot be written: {error}"))?;
    }
    Ok(())
}
