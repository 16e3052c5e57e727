//! The instances of one server: its processes, or its sessions over HTTP.
//!
//! A server may keep state of a client: browser pages, a working folder, a cache. So by default no
//! two clients share an instance. The *primary* instance, whose tools are listed, serves the first
//! client that calls it; every other client gets a *dedicated* one with its first call. A dedicated
//! instance ends with the run of its client; one that serves a folder ends when it was idle for too
//! long. An instance at which a connected client subscribes is in use. A primary that a client has
//! used is restarted before another client gets it. Where a server requires a login, the primary
//! uses the login of the gateway's own principal and never serves a client with another principal: a
//! dedicated instance has the login of its client's principal, or none.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use weaver_agent_kernel::DriverError;
use weaver_drivers::mcp::{LogLevel, Upstream, UpstreamConfig};
use weaver_types::{PrincipalId, RunId, UpstreamName};

use super::dedicated_instance::DedicatedInstance;
use super::instance_config::ConfigureInstance;
use crate::config::InstanceSharing;
use crate::serve::audience::Audience;
use crate::serve::instance_id::InstanceId;
use crate::serve::instance_key::InstanceKey;
use crate::serve::run_clients::RunClients;
use crate::serve::server_events::ServerEvents;

/// The most dedicated instances of a server.
const MAX_DEDICATED: usize = 64;
/// The longest idle time of an instance that serves a folder.
const MAX_IDLE: Duration = Duration::from_secs(30 * 60);

/// What instances are made from: the server, how clients share it, and the registries that
/// instances report to.
pub(crate) struct InstancesContext<'a> {
    pub(crate) server: &'a UpstreamName,
    pub(crate) sharing: InstanceSharing,
    /// The principal whose login the primary instance uses, where each client logs in for itself.
    pub(crate) login_owner: Option<&'a PrincipalId>,
    pub(crate) events: &'a ServerEvents,
    pub(crate) clients: &'a RunClients,
}

/// The instances of one server.
pub(crate) struct Instances {
    pub(super) server: UpstreamName,
    pub(super) events: ServerEvents,
    sharing: InstanceSharing,
    login_owner: Option<PrincipalId>,
    clients: RunClients,
    configure: ConfigureInstance,
    primary: RwLock<PrimaryInstance>,
    table: Mutex<InstanceTable>,
    /// From which level on log messages are wanted.
    log_level: Mutex<Option<LogLevel>>,
}

#[derive(Default)]
struct InstanceTable {
    /// The client that works with the primary instance.
    primary_owner: Option<PrimaryOwner>,
    dedicated: BTreeMap<InstanceKey, Arc<DedicatedInstance>>,
    /// True once the configuration has the server no longer, or otherwise.
    is_retired: bool,
}

/// The primary instance of a server.
#[derive(Clone)]
pub(crate) struct PrimaryInstance {
    pub(crate) id: InstanceId,
    pub(crate) upstream: Arc<Upstream>,
}

/// The client that works with the primary instance.
struct PrimaryOwner {
    key: InstanceKey,
    /// Every call in flight holds a clone, so the reference count shows use.
    usage_token: Arc<()>,
}

/// The instance that serves a client.
pub(super) enum ServingInstance {
    Primary,
    Dedicated(Arc<DedicatedInstance>),
    /// A dedicated one that starts with its first call; the primary belongs to another client.
    NotStarted,
}

/// An instance that is not taken for unused while this is held.
pub(super) struct InstanceLease {
    pub(super) id: InstanceId,
    pub(super) upstream: Arc<Upstream>,
    _in_use: Option<Arc<dyn Any + Send + Sync>>,
}

/// The instance for a call, and the idle one that was evicted for it.
pub(super) struct Acquisition {
    pub(super) instance: AcquiredInstance,
    pub(super) evicted: Option<Arc<DedicatedInstance>>,
}

pub(super) enum AcquiredInstance {
    /// The primary, with the usage token of its owner.
    Primary(PrimaryInstance, Option<Arc<()>>),
    Dedicated(Arc<DedicatedInstance>),
}

