//! The registry: which capabilities there are, and what executes each.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, RwLock};

use weaver_policy::{ContractError, PolicySet};
use weaver_types::{AgentId, Capability, CapabilityId, Digest, SafetyClass};

use crate::arguments::ArgumentCheck;
use crate::driver::{AuthorizedCall, Driver, DriverError};
use crate::error::RegistryError;
use crate::function::FnDriver;

/// The most capabilities that one registry holds.
pub const MAX_CAPABILITIES: usize = 100_000;

/// A registered capability.
pub struct Registered {
    pub(crate) capability: Capability,
    pub(crate) driver: Arc<dyn Driver>,
    pub(crate) arguments: ArgumentCheck,
    /// The capability under the contracts that were last asked about.
    effective: Mutex<Option<(Digest, Arc<Capability>)>>,
}

impl Registered {
    fn new(capability: Capability, driver: Arc<dyn Driver>) -> Result<Self, RegistryError> {
        let arguments = ArgumentCheck::new(&capability)?;
        Ok(Self { capability, driver, arguments, effective: Mutex::new(None) })
    }

    /// The capability with its signed contract applied; computed once for each contracts document.
    ///
    /// # Errors
    /// [`ContractError`]; the capability must then not be offered.
    pub fn effective(&self, policy: &PolicySet) -> Result<Arc<Capability>, ContractError> {
        let contracts = policy.basis().contracts;
        let Ok(mut cached) = self.effective.lock() else {
            return policy.effective(&self.capability).map(Arc::new);
        };
        if let Some((of, capability)) = cached.as_ref()
            && *of == contracts
        {
            return Ok(Arc::clone(capability));
        }
        let capability = Arc::new(policy.effective(&self.capability)?);
        *cached = Some((contracts, Arc::clone(&capability)));
        Ok(capability)
    }

    /// The capability as it was registered, before the signed contracts are applied to it.
    #[must_use]
    pub fn capability(&self) -> &Capability {
        &self.capability
    }

    /// The fingerprint at registration.
    #[must_use]
    pub fn fingerprint(&self) -> Digest {
        self.capability.fingerprint()
    }
}

/// Capabilities by id. Readers and writers may be on any thread.
#[derive(Default)]
pub struct Registry {
    entries: RwLock<BTreeMap<CapabilityId, Arc<Registered>>>,
}

impl Registry {
    /// An empty registry.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers a capability with its driver.
    ///
    /// # Errors
    /// [`RegistryError`], when the id is taken, its schema is no JSON Schema, or the registry is
    /// full.
    pub fn register(
        &self,
        capability: Capability,
        driver: Arc<dyn Driver>,
    ) -> Result<(), RegistryError> {
        let entry = Arc::new(Registered::new(capability, driver)?);
        let mut entries = self.entries.write().map_err(|_| RegistryError::Poisoned)?;
        if entries.contains_key(entry.capability.id()) {
            return Err(RegistryError::Duplicate { id: entry.capability.id().clone() });
        }
        if entries.len() >= MAX_CAPABILITIES {
            return Err(RegistryError::Full { limit: MAX_CAPABILITIES });
        }
        entries.insert(entry.capability.id().clone(), entry);
        Ok(())
    }

    /// Registers a capability with a host function that may block.
    ///
    /// # Errors
    /// As [`Registry::register`].
    pub fn register_fn(
        &self,
        capability: Capability,
        f: impl Fn(AuthorizedCall) -> Result<weaver_types::RawResult, DriverError>
        + Send
        + Sync
        + 'static,
    ) -> Result<(), RegistryError> {
        self.register(capability, Arc::new(FnDriver::blocking(f)))
    }

    /// Puts a new set in the place of all capabilities whose id begins with `prefix`, in one step.
    /// What cannot be registered is left out and named.
    ///
    /// # Errors
    /// [`RegistryError::Poisoned`] or [`RegistryError::Full`]; nothing is changed then.
    pub fn replace_prefix(
        &self,
        prefix: &str,
        set: Vec<(Capability, Arc<dyn Driver>)>,
    ) -> Result<Vec<RegistryError>, RegistryError> {
        let mut refused = Vec::new();
        let mut fresh = BTreeMap::new();
        for (capability, driver) in set {
            let id = capability.id().clone();
            if !id.as_str().starts_with(prefix) {
                refused.push(RegistryError::Misplaced { id, prefix: prefix.to_owned() });
                continue;
            }
            if fresh.contains_key(&id) {
                refused.push(RegistryError::Duplicate { id });
                continue;
            }
            match Registered::new(capability, driver) {
                Ok(entry) => drop(fresh.insert(id, Arc::new(entry))),
                Err(error) => refused.push(error),
            }
        }
        let mut entries = self.entries.write().map_err(|_| RegistryError::Poisoned)?;
        let others = entries.keys().filter(|id| !id.as_str().starts_with(prefix)).count();
        if others + fresh.len() > MAX_CAPABILITIES {
            return Err(RegistryError::Full { limit: MAX_CAPABILITIES });
        }
        entries.retain(|id, _| !id.as_str().starts_with(prefix));
        entries.extend(fresh);
        Ok(refused)
    }

    /// Looks one up.
    #[must_use]
    pub fn get(&self, id: &CapabilityId) -> Option<Arc<Registered>> {
        self.entries.read().ok()?.get(id).cloned()
    }

    /// All capabilities, sorted by id.
    #[must_use]
    pub fn list_all(&self) -> Vec<Arc<Registered>> {
        self.entries.read().map(|entries| entries.values().cloned().collect()).unwrap_or_default()
    }

    /// All ids, sorted.
    #[must_use]
    pub fn list_ids(&self) -> Vec<CapabilityId> {
        self.entries.read().map(|entries| entries.keys().cloned().collect()).unwrap_or_default()
    }

    /// Capabilities of this class or below.
    #[must_use]
    pub fn filter_by_safety(&self, ceiling: SafetyClass) -> Vec<Arc<Registered>> {
        self.list_all().into_iter().filter(|entry| entry.capability.class() <= ceiling).collect()
    }

    /// Capabilities that this agent may use by their own declaration.
    #[must_use]
    pub fn filter_for_agent(&self, agent: &AgentId) -> Vec<Arc<Registered>> {
        self.list_all()
            .into_iter()
            .filter(|entry| entry.capability.spec().agents.admits(Some(agent)))
            .collect()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.read().map(|entries| entries.len()).unwrap_or_default()
    }

    /// True when there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True when this one is registered.
    #[must_use]
    pub fn contains(&self, id: &CapabilityId) -> bool {
        self.get(id).is_some()
    }
}
