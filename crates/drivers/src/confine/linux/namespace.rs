//! Moves this process into new namespaces, or into those of another process.

use std::fs::File;
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;

use nix::sched::{CloneFlags, unshare};
use rustix::process::{getgid, getuid};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

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

/// Moves this process into the mount namespace of another one, given the identity that it must have,
/// and into its user namespace, whose owner has every privilege there.
pub(super) fn join(process: u32, mount_namespace: u64) -> Result<(), ProtectionError> {
    let open = |kind: &str| {
        let opened = File::open(format!("/proc/{process}/ns/{kind}"));
        let named = opened.and_then(|file| Ok((file.metadata()?.ino(), file)));
        named.map_err(|source| ProtectionError::OpenNamespace { process, source })
    };
    let ((user_id, user), (mount_id, mounts)) = (open("user")?, open("mnt")?);
    let own = |kind: &str| {
        let about = std::fs::metadata(format!("/proc/self/ns/{kind}"));
        let id = about.map(|about| about.ino());
        id.map_err(|source| ProtectionError::OpenNamespace { process, source })
    };
    if mount_id != mount_namespace || mount_id == own("mnt")? {
        return Err(ProtectionError::OtherNamespace { process });
    }
    if user_id != own("user")? {
        move_into_link_name_space(user.as_fd(), Some(LinkNameSpaceType::User))?;
    }
    Ok(move_into_link_name_space(mounts.as_fd(), Some(LinkNameSpaceType::Mount))?)
}
