//! The instances of one server: its processes, or its sessions over HTTP.
//!
//! A server may keep what one client did: the pages of a browser, a working folder, a cache. So by
//! default no two clients share one. The *primary* instance, whose tools are listed, serves the client
//! that calls it first, and every other client gets a *dedicated* one with its first call. That ends
//! with the run of its client; one that serves a folder ends when it was idle for long. A primary
//! instance that a client has worked with is started anew before another client gets it. Where a
//! server wants a login, the primary has that of the gateway's own principal, and serves no client
//! that acts as another: a dedicated instance has the login of its client's principal, or none.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use weaver_agent_kernel::{AuthorizedCall, DriverError};
use weaver_drivers::mcp::{LogLevel, Upstream, UpstreamConfig};
use weaver_drivers::{InstanceSource, ServerInstance};
use weaver_types::{BoxFuture, PrincipalId, RunId, UpstreamName};

use super::EntryContext;
use super::dedicated_instance::{ApprovedItem, DedicatedInstance};
use crate::config::{self, Sharing};
use crate::serve::instance_key::InstanceKey;
use crate::serve::run_clients::RunClients;
use crate::serve::server_events::ServerEvents;
use crate::serve::upstream_config::{InstanceOwner, upstream_config_for};

/// The most dedicated instances of a server.
const MAX_DEDICATED: usize = 64;
/// How long a call waits for its instance to start.
const MAX_START: Duration = Duration::from_secs(25);
/// How long an instance that serves a folder may be idle.
const MAX_IDLE: Duration = Duration::from_secs(30 * 60);

/// How a dedicated instance is configured.
type ConfigureInstance = Box<dyn Fn(&InstanceKey) -> UpstreamConfig + Send + Sync>;

/// What instances are made from: the server, who shares them, and the registries that they are
/// entered in.
pub(crate) struct InstancesContext<'a> {
    pub(crate) server: &'a UpstreamName,
    pub(crate) sharing: Sharing,
    /// Whose login the primary instance uses, where clients log in each for themselves.
    pub(crate) login: Option<&'a PrincipalId>,
    pub(crate) events: &'a ServerEvents,
    pub(crate) clients: &'a RunClients,
}

/// How the dedicated instances of a server are configured: for the folder of their clients, and with
/// their login.
pub(super) fn dedicated_configuration(
    config: &config::Upstream,
    shared: &EntryContext<'_>,
) -> ConfigureInstance {
    let (config, whole) = (config.clone(), Arc::clone(shared.whole));
    let (launcher, redactor) = (shared.launcher.clone(), shared.redactor.clone());
    let (events, clients) = (shared.events.clone(), shared.clients.clone());
    Box::new(move |key| {
        let gateway = InstanceOwner::gateway(&whole);
        let (folder, principal) = match key {
            InstanceKey::Run(run) => (gateway.folder, clients.principal_of(run)),
            InstanceKey::Folder(folder) => (folder.as_path(), gateway.principal.cloned()),
        };
        let owner = InstanceOwner { folder, principal: principal.as_ref() };
        let connection = upstream_config_for(owner, &config, &whole, &launcher);
        let connection = UpstreamConfig { redactor: Some(redactor.clone()), ..connection };
        events.attach_dedicated(&config.name, key, connection)
    })
}

/// The instances of one server.
pub(crate) struct Instances {
    server: UpstreamName,
    events: ServerEvents,
    sharing: Sharing,
    login: Option<PrincipalId>,
    clients: RunClients,
    configure: ConfigureInstance,
    primary: RwLock<Arc<Upstream>>,
    table: Mutex<InstanceTable>,
    /// From which level on log messages are wanted.
    log_level: Mutex<Option<LogLevel>>,
}

#[derive(Default)]
struct InstanceTable {
    /// Who works with the primary instance, where clients share none.
    primary_owner: Option<PrimaryOwner>,
    dedicated: BTreeMap<InstanceKey, Arc<DedicatedInstance>>,
}

