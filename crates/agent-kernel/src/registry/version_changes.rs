//! Replaces and approves versions of registered capabilities.

use std::sync::Arc;

use weaver_types::{Capability, CapabilityId, Digest};

use super::{RegisteredCapability, Registry};
use crate::error::RegistryError;

impl Registry {
    /// Replaces the live version of a registered capability, for a host whose tools change. Its
    /// driver stays, and so does the version that every call is compared with: see
    /// [`Registry::approve_version`].
    ///
    /// # Errors
    /// [`RegistryError`], when its id is not registered, or its schema is not a JSON Schema.
    pub fn update_live_version(&self, capability: Capability) -> Result<(), RegistryError> {
        let unknown = || RegistryError::Unknown { id: capability.id().clone() };
        let driver = Arc::clone(&self.get(capability.id()).ok_or_else(unknown)?.driver);
        let entry = Arc::new(RegisteredCapability::new(capability, driver)?);
        self.write()?.replace(entry)
    }

    /// Makes the live version of a capability the registered one, if it has this fingerprint. The
    /// caller vouches that somebody has reviewed it.
    ///
    /// # Errors
    /// [`RegistryError`], when the id is not registered, or its live version has another
    /// fingerprint.
    pub fn approve_version(
        &self,
        id: &CapabilityId,
        fingerprint: Digest,
    ) -> Result<(), RegistryError> {
        self.write()?.approve(id, fingerprint)
    }
}
