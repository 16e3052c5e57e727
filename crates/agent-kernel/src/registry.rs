//! The registry: the capabilities with their drivers.
//!
//! Ids are visually unique as well: an id that a reader could mistake for an existing one is
//! refused. The first version that was registered under an id is remembered, and every call is
//! compared with it. A namespace may be declared with a loader, which runs once, on first use.

mod entries;
mod first_versions;
mod namespace;
mod registered_capability;
mod search;
mod state_changes;
mod suspicion;
mod version_changes;

use std::collections::BTreeMap;
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};

use weaver_types::{AgentId, Capability, CapabilityId, SafetyClass};

use crate::driver::{AuthorizedCall, Driver, DriverError};
use crate::error::RegistryError;
use crate::fn_driver::FnDriver;
use entries::RegistryEntries;
use namespace::Namespace;

pub use namespace::{LoadError, LoadResult, NamespaceInfo};
pub use registered_capability::RegisteredCapability;
pub(crate) use suspicion::suspicion_kinds;
pub use suspicion::suspicions;

/// The most capabilities that one registry holds.
pub const MAX_CAPABILITIES: usize = 100_000;

/// The registered capabilities by id. It may be used from any thread.
///
/// ```
/// use weaver_agent_kernel::Registry;
/// use weaver_types::{RawResult, ToolSpec};
///
/// let registry = Registry::new();
/// let spec = ToolSpec::new("notes.search", "Search notes").build()?;
/// registry.register_fn(spec, |_| Ok(RawResult::text("nothing found")))?;
/// assert_eq!(registry.search("find my notes", 10, 0).len(), 1);
///
/// // `rn` and `m` are one and the same to a reader.
/// let twin = ToolSpec::new("notes.forrn", "Form").build()?;
/// registry.register_fn(ToolSpec::new("notes.form", "Form").build()?, |_| Ok(RawResult::text("")))?;
/// assert!(registry.register_fn(twin, |_| Ok(RawResult::text(""))).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Default)]
pub struct Registry {
    entries: RwLock<RegistryEntries>,
    namespaces: RwLock<BTreeMap<String, Arc<Namespace>>>,
}

weaver_types::opaque_debug!(Registry);

