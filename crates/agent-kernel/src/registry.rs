//! The registry: which capabilities there are, and what executes each.
//!
//! Ids are visually unique too: one that a reader could mistake for an existing id is refused. What
//! was registered first under an id is remembered, and every call is compared with it. A namespace
//! may be declared with a loader, which runs once, when somebody first asks.

mod entries;
mod first_seen;
mod namespace;
mod registered_capability;
mod search;
mod suspicion;
mod version;

use std::collections::BTreeMap;
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};

use weaver_types::{AgentId, Capability, CapabilityId, SafetyClass};

use crate::driver::{AuthorizedCall, Driver, DriverError};
use crate::error::RegistryError;
use crate::function::FnDriver;
use entries::Entries;
use namespace::Namespace;

pub use namespace::{LoadError, LoadResult, NamespaceInfo};
pub use registered_capability::RegisteredCapability;
pub(crate) use suspicion::kinds;
pub use suspicion::suspicions;

/// The most capabilities that one registry holds.
pub const MAX_CAPABILITIES: usize = 100_000;

/// Capabilities by id. Readers and writers may be on any thread.
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
    entries: RwLock<Entries>,
    namespaces: RwLock<BTreeMap<String, Arc<Namespace>>>,
}

impl Registry {
    /// An empty registry.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn read(&self) -> Result<RwLockReadGuard<'_, Entries>, RegistryError> {
        self.entries.read().map_err(|_| RegistryError::Poisoned)
    }

    fn write(&self) -> Result<RwLockWriteGuard<'_, Entries>, RegistryError> {
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
    /// Results of a capability that does not declare its output label are internal and untrusted:
    /// a run that has seen one is tainted, and what it writes outside is held until people or the
    /// origin of its arguments speak for it. [`output_label`](weaver_types::CapabilityDraft::output_label)
    /// declares it, for a tool whose every answer is the host's own word.
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

    /// Declares a namespace: `loader` makes everything whose id begins with `prefix` and a dot. It
    /// runs when such an id is first asked for, or all ids are; once, whoever asks, and again only
    /// after it failed. What it makes is registered as a whole or not at all. It runs on the thread
    /// of whoever asks, which may be that of a call.
    ///
    /// # Errors
    /// [`RegistryError`], when the prefix cannot begin an id, is declared already, or there are too
    /// many.
    pub fn register_namespace(
        &self,
        prefix: &str,
        loader: impl Fn() -> LoadResult + Send + Sync + 'static,
    ) -> Result<(), RegistryError> {
        if !namespace::is_prefix(prefix) {
            return Err(RegistryError::Prefix { prefix: prefix.escape_debug().take(80).collect() });
        }
        let mut declared = self.namespaces.write().map_err(|_| RegistryError::Poisoned)?;
        if declared.contains_key(prefix) {
            return Err(RegistryError::NamespaceTaken { prefix: prefix.to_owned() });
        }
        if declared.len() >= MAX_CAPABILITIES {
            return Err(RegistryError::Full { limit: MAX_CAPABILITIES });
        }
        let namespace = Namespace::new(prefix, Box::new(loader));
        declared.insert(prefix.to_owned(), Arc::new(namespace));
        Ok(())
    }

    /// Puts a new set in the place of all capabilities whose id begins with `prefix`, in one step.
    /// What cannot be registered is left out and named. Of two whose ids look alike, the one that
    /// was there before stays.
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
            match checked(prefix, capability, driver) {
                Ok(entry) if fresh.contains_key(entry.capability.id()) => {
                    refused.push(RegistryError::Duplicate { id: entry.capability.id().clone() });
                }
                Ok(entry) => drop(fresh.insert(entry.capability.id().clone(), entry)),
                Err(error) => refused.push(error),
            }
        }
        let mut entries = self.write()?;
        let before = entries.under(prefix);
        if entries.by_id().len() - before.len() + fresh.len() > MAX_CAPABILITIES {
            return Err(RegistryError::Full { limit: MAX_CAPABILITIES });
        }
        before.iter().for_each(|id| entries.remove(id));
        let kept: Vec<_> = before.iter().filter_map(|id| fresh.remove(id)).collect();
        refused.extend(entries::take_alike(&mut fresh));
        for entry in kept.into_iter().chain(fresh.into_values()) {
            refused.extend(entries.insert(entry).err());
        }
        Ok(refused)
    }

    /// Marks a server's first listing as whole: what is new under `namespace`, the part of an id
    /// before its first dot, comes late from here on. A glob of the contracts does not make it
    /// callable where it does more than read.
    ///
    /// # Errors
    /// [`RegistryError`], when a thread died while it held the registry.
    pub fn settle(&self, namespace: &str) -> Result<(), RegistryError> {
        self.write()?.settle(namespace);
        Ok(())
    }

    /// Looks one up, and loads its namespace for it where that is declared.
    #[must_use]
    pub fn get(&self, id: &CapabilityId) -> Option<Arc<RegisteredCapability>> {
        let found = || self.read().ok()?.by_id().get(id).cloned();
        if let Some(entry) = found() {
            return Some(entry);
        }
        for namespace in self.declared(namespace::prefixes(id.as_str())) {
            // Why a loader failed is told by `namespace` and `namespaces`.
            let _ = self.load(&namespace);
            if let Some(entry) = found() {
                return Some(entry);
            }
        }
        None
    }

    /// What executes a capability. Nobody can call it past the kernel: all that it takes is an
    /// [`AuthorizedCall`], which the kernel alone makes.
    #[must_use]
    pub fn get_callable(&self, id: &CapabilityId) -> Option<Arc<dyn Driver>> {
        self.get(id).map(|entry| Arc::clone(&entry.driver))
    }

    /// Those of these prefixes that are declared.
    fn declared<'p>(&self, prefixes: impl Iterator<Item = &'p str>) -> Vec<Arc<Namespace>> {
        let Ok(declared) = self.namespaces.read() else { return Vec::new() };
        if declared.is_empty() {
            return Vec::new();
        }
        prefixes.filter_map(|prefix| declared.get(prefix).cloned()).collect()
    }

    fn load(&self, namespace: &Namespace) -> Result<(), RegistryError> {
        namespace.load(|made| self.put_all(namespace.prefix(), made))
    }

    /// Registers all of them or none.
    fn put_all(
        &self,
        namespace: &str,
        made: Vec<(Capability, Arc<dyn Driver>)>,
    ) -> Result<(), RegistryError> {
        let prefix = format!("{namespace}.");
        let checked: Vec<_> = made
            .into_iter()
            .map(|(capability, driver)| checked(&prefix, capability, driver))
            .collect::<Result<_, _>>()?;
        let mut entries = self.write()?;
        for (at, entry) in checked.iter().enumerate() {
            if let Err(error) = entries.insert(Arc::clone(entry)) {
                checked.iter().take(at).for_each(|entry| entries.undo(entry));
                return Err(error);
            }
        }
        Ok(())
    }

    /// Everything, with every declared namespace loaded that can be.
    fn all<T>(&self, look: impl FnOnce(&Entries) -> T) -> Option<T> {
        let declared: Vec<_> =
            self.namespaces.read().map(|all| all.values().cloned().collect()).unwrap_or_default();
        for namespace in declared {
            let _ = self.load(&namespace);
        }
        self.read().ok().map(|entries| look(&entries))
    }

    /// The namespaces, sorted: those that are declared, and what stands before the first dot of
    /// each registered id. Loads nothing.
    #[must_use]
    pub fn namespaces(&self) -> Vec<NamespaceInfo> {
        let Ok(entries) = self.read() else { return Vec::new() };
        let ids = entries.by_id().keys();
        let mut found: BTreeMap<String, NamespaceInfo> = ids
            .filter_map(|id| id.as_str().split_once('.'))
            .map(|(prefix, _)| (prefix.to_owned(), NamespaceInfo::of(prefix)))
            .collect();
        if let Ok(declared) = self.namespaces.read() {
            found.extend(declared.iter().map(|(name, one)| (name.clone(), one.info())));
        }
        for (prefix, info) in &mut found {
            info.capabilities = entries.under(&format!("{prefix}.")).len();
        }
        found.into_values().collect()
    }

    /// The capabilities of a namespace, sorted by id; loads it where that is declared.
    ///
    /// # Errors
    /// [`RegistryError::UnknownNamespace`], or what went wrong when it was loaded.
    pub fn namespace(&self, prefix: &str) -> Result<Vec<Arc<RegisteredCapability>>, RegistryError> {
        let declared = self.declared(std::iter::once(prefix).chain(namespace::prefixes(prefix)));
        for namespace in &declared {
            self.load(namespace)?;
        }
        let entries = self.read()?;
        let under = entries.under(&format!("{prefix}."));
        if under.is_empty() && declared.is_empty() {
            let prefix = prefix.escape_debug().take(80).collect();
            return Err(RegistryError::UnknownNamespace { prefix });
        }
        Ok(under.iter().filter_map(|id| entries.by_id().get(id).cloned()).collect())
    }

    /// All capabilities, sorted by id.
    #[must_use]
    pub fn list_all(&self) -> Vec<Arc<RegisteredCapability>> {
        self.all(|entries| entries.by_id().values().cloned().collect()).unwrap_or_default()
    }

    /// All ids, sorted.
    #[must_use]
    pub fn list_ids(&self) -> Vec<CapabilityId> {
        self.all(|entries| entries.by_id().keys().cloned().collect()).unwrap_or_default()
    }

    /// Capabilities of this class or below.
    #[must_use]
    pub fn filter_by_safety(&self, ceiling: SafetyClass) -> Vec<Arc<RegisteredCapability>> {
        self.list_all().into_iter().filter(|entry| entry.capability.class() <= ceiling).collect()
    }

    /// Capabilities that this agent may use by their own declaration.
    #[must_use]
    pub fn filter_for_agent(&self, agent: &AgentId) -> Vec<Arc<RegisteredCapability>> {
        self.list_all()
            .into_iter()
            .filter(|entry| entry.capability.spec().agents.admits(Some(agent)))
            .collect()
    }

    /// At most `max` capabilities that share words with the goal, best first, after `offset` of
    /// them. It looks at words only, at everything that is registered, and asks for nobody's
    /// permission; contextweaver's router is the one that finds tools for a goal.
    #[must_use]
    pub fn search(&self, goal: &str, max: usize, offset: usize) -> Vec<Arc<RegisteredCapability>> {
        search::ranked(self.list_all(), goal).into_iter().skip(offset).take(max).collect()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.all(|entries| entries.by_id().len()).unwrap_or_default()
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

/// A registration under `prefix`, before it is put in.
fn checked(
    prefix: &str,
    capability: Capability,
    driver: Arc<dyn Driver>,
) -> Result<Arc<RegisteredCapability>, RegistryError> {
    let id = capability.id();
    if !id.as_str().starts_with(prefix) {
        return Err(RegistryError::Misplaced { id: id.clone(), prefix: prefix.to_owned() });
    }
    RegisteredCapability::new(capability, driver).map(Arc::new)
}
