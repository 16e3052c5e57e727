//! The instances of one server: its processes, or its sessions over HTTP.
//!
//! A server may keep what one client did: the pages of a browser, a working folder, a cache. So by
//! default no two clients share one. The *primary* instance, whose tools are listed, serves the client
//! that calls it first, and every other client gets a *dedicated* one with its first call. That ends
//! with the run of its client; one that serves a folder ends when it was idle for long. A primary
//! instance that a client has worked with is started anew before another client gets it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;
use weaver_agent_kernel::{AuthorizedCall, DriverError};
use weaver_drivers::mcp::{McpError, Upstream, UpstreamConfig};
use weaver_drivers::{InstanceSource, ServerInstance};
use weaver_types::{BoxFuture, RunId};

use crate::config::Sharing;
use crate::serve::client_folders::ClientFolders;
use crate::serve::instance_key::InstanceKey;

/// The most dedicated instances of a server.
const MAX_DEDICATED: usize = 32;
/// How long a call waits for its instance to start.
const MAX_START: Duration = Duration::from_secs(25);
/// How long an instance that serves a folder may be idle.
const MAX_IDLE: Duration = Duration::from_secs(30 * 60);
/// How often a fresh instance is asked for a tool that it does not list: some servers register their
/// tools a moment after the handshake.
const LOOKS: usize = 3;
const SECOND_LOOK: Duration = Duration::from_millis(150);

/// How a dedicated instance is configured.
type ConfigureInstance = Box<dyn Fn(&InstanceKey) -> UpstreamConfig + Send + Sync>;