impl From<AcquiredInstance> for Acquisition {
    fn from(instance: AcquiredInstance) -> Self {
        Self { instance, evicted: None }
    }
}

impl Instances {
    pub(crate) fn new(
        context: InstancesContext<'_>,
        primary: (InstanceId, UpstreamConfig),
        configure: ConfigureInstance,
    ) -> Self {
        let (id, primary) = primary;
        let primary = PrimaryInstance { id, upstream: Arc::new(Upstream::new(primary)) };
        let InstancesContext { server, sharing, login_owner, events, clients } = context;
        Self {
            server: server.clone(),
            events: events.clone(),
            sharing,
            login_owner: login_owner.cloned(),
            clients: clients.clone(),
            configure,
            primary: RwLock::new(primary),
            table: Mutex::default(),
            log_level: Mutex::default(),
        }
    }

    /// The primary instance, whose tools are listed.
    pub(crate) fn primary(&self) -> PrimaryInstance {
        self.primary.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the primary instance, and returns the old one. The new one has no owner.
    pub(crate) fn replace_primary(&self, id: InstanceId, config: UpstreamConfig) -> Arc<Upstream> {
        self.replace_primary_in(&mut self.table(), id, config)
    }

    /// Replaces the primary instance if its owner is gone, given the runs that continue, and none of
    /// its calls and subscriptions needs it.
    pub(crate) fn replace_abandoned_primary(
        &self,
        runs: &BTreeSet<RunId>,
        replacement: impl FnOnce() -> (InstanceId, UpstreamConfig),
    ) -> Option<Arc<Upstream>> {
        let mut table = self.table();
        let is_abandoned = table.primary_owner.as_ref().is_some_and(|owner| match &owner.key {
            InstanceKey::Run(run) => !runs.contains(run) && !is_in_use(&owner.usage_token),
            InstanceKey::Folder(_) => false,
        });
        is_abandoned.then(|| {
            let (id, config) = replacement();
            self.replace_primary_in(&mut table, id, config)
        })
    }

    fn replace_primary_in(
        &self,
        table: &mut InstanceTable,
        id: InstanceId,
        config: UpstreamConfig,
    ) -> Arc<Upstream> {
        let upstream = Arc::new(self.new_upstream(config));
        table.primary_owner = None;
        let mut primary = self.primary.write().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *primary, PrimaryInstance { id, upstream }).upstream
    }

