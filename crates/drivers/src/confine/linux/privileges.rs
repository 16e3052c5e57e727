//! Privileges that go round a confinement.

use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, capability_is_in_bounding_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};

use super::error::ProtectionError;

/// What root keeps: owners and modes of files, other users, low ports. Everything else, such as
/// mounting, raw devices and kernel memory, would lead around the rules.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETFCAP)
    .union(CapabilitySet::NET_BIND_SERVICE);

/// No program that is started from here on, be it setuid or with file capabilities, gains privileges.
pub(super) fn forbid_new_privileges() -> Result<(), ProtectionError> {
    Ok(set_no_new_privs(true)?)
}

/// Gives up the capabilities that go round the rest. Ordinary users have none.
pub(super) fn drop_capabilities() -> Result<(), ProtectionError> {
    let held = capabilities(None)?;
    if held.effective.contains(CapabilitySet::SETPCAP) {
        for bit in 0..64 {
            let one = CapabilitySet::from_bits_retain(1 << bit);
            match capability_is_in_bounding_set(one) {
                Ok(true) if !KEPT.contains(one) => {
                    remove_capability_from_bounding_set(one)?;
                }
                Ok(_) => {}
                // The kernel knows no more of them.
                Err(_) => break,
            }
        }
    }
    let kept = CapabilitySets {
        effective: held.effective & KEPT,
        permitted: held.permitted & KEPT,
        inheritable: CapabilitySet::empty(),
    };
    Ok(set_capabilities(None, kept)?)
}