/// The instances of one server.
pub(crate) struct Instances {
    sharing: Sharing,
    folders: ClientFolders,
    configure: ConfigureInstance,
    primary: RwLock<Arc<Upstream>>,
    table: Mutex<InstanceTable>,
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

/// An instance for one client, or for the clients of a folder.
struct DedicatedInstance {
    upstream: Arc<Upstream>,
    /// What it lists, on which connection.
    listing: tokio::sync::Mutex<Option<InstanceListing>>,
    last_used: Mutex<Instant>,
}

struct InstanceListing {
    generation: u64,
    tools: BTreeMap<String, Value>,
}

/// Where the calls of one tool go.
pub(crate) struct ToolInstances {
    pub(crate) instances: Arc<Instances>,
    pub(crate) tool: Arc<ApprovedTool>,
    /// The connection of the primary instance on which it was listed.
    pub(crate) generation: u64,
}

/// A tool as the primary instance lists it, which is what was approved.
pub(crate) struct ApprovedTool {
    pub(crate) name: String,
    pub(crate) listed: Arc<Value>,
}

/// The instance for a call, and one that had to make room for it.
struct InstanceChoice {
    instance: ChosenInstance,
    ended: Option<Arc<DedicatedInstance>>,
}

enum ChosenInstance {
    /// The primary, and what says that a client works with it.
    Primary(Option<Arc<()>>),
    Dedicated(Arc<DedicatedInstance>),
}

impl From<ChosenInstance> for InstanceChoice {
    fn from(instance: ChosenInstance) -> Self {
        Self { instance, ended: None }
    }
}

impl Instances {
    pub(crate) fn new(
        sharing: Sharing,
        folders: &ClientFolders,
        primary: UpstreamConfig,
        configure: ConfigureInstance,
    ) -> Self {
        Self {
            sharing,
            folders: folders.clone(),
            configure,
            primary: RwLock::new(Arc::new(Upstream::new(primary))),
            table: Mutex::default(),
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

    fn key(&self, call: &AuthorizedCall) -> Option<InstanceKey> {
        match self.sharing {
            Sharing::All => None,
            Sharing::Client => Some(InstanceKey::Run(call.run_id().clone())),
            Sharing::Folder => self.folders.of(call.run_id()).map(InstanceKey::Folder),
        }
    }

    fn choose(&self, key: Option<InstanceKey>) -> Result<InstanceChoice, DriverError> {
        let Some(key) = key else { return Ok(ChosenInstance::Primary(None).into()) };
        let mut table = self.table();
        // The primary was started before anybody's folder was known.
        if let InstanceKey::Run(_) = key {
            let fresh = || PrimaryOwner { key: key.clone(), in_use: Arc::default() };
            let owner = table.primary_owner.get_or_insert_with(fresh);
            if owner.key == key {
                return Ok(ChosenInstance::Primary(Some(Arc::clone(&owner.in_use))).into());
            }
        }
        if let Some(known) = table.dedicated.get(&key) {
            known.touch();
            return Ok(ChosenInstance::Dedicated(Arc::clone(known)).into());
        }
        let ended = match table.dedicated.len() < MAX_DEDICATED {
            true => None,
            false => Some(table.take_idlest().ok_or_else(|| self.all_in_use())?),
        };
        let fresh = Arc::new(DedicatedInstance::new((self.configure)(&key)));
        table.dedicated.insert(key, Arc::clone(&fresh));
        Ok(InstanceChoice { instance: ChosenInstance::Dedicated(fresh), ended })
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

impl DedicatedInstance {
    fn new(config: UpstreamConfig) -> Self {
        Self {
            upstream: Arc::new(Upstream::new(config)),
            listing: tokio::sync::Mutex::default(),
            last_used: Mutex::new(Instant::now()),
        }
    }

    fn touch(&self) {
        *self.last_used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn idle(&self) -> Duration {
        self.last_used.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }

    /// The connection for a call of the tool. A start that takes longer than `patience` goes on, so
    /// that a later call finds the server there; this one was not sent.
    async fn ready(
        self: &Arc<Self>,
        tool: Arc<ApprovedTool>,
        patience: Duration,
    ) -> Result<u64, DriverError> {
        if self.listing.try_lock().is_ok_and(|listing| listing.is_some()) {
            return self.listing(&tool).await;
        }
        let starting = Arc::clone(self);
        let starting = tokio::spawn(async move { starting.listing(&tool).await });
        match tokio::time::timeout(patience, starting).await {
            Ok(Ok(ready)) => ready,
            Ok(Err(_)) => Err(DriverError::Unavailable("the server was not started".to_owned())),
            Err(_) => Err(DriverError::Unavailable(
                "the server is still starting for this client; nothing was sent, call again in a \
                 moment"
                    .to_owned(),
            )),
        }
    }

    /// The connection on which it lists the tool just as it was approved; connects where there is none.
    async fn listing(&self, tool: &ApprovedTool) -> Result<u64, DriverError> {
        let name = &tool.name;
        let mut listing = self.listing.lock().await;
        let connected = self.upstream.connection().await;
        let connection = connected.map_err(unavailable)?;
        let stale = self.upstream.tools_stale().await;
        let mut known =
            listing.take().filter(|known| !stale && known.generation == connection.generation());
        for _ in 0..LOOKS {
            let current = match known.take() {
                Some(known) => known,
                None => self.list().await?,
            };
            match current.tools.get(name) {
                Some(listed) if *listed == *tool.listed => {
                    return Ok(listing.insert(current).generation);
                }
                Some(_) => break,
                None => tokio::time::sleep(SECOND_LOOK).await,
            }
        }
        Err(DriverError::Unavailable(format!(
            "the instance of the server that was started for this client does not list `{name}` as \
             it was approved; nothing was sent"
        )))
    }

    async fn list(&self) -> Result<InstanceListing, DriverError> {
        let (connection, tools) = self.upstream.listing().await.map_err(unavailable)?;
        let tools = tools.iter().map(|tool| (tool.name().to_owned(), tool.value().clone()));
        Ok(InstanceListing { generation: connection.generation(), tools: tools.collect() })
    }
}

fn unavailable(error: McpError) -> DriverError {
    DriverError::Unavailable(error.explained())
}

impl InstanceSource for ToolInstances {
    fn instance(
        &self,
        call: &AuthorizedCall,
    ) -> BoxFuture<'static, Result<ServerInstance, DriverError>> {
        let choice = self.instances.choose(self.instances.key(call));
        let (primary, generation) = (self.instances.primary(), self.generation);
        let tool = Arc::clone(&self.tool);
        let call_timeout = primary.config().limits.call_timeout.min(call.timeout());
        let patience = MAX_START.min(call_timeout * 3 / 4);
        Box::pin(async move {
            let InstanceChoice { instance, ended } = choice?;
            if let Some(ended) = ended {
                tokio::spawn(async move { ended.upstream.close().await });
            }
            match instance {
                ChosenInstance::Primary(in_use) => {
                    let primary = ServerInstance::new(primary, Some(generation));
                    Ok(match in_use {
                        Some(in_use) => primary.guarded(in_use),
                        None => primary,
                    })
                }
                ChosenInstance::Dedicated(dedicated) => {
                    let generation = dedicated.ready(tool, patience).await?;
                    let upstream = Arc::clone(&dedicated.upstream);
                    Ok(ServerInstance::new(upstream, Some(generation)).guarded(dedicated))
                }
            }
        })
    }
}
