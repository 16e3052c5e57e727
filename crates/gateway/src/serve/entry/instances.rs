//! The instances of one server: its processes, or its sessions over HTTP.
//!
//! A server may keep what one client did: the pages of a browser, a working folder, a cache. So by
//! default no two clients share one. The instance whose tools are listed, the *first*, serves the
//! client that calls it first, and every further client gets one of its own with its first call. An
//! instance ends with the run of its client; one that serves a folder ends when it was idle for long.
//! A first instance that a client has worked with is started anew before another client gets it.

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

/// The most instances of a server beside its first.
const MAX_FURTHER: usize = 32;
/// How long an instance that serves a folder may be idle.
const MAX_IDLE: Duration = Duration::from_secs(30 * 60);
/// How often a fresh instance is asked for a tool that it does not list: some servers register their
/// tools a moment after the handshake.
const LOOKS: usize = 3;
const SECOND_LOOK: Duration = Duration::from_millis(150);

/// How a further instance is configured.
type Configure = Box<dyn Fn(&InstanceKey) -> UpstreamConfig + Send + Sync>;

/// The instances of one server.
pub(crate) struct Instances {
    sharing: Sharing,
    folders: ClientFolders,
    configure: Configure,
    first: RwLock<Arc<Upstream>>,
    table: Mutex<InstanceTable>,
}

#[derive(Default)]
struct InstanceTable {
    /// Who works with the first instance, where clients share none.
    first: Option<FirstInstance>,
    further: BTreeMap<InstanceKey, Arc<FurtherInstance>>,
}

/// The first instance, once a client works with it.
struct FirstInstance {
    owner: InstanceKey,
    /// Held by every call under way.
    in_use: Arc<()>,
}

/// An instance beside the first.
struct FurtherInstance {
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
    /// The connection of the first instance on which it was listed.
    pub(crate) generation: u64,
}

/// A tool as the first instance lists it, which is what was approved.
pub(crate) struct ApprovedTool {
    pub(crate) name: String,
    pub(crate) listed: Arc<Value>,
}

/// The instance for a call, and one that had to make room for it.
struct Choice {
    instance: ChosenInstance,
    ended: Option<Arc<FurtherInstance>>,
}

enum ChosenInstance {
    /// The first, and what says that a client works with it.
    First(Option<Arc<()>>),
    Further(Arc<FurtherInstance>),
}

impl From<ChosenInstance> for Choice {
    fn from(instance: ChosenInstance) -> Self {
        Self { instance, ended: None }
    }
}

impl Instances {
    pub(crate) fn new(
        sharing: Sharing,
        folders: &ClientFolders,
        first: UpstreamConfig,
        configure: Configure,
    ) -> Self {
        Self {
            sharing,
            folders: folders.clone(),
            configure,
            first: RwLock::new(Arc::new(Upstream::new(first))),
            table: Mutex::default(),
        }
    }