/// The client that works with the primary instance.
struct PrimaryOwner {
    key: InstanceKey,
    /// Held by every call under way.
    in_use: Arc<()>,
}

/// Where the calls of one tool, or of one feature beside tools, go.
pub(super) struct ItemInstanceSource {
    pub(super) instances: Arc<Instances>,
    pub(super) item: Arc<ApprovedItem>,
    /// The connection of the primary instance on which it was listed.
    pub(super) generation: u64,
}

/// The instance that serves a client.
pub(super) enum ServingInstance {
    Primary,
    Dedicated(Arc<DedicatedInstance>),
    /// One that is started with its first call; the primary is another client's.
    NotStarted,
}

/// The instance for a call, and one that had to make room for it.
struct AcquiredPlace {
    instance: AcquiredInstance,
    ended: Option<Arc<DedicatedInstance>>,
}

enum AcquiredInstance {
    /// The primary, and what says that a client works with it.
    Primary(Option<Arc<()>>),
    Dedicated(Arc<DedicatedInstance>),
}

impl From<AcquiredInstance> for AcquiredPlace {
    fn from(instance: AcquiredInstance) -> Self {
        Self { instance, ended: None }
    }
}

impl Instances {
    pub(crate) fn new(
        setting: InstancesContext<'_>,
        primary: UpstreamConfig,
        configure: ConfigureInstance,
    ) -> Self {
        let InstancesContext { server, sharing, login, events, clients } = setting;
        Self {
            server: server.clone(),
            events: events.clone(),
            sharing,
            login: login.cloned(),
            clients: clients.clone(),
            configure,
            primary: RwLock::new(Arc::new(Upstream::new(primary))),
            table: Mutex::default(),
            log_level: Mutex::default(),
        }
    }

