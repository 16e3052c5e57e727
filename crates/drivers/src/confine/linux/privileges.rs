//! Privileges that would circumvent a confinement.

use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, capability_is_in_bounding_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};

use super::error::ProtectionError;

/// The capabilities that root keeps: owners and modes of files, other users, low ports. Others,
/// such as mounting, raw devices and kernel memory, would circumvent the rules.
const KEPT_CAPABILITIES: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETFCAP)
    .union(CapabilitySet::NET_BIND_SERVICE);

/// Prevents programs started from now on from gaining privileges through setuid or file
/// capabilities.
pub(super) fn forbid_new_privileges() -> Result<(), ProtectionError> {
    Ok(set_no_new_privs(true)?)
}

/// Drops the capabilities that would circumvent the confinement. Ordinary users have none.
pub(super) fn drop_capabilities() -> Result<(), ProtectionError> {
    let current = capabilities(None)?;
    if current.effective.contains(CapabilitySet::SETPCAP) {
        for bit in 0..64 {
            let one = CapabilitySet::from_bits_retain(1 << bit);
            match capability_is_in_bounding_set(one) {
                Ok(true) if !KEPT_CAPABILITIES.contains(one) => {
                    remove_capability_from_bounding_set(one)?;
                }
                Ok(_) => {}
                // The kernel has no further capabilities.
                Err(_) => break,
            }
        }
    }
    let kept = CapabilitySets {
        effective: current.effective & KEPT_CAPABILITIES,
        permitted: current.permitted & KEPT_CAPABILITIES,
        inheritable: CapabilitySet::empty(),
    };
    Ok(set_capabilities(None, kept)?)
}
