//! Leaves the host's network.

use nix::sched::CloneFlags;

use super::error::ProtectionError;
use super::namespace;

/// Moves this process into a network namespace without interfaces.
pub(super) fn leave() -> Result<(), ProtectionError> {
    namespace::enter(CloneFlags::CLONE_NEWNET)
}
