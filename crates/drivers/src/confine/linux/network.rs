//! Leaving the network.

use nix::sched::CloneFlags;

use super::namespace;

/// Moves this process into a network namespace without interfaces.
pub(super) fn leave() -> Result<(), String> {
    namespace::enter(CloneFlags::CLONE_NEWNET)
}