impl Registry {
    /// An empty registry.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn read(&self) -> Result<RwLockReadGuard<'_, RegistryEntries>, RegistryError> {
        self.entries.read().map_err(|_| RegistryError::Poisoned)
    }

    fn write(&self) -> Result<RwLockWriteGuard<'_, RegistryEntries>, RegistryError> {
        self.entries.write().map_err(|_| RegistryError::Poisoned)
    }

    /// Registers a capability with its driver.
    ///
    /// # Errors
    /// [`RegistryError`], when the id is taken or looks like one that is, its schema is no JSON
    /// Schema, or the registry is full.
    pub fn register(
        &self,
        capability: Capability,
        driver: Arc<dyn Driver>,
    ) -> Result<(), RegistryError> {
        let entry = Arc::new(RegisteredCapability::new(capability, driver)?);
        self.write()?.insert(entry)
    }

    /// Registers a capability with a host function that may block.
    ///
    /// Results of a capability that declares no output label are internal and untrusted: a run that
    /// has seen one is tainted, and what it writes outside is held until people approve it or the
    /// origin of its arguments is trusted. Set
    /// [`output_label`](weaver_types::CapabilityDraft::output_label) for a tool whose answers all
    /// come from the host itself.
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

    /// Declares a namespace: `loader` makes all capabilities whose ids begin with `namespace` and
    /// a dot. It runs when such an id, or the list of all ids, is first requested; only once, and
    /// again only after it failed. Its capabilities are registered all together or not at all. It
    /// runs on the requesting thread, which may be that of a call.
    ///
    /// # Errors
    /// [`RegistryError`], when the name cannot begin an id, is declared already, or there are too
    /// many.
    pub fn register_namespace(
        &self,
        namespace: &str,
        loader: impl Fn() -> LoadResult + Send + Sync + 'static,
    ) -> Result<(), RegistryError> {
        if !namespace::is_namespace_name(namespace) {
            return Err(RegistryError::InvalidNamespace {
                namespace: namespace.escape_debug().take(80).collect(),
            });
        }
        let mut declared = self.namespaces.write().map_err(|_| RegistryError::Poisoned)?;
        if declared.contains_key(namespace) {
            return Err(RegistryError::NamespaceTaken { namespace: namespace.to_owned() });
        }
        if declared.len() >= MAX_CAPABILITIES {
            return Err(RegistryError::Full { limit: MAX_CAPABILITIES });
        }
        let entry = Namespace::new(namespace, Box::new(loader));
        declared.insert(namespace.to_owned(), Arc::new(entry));
        Ok(())
    }

    /// Replaces all capabilities whose ids begin with `prefix` by a new set, in one step. Returns
    /// an error for each one that cannot be registered. Of two with ids that look alike, the one
    /// that was registered before stays.
    ///
    /// # Errors
    /// [`RegistryError::Poisoned`] or [`RegistryError::Full`]; nothing is changed then.
    pub fn replace_prefix(
        &self,
        prefix: &str,
        set: Vec<(Capability, Arc<dyn Driver>)>,
    ) -> Result<Vec<RegistryError>, RegistryError> {
        let mut refused = Vec::new();
        let mut new_entries = BTreeMap::new();
        for (capability, driver) in set {
            match checked_registration(prefix, capability, driver) {
                Ok(entry) if new_entries.contains_key(entry.capability.id()) => {
                    refused.push(RegistryError::Duplicate { id: entry.capability.id().clone() });
                }
                Ok(entry) => drop(new_entries.insert(entry.capability.id().clone(), entry)),
                Err(error) => refused.push(error),
            }
        }
        let mut entries = self.write()?;
        let before = entries.ids_with_prefix(prefix);
        if entries.by_id().len() - before.len() + new_entries.len() > MAX_CAPABILITIES {
            return Err(RegistryError::Full { limit: MAX_CAPABILITIES });
        }
        before.iter().for_each(|id| entries.remove(id));
        let replaced: Vec<_> = before.iter().filter_map(|id| new_entries.remove(id)).collect();
        refused.extend(entries::remove_confusable(&mut new_entries));
        for entry in replaced.into_iter().chain(new_entries.into_values()) {
            refused.extend(entries.insert(entry).err());
        }
        Ok(refused)
    }

    /// Removes everything under `namespace`, the part of an id before its first dot, and forgets it:
    /// what is registered there from then on is compared with nothing that was there before. For a
    /// server that the operator has removed, or replaced by another.
    ///
    /// # Errors
    /// [`RegistryError`], when the lock of the registry is poisoned.
    pub fn remove_namespace(&self, namespace: &str) -> Result<(), RegistryError> {
        self.write()?.remove_namespace(namespace);
        Ok(())
    }

    /// Marks a server's first listing as complete: what is new from now on under `namespace`, the
    /// part of an id before its first dot, counts as late. A glob in the contracts does not make a
    /// late tool callable if it does more than read.
    ///
    /// # Errors
    /// [`RegistryError`], when the lock of the registry is poisoned.
    pub fn end_first_listing(&self, namespace: &str) -> Result<(), RegistryError> {
        self.write()?.end_first_listing(namespace);
        Ok(())
    }

    /// Looks up a capability; loads its declared namespace if necessary.
    #[must_use]
    pub fn get(&self, id: &CapabilityId) -> Option<Arc<RegisteredCapability>> {
        let look_up = || self.read().ok()?.by_id().get(id).cloned();
        if let Some(entry) = look_up() {
            return Some(entry);
        }
        for namespace in self.declared_namespaces(namespace::namespaces_of(id.as_str())) {
            // `namespace` and `namespaces` say why a loader failed.
            let _ = self.load(&namespace);
            if let Some(entry) = look_up() {
                return Some(entry);
            }
        }
        None
    }

    /// The driver of a capability. It cannot be called without the kernel: it only accepts an
    /// [`AuthorizedCall`], which only the kernel makes.
    #[must_use]
    pub fn get_callable(&self, id: &CapabilityId) -> Option<Arc<dyn Driver>> {
        self.get(id).map(|entry| Arc::clone(&entry.driver))
    }

    /// The declared namespaces among these prefixes.
    fn declared_namespaces<'p>(
        &self,
        prefixes: impl Iterator<Item = &'p str>,
    ) -> Vec<Arc<Namespace>> {
        let Ok(declared) = self.namespaces.read() else { return Vec::new() };
        if declared.is_empty() {
            return Vec::new();
        }
        prefixes.filter_map(|prefix| declared.get(prefix).cloned()).collect()
    }

    fn load(&self, namespace: &Namespace) -> Result<(), RegistryError> {
        namespace.load(|loaded| self.insert_all(namespace.name(), loaded))
    }

    /// Registers all of them or none.
    fn insert_all(
        &self,
        namespace: &str,
        loaded: Vec<(Capability, Arc<dyn Driver>)>,
    ) -> Result<(), RegistryError> {
        let prefix = format!("{namespace}.");
        let checked: Vec<_> = loaded
            .into_iter()
            .map(|(capability, driver)| checked_registration(&prefix, capability, driver))
            .collect::<Result<_, _>>()?;
        let mut entries = self.write()?;
        for (index, entry) in checked.iter().enumerate() {
            if let Err(error) = entries.insert(Arc::clone(entry)) {
                checked.iter().take(index).for_each(|entry| entries.undo_insert(entry));
                return Err(error);
            }
        }
        Ok(())
    }

    /// Reads the entries after loading every declared namespace that can be loaded.
    fn with_all_loaded<T>(&self, look: impl FnOnce(&RegistryEntries) -> T) -> Option<T> {
        let declared: Vec<_> =
            self.namespaces.read().map(|all| all.values().cloned().collect()).unwrap_or_default();
        for namespace in declared {
            let _ = self.load(&namespace);
        }
        self.read().ok().map(|entries| look(&entries))
    }

    /// The namespaces, sorted: the declared ones, and the parts of registered ids before the first
    /// dot. Loads nothing.
    #[must_use]
    pub fn namespaces(&self) -> Vec<NamespaceInfo> {
        let Ok(entries) = self.read() else { return Vec::new() };
        let ids = entries.by_id().keys();
        let mut namespaces: BTreeMap<String, NamespaceInfo> = ids
            .filter_map(|id| id.as_str().split_once('.'))
            .map(|(prefix, _)| (prefix.to_owned(), NamespaceInfo::of(prefix)))
            .collect();
        if let Ok(declared) = self.namespaces.read() {
            namespaces.extend(declared.iter().map(|(name, one)| (name.clone(), one.info())));
        }
        for (prefix, info) in &mut namespaces {
            info.capabilities = entries.ids_with_prefix(&format!("{prefix}.")).len();
        }
        namespaces.into_values().collect()
    }

    /// The capabilities of a namespace, sorted by id; loads it if it is declared.
    ///
    /// # Errors
    /// [`RegistryError::UnknownNamespace`], or the error of its loader.
    pub fn namespace(&self, name: &str) -> Result<Vec<Arc<RegisteredCapability>>, RegistryError> {
        let declared =
            self.declared_namespaces(std::iter::once(name).chain(namespace::namespaces_of(name)));
        for namespace in &declared {
            self.load(namespace)?;
        }
        let entries = self.read()?;
        let under = entries.ids_with_prefix(&format!("{name}."));
        if under.is_empty() && declared.is_empty() {
            let namespace = name.escape_debug().take(80).collect();
            return Err(RegistryError::UnknownNamespace { namespace });
        }
        Ok(under.iter().filter_map(|id| entries.by_id().get(id).cloned()).collect())
    }

    /// All capabilities, sorted by id.
    #[must_use]
    pub fn list_all(&self) -> Vec<Arc<RegisteredCapability>> {
        self.with_all_loaded(|entries| entries.by_id().values().cloned().collect())
            .unwrap_or_default()
    }

    /// All ids, sorted.
    #[must_use]
    pub fn list_ids(&self) -> Vec<CapabilityId> {
        self.with_all_loaded(|entries| entries.by_id().keys().cloned().collect())
            .unwrap_or_default()
    }

    /// Capabilities of this class or below.
    #[must_use]
    pub fn filter_by_safety(&self, ceiling: SafetyClass) -> Vec<Arc<RegisteredCapability>> {
        self.list_all().into_iter().filter(|entry| entry.capability.class() <= ceiling).collect()
    }

    /// Capabilities whose own declaration admits this agent.
    #[must_use]
    pub fn filter_for_agent(&self, agent: &AgentId) -> Vec<Arc<RegisteredCapability>> {
        self.list_all()
            .into_iter()
            .filter(|entry| entry.capability.spec().agents.admits(Some(agent)))
            .collect()
    }

    /// At most `max` capabilities that share words with the goal, best first, after skipping
    /// `offset`. It searches everything that is registered, whatever the caller may use. To find
    /// tools for a goal, use contextweaver's router.
    #[must_use]
    pub fn search(&self, goal: &str, max: usize, offset: usize) -> Vec<Arc<RegisteredCapability>> {
        search::rank(self.list_all(), goal).into_iter().skip(offset).take(max).collect()
    }

    /// The number of capabilities.
    #[must_use]
    pub fn len(&self) -> usize {
        self.with_all_loaded(|entries| entries.by_id().len()).unwrap_or_default()
    }

    /// True when there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True when this id is registered.
    #[must_use]
    pub fn contains(&self, id: &CapabilityId) -> bool {
        self.get(id).is_some()
    }
}

/// Checks a registration under `prefix` before it is inserted.
fn checked_registration(
    prefix: &str,
    capability: Capability,
    driver: Arc<dyn Driver>,
) -> Result<Arc<RegisteredCapability>, RegistryError> {
    let id = capability.id();
    if !id.as_str().starts_with(prefix) {
        return Err(RegistryError::OutsidePrefix { id: id.clone(), prefix: prefix.to_owned() });
    }
    RegisteredCapability::new(capability, driver).map(Arc::new)
}
