//! Versions of what is registered: another one, and the approval of one.

use std::sync::Arc;

use weaver_types::{Capability, CapabilityId, Digest};

use super::{RegisteredCapability, Registry};
use crate::error::RegistryError;

impl Registry {
    /// Puts another version in the place of a registered capability, for a host whose tools are not
    /// constant. Its driver stays, and so does the version with which every call is compared: see
    /// [`Registry::approve`].
    ///
    /// # Errors
    /// [`RegistryError`], when nothing of its id is registered, or its schema is no JSON Schema.
    pub fn update(&self, capability: Capability) -> Result<(), RegistryError> {
        let unknown = || RegistryError::Unknown { id: capability.id().clone() };
        let driver = Arc::clone(&self.get(capability.id()).ok_or_else(unknown)?.driver);
        let entry = Arc::new(RegisteredCapability::new(capability, driver)?);
        self.write()?.exchange(entry)
    }

    /// Takes the live version of a capability as the registered one, if it is the one of this
    /// fingerprint. Whoever calls this has looked at it.
    ///
    /// # Errors
    /// [`RegistryError`], when nothing of the id is registered, or something else by now.
    pub fn approve(&self, id: &CapabilityId, fingerprint: Digest) -> Result<(), RegistryError> {
        self.write()?.approve(id, fingerprint)
    }
}