    /// The instance whose tools are listed.
    pub(crate) fn primary(&self) -> Arc<Upstream> {
        Arc::clone(&self.primary.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts another primary instance in place of the one that there was, which it gives back. Nobody
    /// works with it yet.
    pub(crate) fn replace_primary(&self, config: UpstreamConfig) -> Arc<Upstream> {
        let fresh = Arc::new(Upstream::new(config));
        let mut table = self.table();
        table.primary_owner = None;
        let mut primary = self.primary.write().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut primary, fresh)
    }

    /// The dedicated ones.
    pub(crate) fn dedicated(&self) -> Vec<Arc<Upstream>> {
        self.table().dedicated.values().map(|one| Arc::clone(&one.upstream)).collect()
    }

    /// Takes all dedicated ones away.
    pub(crate) fn take_dedicated(&self) -> Vec<Arc<Upstream>> {
        let dedicated = std::mem::take(&mut self.table().dedicated);
        dedicated.into_values().map(|one| Arc::clone(&one.upstream)).collect()
    }

    /// Takes away the dedicated ones whose clients are gone, given the runs that go on, or that were idle for long.
    pub(crate) fn take_unused(&self, runs: &BTreeSet<RunId>) -> Vec<Arc<Upstream>> {
        let mut table = self.table();
        let over = |key: &InstanceKey, one: &Arc<DedicatedInstance>| match key {
            InstanceKey::Run(run) => !runs.contains(run),
            InstanceKey::Folder(_) => one.idle() > MAX_IDLE,
        };
        let taken = table.dedicated.extract_if(.., |key, one| !is_in_use(one) && over(key, one));
        taken.map(|(_, one)| Arc::clone(&one.upstream)).collect()
    }

    /// Whose calls the primary instance serves, where not everybody's.
    pub(crate) fn owner_of_primary(&self) -> Option<InstanceKey> {
        self.table().primary_owner.as_ref().map(|owner| owner.key.clone())
    }

    /// True for a run that no instance works for yet, while the primary works for another.
    pub(crate) fn is_new(&self, run: &RunId) -> bool {
        let (table, key) = (self.table(), InstanceKey::Run(run.clone()));
        table.primary_owner.as_ref().is_some_and(|owner| owner.key != key)
            && !table.dedicated.contains_key(&key)
    }

    /// True when the client that worked with the primary instance is gone.
    pub(crate) fn primary_is_left(&self, runs: &BTreeSet<RunId>) -> bool {
        self.table().primary_owner.as_ref().is_some_and(|owner| match &owner.key {
            InstanceKey::Run(run) => !runs.contains(run) && !is_in_use(&owner.in_use),
            InstanceKey::Folder(_) => false,
        })
    }

    fn key(&self, run: &RunId) -> Option<InstanceKey> {
        match self.sharing {
            Sharing::All => None,
            Sharing::Client => Some(InstanceKey::Run(run.clone())),
            Sharing::Folder => self.clients.folder_of(run).map(InstanceKey::Folder),
        }
    }

    /// Whether the login of the primary instance is that of a principal, or everybody's.
    pub(crate) fn is_login_of(&self, principal: &PrincipalId) -> bool {
        self.login.as_ref().is_none_or(|own| own == principal)
    }

    /// Whether the client of a run may work with the primary instance: never under a login that is
    /// not its own.
    pub(super) fn shares_login(&self, run: &RunId) -> bool {
        self.login.is_none()
            || self.clients.principal_of(run).is_some_and(|one| self.is_login_of(&one))
    }

    /// The instance that serves the client of a run now.
    pub(super) fn serving(&self, run: Option<&RunId>) -> ServingInstance {
        let shares_login = run.is_none_or(|run| self.shares_login(run));
        let (key, table) = (run.and_then(|run| self.key(run)), self.table());
        match (key, &table.primary_owner) {
            (Some(key), Some(owner)) if owner.key == key => ServingInstance::Primary,
            (Some(key), owner) => match table.dedicated.get(&key) {
                Some(dedicated) => ServingInstance::Dedicated(Arc::clone(dedicated)),
                None if owner.is_some() || !shares_login => ServingInstance::NotStarted,
                None => ServingInstance::Primary,
            },
            (None, Some(_)) => ServingInstance::NotStarted,
            (None, None) => ServingInstance::Primary,
        }
    }

    /// The instance at which the client of a run watches resources, which is its own from here on;
    /// `None` for the primary.
    pub(crate) fn begin_watching(&self, run: &RunId) -> Option<InstanceKey> {
        let key = self.key(run)?;
        self.begin_dedicated(run).map(|_| key)
    }

    /// The dedicated instance of the client of a run, from here on; `None` where the primary serves
    /// it, or no more can be started.
    pub(super) fn begin_dedicated(&self, run: &RunId) -> Option<Arc<DedicatedInstance>> {
        let AcquiredPlace { instance, ended } = self.acquire(self.key(run)).ok()?;
        if let Some(ended) = ended {
            tokio::spawn(async move { ended.upstream.close().await });
        }
        match instance {
            AcquiredInstance::Primary(_) => None,
            AcquiredInstance::Dedicated(dedicated) => Some(dedicated),
        }
    }

    /// Whether an instance serves the client of a run; the primary where none is named.
    pub(crate) fn serves(&self, instance: Option<&InstanceKey>, run: Option<&RunId>) -> bool {
        match (instance, self.serving(run)) {
            (None, ServingInstance::Primary) => true,
            (Some(instance), ServingInstance::Dedicated(_)) => {
                run.and_then(|run| self.key(run)).as_ref() == Some(instance)
            }
            _ => false,
        }
    }

    /// The instance of this key, where it is there; the primary where none is named.
    pub(super) fn named(&self, instance: Option<&InstanceKey>) -> Option<Arc<Upstream>> {
        let Some(key) = instance else { return Some(self.primary()) };
        self.table().dedicated.get(key).map(|dedicated| Arc::clone(&dedicated.upstream))
    }

    /// Log messages from this level on are wanted of every instance.
    pub(super) fn note_log_level(&self, level: LogLevel) {
        *self.log_level.lock().unwrap_or_else(PoisonError::into_inner) = Some(level);
    }

    fn log_level(&self) -> Option<LogLevel> {
        *self.log_level.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn acquire(&self, key: Option<InstanceKey>) -> Result<AcquiredPlace, DriverError> {
        let Some(key) = key else { return Ok(AcquiredInstance::Primary(None).into()) };
        // The primary was started before anybody's folder was known.
        let may_have_primary = matches!(&key, InstanceKey::Run(run) if self.shares_login(run));
        let mut table = self.table();
        // Before the primary is taken, which may be nobody's for a moment: what a client did stands at
        // the instance that it has.
        if let Some(known) = table.dedicated.get(&key) {
            known.touch();
            return Ok(AcquiredInstance::Dedicated(Arc::clone(known)).into());
        }
        if may_have_primary {
            let fresh = || PrimaryOwner { key: key.clone(), in_use: Arc::default() };
            let owner = table.primary_owner.get_or_insert_with(fresh);
            if owner.key == key {
                return Ok(AcquiredInstance::Primary(Some(Arc::clone(&owner.in_use))).into());
            }
        }
        let ended = match table.dedicated.len() < MAX_DEDICATED {
            true => None,
            false => Some(table.take_idlest().ok_or_else(|| self.all_in_use())?),
        };
        let fresh = Arc::new(DedicatedInstance::new((self.configure)(&key)));
        table.dedicated.insert(key, Arc::clone(&fresh));
        Ok(AcquiredPlace { instance: AcquiredInstance::Dedicated(fresh), ended })
    }

    fn all_in_use(&self) -> DriverError {
        let primary = self.primary();
        let name = &primary.config().name;
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
    /// Takes the dedicated instance away that was idle for longest.
    fn take_idlest(&mut self) -> Option<Arc<DedicatedInstance>> {
        let unused = self.dedicated.iter().filter(|(_, one)| !is_in_use(one));
        let key = unused.max_by_key(|(_, one)| one.idle()).map(|(key, _)| key.clone());
        self.dedicated.remove(&key?)
    }
}

/// Whether a call holds it beside the table.
fn is_in_use<T>(held: &Arc<T>) -> bool {
    Arc::strong_count(held) > 1
}

impl InstanceSource for ItemInstanceSource {
    fn instance(
        &self,
        call: &AuthorizedCall,
    ) -> BoxFuture<'static, Result<ServerInstance, DriverError>> {
        let choice = self.instances.acquire(self.instances.key(call.run_id()));
        let caller = self.instances.events.caller_at(&self.instances.server);
        let (primary, generation) = (self.instances.primary(), self.generation);
        let (item, log_level) = (Arc::clone(&self.item), self.instances.log_level());
        let call_timeout = primary.config().limits.call_timeout.min(call.timeout());
        let patience = MAX_START.min(call_timeout * 3 / 4);
        Box::pin(async move {
            let AcquiredPlace { instance, ended } = choice?;
            if let Some(ended) = ended {
                tokio::spawn(async move { ended.upstream.close().await });
            }
            match instance {
                AcquiredInstance::Primary(in_use) => {
                    let primary = ServerInstance::new(primary, Some(generation)).called_by(caller);
                    Ok(match in_use {
                        Some(in_use) => primary.guarded(in_use),
                        None => primary,
                    })
                }
                AcquiredInstance::Dedicated(dedicated) => {
                    dedicated.want_log(log_level).await;
                    let generation = dedicated.ready(item, patience).await?;
                    let upstream = Arc::clone(&dedicated.upstream);
                    let instance = ServerInstance::new(upstream, Some(generation));
                    Ok(instance.called_by(caller).guarded(dedicated))
                }
            }
        })
    }
}