    /// An instance that asks for the same log messages as the others.
    fn new_upstream(&self, config: UpstreamConfig) -> Upstream {
        let upstream = Upstream::new(config);
        match *self.log_level.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(level) => upstream.with_log_level(level),
            None => upstream,
        }
    }

    /// All dedicated instances.
    pub(crate) fn dedicated(&self) -> Vec<Arc<Upstream>> {
        self.table().dedicated.values().map(|one| Arc::clone(&one.upstream)).collect()
    }

    /// Removes and returns all dedicated instances.
    pub(crate) fn take_dedicated(&self) -> Vec<Arc<Upstream>> {
        let dedicated = std::mem::take(&mut self.table().dedicated);
        dedicated.into_values().map(|one| Arc::clone(&one.upstream)).collect()
    }

    /// Removes and returns the unused dedicated instances: those whose runs have ended, given the
    /// runs that continue, and those that were idle for too long.
    pub(crate) fn take_unused(&self, runs: &BTreeSet<RunId>) -> Vec<Arc<Upstream>> {
        let mut table = self.table();
        let is_expired = |key: &InstanceKey, one: &Arc<DedicatedInstance>| match key {
            InstanceKey::Run(run) => !runs.contains(run),
            InstanceKey::Folder(_) => one.idle_time() > MAX_IDLE,
        };
        let unused =
            table.dedicated.extract_if(.., |key, one| !is_in_use(one) && is_expired(key, one));
        unused.map(|(_, one)| Arc::clone(&one.upstream)).collect()
    }

    /// The owner of the primary instance; `None` where all clients share it, or nobody uses it.
    pub(crate) fn primary_owner(&self) -> Option<InstanceKey> {
        self.table().primary_owner.as_ref().map(|owner| owner.key.clone())
    }

    /// True for a run without an instance while another client owns the primary.
    pub(crate) fn lacks_instance(&self, run: &RunId) -> bool {
        let (table, key) = (self.table(), InstanceKey::Run(run.clone()));
        table.primary_owner.as_ref().is_some_and(|owner| owner.key != key)
            && !table.dedicated.contains_key(&key)
    }

    pub(super) fn key_for(&self, run: &RunId) -> Option<InstanceKey> {
        match self.sharing {
            InstanceSharing::All => None,
            InstanceSharing::Client => Some(InstanceKey::Run(run.clone())),
            InstanceSharing::Folder => self.clients.folder_of(run).map(InstanceKey::Folder),
        }
    }

    /// Whether the primary instance may act for a principal: it uses that principal's login, or
    /// none at all.
    pub(crate) fn uses_login_of(&self, principal: &PrincipalId) -> bool {
        self.login_owner.as_ref().is_none_or(|owner| owner == principal)
    }

    /// Whether the client of a run may use the primary instance: never under somebody else's login.
    pub(super) fn may_use_primary_login(&self, run: &RunId) -> bool {
        self.login_owner.is_none()
            || self.clients.principal_of(run).is_some_and(|one| self.uses_login_of(&one))
    }

    /// The instance that currently serves the client of a run.
    pub(super) fn serving_instance(&self, run: Option<&RunId>) -> ServingInstance {
        let may_use_primary_login = run.is_none_or(|run| self.may_use_primary_login(run));
        let (key, table) = (run.and_then(|run| self.key_for(run)), self.table());
        match (key, &table.primary_owner) {
            (Some(key), Some(owner)) if owner.key == key => ServingInstance::Primary,
            (Some(key), owner) => match table.dedicated.get(&key) {
                Some(dedicated) => ServingInstance::Dedicated(Arc::clone(dedicated)),
                None if owner.is_some() || !may_use_primary_login => ServingInstance::NotStarted,
                None => ServingInstance::Primary,
            },
            (None, Some(_)) => ServingInstance::NotStarted,
            (None, None) => ServingInstance::Primary,
        }
    }

    /// The instance for the subscriptions of a run's client, created if necessary.
    pub(super) fn lease(&self, run: &RunId) -> Result<InstanceLease, DriverError> {
        Ok(match self.acquire_in_background(run)? {
            AcquiredInstance::Primary(PrimaryInstance { id, upstream }, usage_token) => {
                let in_use = usage_token.map(|token| token as Arc<dyn Any + Send + Sync>);
                InstanceLease { id, upstream, _in_use: in_use }
            }
            AcquiredInstance::Dedicated(dedicated) => InstanceLease {
                id: dedicated.id,
                upstream: Arc::clone(&dedicated.upstream),
                _in_use: Some(dedicated),
            },
        })
    }

    /// The dedicated instance of a run's client, created if necessary; `None` where the primary
    /// serves it, or no more can be started.
    pub(super) fn get_or_create_dedicated(&self, run: &RunId) -> Option<Arc<DedicatedInstance>> {
        match self.acquire_in_background(run).ok()? {
            AcquiredInstance::Primary(..) => None,
            AcquiredInstance::Dedicated(dedicated) => Some(dedicated),
        }
    }

    /// The instance for the client of a run. One that was evicted for it is closed meanwhile.
    fn acquire_in_background(&self, run: &RunId) -> Result<AcquiredInstance, DriverError> {
        let Acquisition { instance, evicted } = self.acquire(self.key_for(run))?;
        if let Some(evicted) = evicted {
            tokio::spawn(async move { evicted.upstream.close().await });
        }
        Ok(instance)
    }

    /// Whether an instance serves the client of a run.
    pub(crate) fn serves(&self, id: InstanceId, run: Option<&RunId>) -> bool {
        match self.serving_instance(run) {
            ServingInstance::Primary => self.primary().id == id,
            ServingInstance::Dedicated(dedicated) => dedicated.id == id,
            ServingInstance::NotStarted => false,
        }
    }

    /// The clients that an instance may address; `None` for one that was replaced or has ended.
    pub(crate) fn audience(&self, id: InstanceId) -> Option<Audience> {
        let table = self.table();
        if self.primary().id == id {
            return Some(match (&table.primary_owner, &self.login_owner) {
                (Some(owner), _) => Audience::Clients(owner.key.clone()),
                (None, Some(principal)) => Audience::Principal(principal.clone()),
                (None, None) => Audience::Everyone,
            });
        }
        let found = table.dedicated.iter().find(|(_, dedicated)| dedicated.id == id);
        found.map(|(key, _)| Audience::Clients(key.clone()))
    }

    /// Sets the log level that new instances ask for.
    pub(super) fn set_log_level(&self, level: Option<LogLevel>) {
        *self.log_level.lock().unwrap_or_else(PoisonError::into_inner) = level;
    }

    pub(super) fn acquire(&self, key: Option<InstanceKey>) -> Result<Acquisition, DriverError> {
        let Some(key) = key else {
            return match self.table().is_retired {
                true => Err(self.retired_error()),
                false => Ok(AcquiredInstance::Primary(self.primary(), None).into()),
            };
        };
        // The primary was started before any client's folder was known, so it serves no folder.
        let may_have_primary =
            matches!(&key, InstanceKey::Run(run) if self.may_use_primary_login(run));
        let mut table = self.table();
        if table.is_retired {
            return Err(self.retired_error());
        }
        // Looked up before the primary, which may be unowned for a moment: a client must stay with
        // the instance that has its state.
        if let Some(dedicated) = table.dedicated.get(&key) {
            dedicated.touch();
            return Ok(AcquiredInstance::Dedicated(Arc::clone(dedicated)).into());
        }
        if may_have_primary {
            let new_owner = || PrimaryOwner { key: key.clone(), usage_token: Arc::default() };
            let owner = table.primary_owner.get_or_insert_with(new_owner);
            if owner.key == key {
                let usage_token = Some(Arc::clone(&owner.usage_token));
                return Ok(AcquiredInstance::Primary(self.primary(), usage_token).into());
            }
        }
        let evicted = match table.dedicated.len() < MAX_DEDICATED {
            true => None,
            false => Some(table.evict_idlest().ok_or_else(|| self.all_in_use_error())?),
        };
        let id = InstanceId::next();
        let upstream = self.new_upstream((self.configure)(&key, id));
        let created = Arc::new(DedicatedInstance::new(id, upstream));
        table.dedicated.insert(key, Arc::clone(&created));
        Ok(Acquisition { instance: AcquiredInstance::Dedicated(created), evicted })
    }

    /// Serves no further calls.
    pub(super) fn retire(&self) {
        self.table().is_retired = true;
    }

    fn retired_error(&self) -> DriverError {
        DriverError::Unavailable(format!(
            "the configuration of `{}` was changed in this moment; nothing was sent, call again",
            self.server
        ))
    }

    fn all_in_use_error(&self) -> DriverError {
        let name = &self.server;
        DriverError::Unavailable(format!(
            "`{name}` is at work for {MAX_DEDICATED} other clients; write `instances = \"shared\"` \
             under `[mcpServers.{name}]` if they may share one"
        ))
    }

    fn table(&self) -> MutexGuard<'_, InstanceTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl InstanceTable {
    /// Removes the unused dedicated instance that was idle longest.
    fn evict_idlest(&mut self) -> Option<Arc<DedicatedInstance>> {
        let idle = self.dedicated.iter().filter(|(_, one)| !is_in_use(one));
        let key = idle.max_by_key(|(_, one)| one.idle_time()).map(|(key, _)| key.clone());
        self.dedicated.remove(&key?)
    }
}

/// Whether anyone besides the table holds a reference. Calls in flight do, through
/// `ServerInstance::guarded`, and so do subscriptions, through their lease, and lists being read.
/// While the table holds the only one, only the holder of its lock can clone it, so an unused entry
/// stays unused under the lock.
fn is_in_use<T>(shared: &Arc<T>) -> bool {
    Arc::strong_count(shared) > 1
}