    /// The instance whose tools are listed.
    pub(crate) fn first(&self) -> Arc<Upstream> {
        Arc::clone(&self.first.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts another first instance in place of the one that there was, which it gives back. Nobody
    /// works with it yet.
    pub(crate) fn replace_first(&self, config: UpstreamConfig) -> Arc<Upstream> {
        let fresh = Arc::new(Upstream::new(config));
        let mut table = self.table();
        table.first = None;
        let mut first = self.first.write().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut first, fresh)
    }

    /// Those that are there beside the first.
    pub(crate) fn further(&self) -> Vec<Arc<Upstream>> {
        self.table().further.values().map(|one| Arc::clone(&one.upstream)).collect()
    }

    /// Takes all away that are there beside the first.
    pub(crate) fn take_further(&self) -> Vec<Arc<Upstream>> {
        let further = std::mem::take(&mut self.table().further);
        further.into_values().map(|one| Arc::clone(&one.upstream)).collect()
    }

    /// Takes away those whose clients are gone, given the runs that go on, or that were idle for long.
    pub(crate) fn take_unused(&self, runs: &BTreeSet<RunId>) -> Vec<Arc<Upstream>> {
        let mut table = self.table();
        let over = |key: &InstanceKey, one: &Arc<FurtherInstance>| match key {
            InstanceKey::Run(run) => !runs.contains(run),
            InstanceKey::Folder(_) => one.idle() > MAX_IDLE,
        };
        let taken = table.further.extract_if(.., |key, one| !is_in_use(one) && over(key, one));
        taken.map(|(_, one)| Arc::clone(&one.upstream)).collect()
    }

    /// Whose calls the first instance serves, where not everybody's.
    pub(crate) fn owner_of_first(&self) -> Option<InstanceKey> {
        self.table().first.as_ref().map(|first| first.owner.clone())
    }

    /// True for a run that no instance works for yet, while the first one works for another.
    pub(crate) fn is_new(&self, run: &RunId) -> bool {
        let (table, key) = (self.table(), InstanceKey::Run(run.clone()));
        table.first.as_ref().is_some_and(|first| first.owner != key)
            && !table.further.contains_key(&key)
    }

    /// True when the client that worked with the first instance is gone.
    pub(crate) fn first_is_left(&self, runs: &BTreeSet<RunId>) -> bool {
        self.table().first.as_ref().is_some_and(|first| match &first.owner {
            InstanceKey::Run(run) => !runs.contains(run) && !is_in_use(&first.in_use),
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

    fn choose(&self, key: Option<InstanceKey>) -> Result<Choice, DriverError> {
        let Some(key) = key else { return Ok(ChosenInstance::First(None).into()) };
        let mut table = self.table();
        // The first one was started before anybody's folder was known.
        if let InstanceKey::Run(_) = key {
            let fresh = || FirstInstance { owner: key.clone(), in_use: Arc::default() };
            let first = table.first.get_or_insert_with(fresh);
            if first.owner == key {
                return Ok(ChosenInstance::First(Some(Arc::clone(&first.in_use))).into());
            }
        }
        if let Some(known) = table.further.get(&key) {
            known.touch();
            return Ok(ChosenInstance::Further(Arc::clone(known)).into());
        }
        let ended = match table.further.len() < MAX_FURTHER {
            true => None,
            false => Some(table.take_idlest().ok_or_else(|| self.all_in_use())?),
        };
        let fresh = Arc::new(FurtherInstance::new((self.configure)(&key)));
        table.further.insert(key, Arc::clone(&fresh));
        Ok(Choice { instance: ChosenInstance::Further(fresh), ended })
    }

    fn all_in_use(&self) -> DriverError {
        let first = self.first();
        let name = &first.config().name;
        DriverError::Unavailable(format!(
            "`{name}` is at work for {MAX_FURTHER} other clients; write `instances = \"shared\"` \
             under `[mcpServers.{name}]` if they may share one"
        ))
    }

    fn table(&self) -> MutexGuard<'_, InstanceTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl InstanceTable {
    /// Takes the further instance away that was idle for longest.
    fn take_idlest(&mut self) -> Option<Arc<FurtherInstance>> {
        let unused = self.further.iter().filter(|(_, one)| !is_in_use(one));
        let key = unused.max_by_key(|(_, one)| one.idle()).map(|(key, _)| key.clone());
        self.further.remove(&key?)
    }
}

/// Whether a call holds it beside the table.
fn is_in_use<T>(held: &Arc<T>) -> bool {
    Arc::strong_count(held) > 1
}

impl FurtherInstance {
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
        let (first, generation) = (self.instances.first(), self.generation);
        let tool = Arc::clone(&self.tool);
        Box::pin(async move {
            let Choice { instance, ended } = choice?;
            if let Some(ended) = ended {
                tokio::spawn(async move { ended.upstream.close().await });
            }
            match instance {
                ChosenInstance::First(in_use) => {
                    let first = ServerInstance::new(first, Some(generation));
                    Ok(match in_use {
                        Some(in_use) => first.guarded(in_use),
                        None => first,
                    })
                }
                ChosenInstance::Further(further) => {
                    let generation = further.listing(&tool).await?;
                    let upstream = Arc::clone(&further.upstream);
                    Ok(ServerInstance::new(upstream, Some(generation)).guarded(further))
                }
            }
        })
    }
}
