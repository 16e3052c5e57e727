//! One upstream: connecting, taking in its tools, and knowing whether it is away.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::{Semaphore, watch};
use weaver_agent_kernel::{Contract, Driver};
use weaver_drivers::McpDriver;
use weaver_drivers::confine::{Enforced, Launcher};
use weaver_drivers::mcp::{
    Confined, Connection, Endpoint, HttpConfig, ListedTool, McpError, StdioConfig, Upstream,
    UpstreamConfig,
};
use weaver_types::{Capability, CapabilityId, EventKind, UpstreamName};

use super::gateway::Gateway;
use super::import;
use crate::cli::LAUNCH;
use crate::config::{self, Config, Transport};

/// How long a call waits for its server to list again.
const RELIST: Duration = Duration::from_secs(30);
/// Some servers register their tools a moment after the handshake.
const SECOND_LOOK: Duration = Duration::from_millis(150);
/// How often an empty list is looked at again at the start.
const LOOKS: u32 = 3;
/// How long a listing waits for another look at a server that is there.
const PATIENCE: Duration = Duration::from_secs(2);
/// How many of the tools that were left out are recorded.
const MAX_LEFT_OUT: usize = 20;

/// How many changed tools of one listing are recorded, and how many changes of each.
const MAX_TOLD: usize = 50;
const MAX_CHANGES: usize = 50;

/// One upstream.
pub(crate) struct Entry {
    pub(crate) name: UpstreamName,
    upstream: Arc<Upstream>,
    state: Mutex<State>,
    /// One listing at a time.
    listing: tokio::sync::Mutex<()>,
    /// One further look at a time.
    looking: Arc<Semaphore>,
    /// True once the first attempt is over.
    settled: watch::Sender<bool>,
}

#[derive(Default)]
struct State {
    tools: BTreeMap<CapabilityId, Arc<Value>>,
    /// Why it is away; `None` while it is there.
    problem: Option<String>,
    ready: bool,
}

/// What a listing came to.
struct Taken {
    listed: BTreeMap<CapabilityId, Arc<Value>>,
    left_out: Vec<String>,
}

impl Entry {
    pub(crate) fn new(config: &config::Upstream, whole: &Config) -> Self {
        let upstream = reached(config, whole);
        Self {
            name: config.name.clone(),
            upstream: Arc::new(Upstream::new(upstream)),
            state: Mutex::default(),
            listing: tokio::sync::Mutex::default(),
            looking: Arc::new(Semaphore::new(1)),
            settled: watch::Sender::new(false),
        }
    }

    /// The first attempt to connect, with a second look at a list that may not be whole yet.
    pub(crate) async fn first_look(&self, gateway: &Gateway) {
        for look in 0..LOOKS {
            let found = self.refresh(gateway).await;
            let again = match found {
                Ok(0) => true,
                Ok(_) => look == 0,
                Err(()) => false,
            };
            if !again {
                break;
            }
            tokio::time::sleep(SECOND_LOOK).await;
            if matches!(found, Ok(n) if n > 0) && !self.upstream.tools_stale().await {
                break;
            }
        }
        self.settled.send_replace(true);
    }

    /// Looks again when the server says that its tools changed, or has gone away. Whoever lists
    /// waits a little for a server that is there, and not at all for one that is known to be away:
    /// it is asked in the background.
    pub(crate) async fn look_again(self: &Arc<Self>, gateway: &Arc<Gateway>) {
        let away = self.problem().is_some();
        let looking = Arc::clone(&self.looking);
        let turn = if away {
            looking.try_acquire_owned().ok()
        } else {
            tokio::time::timeout(PATIENCE, looking.acquire_owned()).await.ok().and_then(Result::ok)
        };
        let Some(turn) = turn else { return };
        let (entry, gateway) = (Arc::clone(self), Arc::clone(gateway));
        let look = tokio::spawn(async move {
            let _ = entry.keep_current(&gateway).await;
            drop(turn);
        });
        if !away {
            let _ = tokio::time::timeout(PATIENCE, look).await;
        }
    }

    /// Why it is away; `None` while it is there, and while nobody knows yet.
    pub(crate) fn problem(&self) -> Option<String> {
        self.state.lock().ok()?.problem.clone()
    }

    /// The tools that it listed last.
    pub(crate) fn tools(&self) -> BTreeMap<CapabilityId, Arc<Value>> {
        self.state.lock().map(|state| state.tools.clone()).unwrap_or_default()
    }

    /// True once the first attempt is over.
    pub(crate) fn is_settled(&self) -> bool {
        *self.settled.borrow()
    }

    /// Waits until the first attempt is over, within reason.
    pub(crate) async fn wait_settled(&self, patience: Duration) {
        let mut settled = self.settled.subscribe();
        let _ = tokio::time::timeout(patience, settled.wait_for(|settled| *settled)).await;
    }

    pub(crate) async fn close(&self) {
        self.upstream.close().await;
    }

    /// Lists the tools again, if the server says that they changed or has gone away, so that a call
    /// is judged by what its server says now. Whoever comes meanwhile waits for the same listing.
    ///
    /// The error says why that failed: what was listed before is then not what is there.
    pub(crate) async fn keep_current(&self, gateway: &Gateway) -> Result<(), String> {
        let listed = tokio::time::timeout(RELIST, async {
            // What is being listed is not in the registry yet.
            let _one_at_a_time = self.listing.lock().await;
            !self.upstream.tools_stale().await || self.relist(gateway).await.is_ok()
        });
        match listed.await {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            Err(_) => {
                let (upstream, method) = (self.name.to_string(), "tools/list");
                self.lost(gateway, &McpError::Timeout { upstream, method, after: RELIST }).await;
            }
        }
        Err(self.problem().unwrap_or_else(|| "its tools could not be listed again".to_owned()))
    }

    /// Lists the tools and puts them into the registry; says how many there are.
    async fn refresh(&self, gateway: &Gateway) -> Result<usize, ()> {
        let _one_at_a_time = self.listing.lock().await;
        self.relist(gateway).await
    }

    async fn relist(&self, gateway: &Gateway) -> Result<usize, ()> {
        match self.upstream.listing().await {
            Ok((connection, tools)) => Ok(self.take_in(gateway, &tools, &connection).await),
            Err(error) => {
                self.lost(gateway, &error).await;
                Err(())
            }
        }
    }

    async fn take_in(
        &self,
        gateway: &Gateway,
        tools: &[ListedTool],
        connection: &Connection,
    ) -> usize {
        if let Some(enforced) = connection.enforced() {
            gateway.confined.note(self.name.clone(), self.upstream.config(), enforced);
        }
        let Taken { listed, mut left_out } = self.register(gateway, tools, connection);
        let count = listed.len();
        if self.set_ready(listed) {
            left_out.extend(gateway.restock(&self.name));
            for problem in &left_out {
                tracing::warn!(upstream = %self.name, "a tool was left out: {problem}");
            }
            let fields = fields([
                ("upstream", json!(self.name)),
                ("tools", json!(count)),
                ("confinement", json!(connection.enforced().map(Enforced::to_json))),
                ("left_out", json!(left_out.iter().take(MAX_LEFT_OUT).collect::<Vec<_>>())),
            ]);
            note(gateway, EventKind::UpstreamReady, fields).await;
            self.tell_changes(gateway).await;
        }
        count
    }

    /// Records which of its tools are not as they were registered and approved.
    async fn tell_changes(&self, gateway: &Gateway) {
        let changed = self.tools().into_keys().filter_map(|id| {
            let contract = gateway.kernel.contract(&id).filter(Contract::mismatch)?;
            Some((id, contract))
        });
        for (id, contract) in changed.take(MAX_TOLD) {
            tracing::warn!(tool = %id, "a tool is not what was approved: {}", contract.drift.summary());
            let changes: Vec<_> = contract.drift.changes().iter().take(MAX_CHANGES).collect();
            let fields = fields([
                ("upstream", json!(self.name)),
                ("capability", json!(id)),
                ("status", json!(contract.state)),
                ("enforcement", json!(contract.enforcement)),
                ("fingerprint", json!(contract.fingerprint)),
                ("registered_fingerprint", json!(contract.registered)),
                ("class", json!(contract.drift.class())),
                ("changes", json!(changes)),
            ]);
            note(gateway, EventKind::ContractChanged, fields).await;
        }
    }

    fn register(&self, gateway: &Gateway, tools: &[ListedTool], connection: &Connection) -> Taken {
        let (instructions, generation) =
            (connection.server().instructions(), connection.generation());
        let mut set: Vec<(Capability, Arc<dyn Driver>)> = Vec::new();
        let mut listed = BTreeMap::new();
        let mut left_out = Vec::new();
        for tool in tools {
            match import::propose(&self.name, tool, instructions) {
                Ok(capability) => {
                    let runtime = tokio::runtime::Handle::current();
                    let driver = McpDriver::new(Arc::clone(&self.upstream), tool.name(), runtime)
                        .of_generation(generation);
                    listed.insert(capability.id().clone(), Arc::new(tool.value().clone()));
                    set.push((capability, Arc::new(driver)));
                }
                Err(problem) => left_out.push(problem),
            }
        }
        match gateway.registry.replace_prefix(&format!("{}.", self.name), set) {
            Ok(errors) => left_out.extend(errors.into_iter().map(|error| error.to_string())),
            Err(error) => left_out.push(error.to_string()),
        }
        listed.retain(|id, _| gateway.registry.contains(id));
        Taken { listed, left_out }
    }

    fn set_ready(&self, tools: BTreeMap<CapabilityId, Arc<Value>>) -> bool {
        let Ok(mut state) = self.state.lock() else { return false };
        let changed = !state.ready || state.problem.is_some() || state.tools != tools;
        *state = State { tools, problem: None, ready: true };
        changed
    }

    async fn lost(&self, gateway: &Gateway, error: &McpError) {
        // A model reads it too.
        let problem = gateway.kernel.firewall().redact_text(&error.to_string()).text;
        let news = match self.state.lock() {
            // That it is too early to try again says less than why it is away.
            Ok(state) if state.problem.is_some() && matches!(error, McpError::Backoff { .. }) => {
                return;
            }
            Ok(mut state) => {
                let news = state.problem.is_none();
                state.problem = Some(problem.clone());
                news
            }
            Err(_) => false,
        };
        if !news {
            return;
        }
        tracing::warn!(upstream = %self.name, "{problem}");
        let fields = fields([
            ("upstream", json!(self.name)),
            ("code", json!(error.code())),
            ("problem", json!(problem.chars().take(500).collect::<String>())),
        ]);
        note(gateway, EventKind::UpstreamLost, fields).await;
    }
}

/// How an upstream is reached, by the configuration: a child of ours by a launcher.
pub(crate) fn reached(config: &config::Upstream, whole: &Config) -> UpstreamConfig {
    let endpoint = match &config.transport {
        Transport::Stdio { command, args, env, cwd, confine } => Endpoint::Stdio(StdioConfig {
            command: command.clone(),
            args: args.clone(),
            env: env.clone(),
            cwd: cwd.clone(),
            confined: Some(Confined {
                launcher: Launcher::this_program(LAUNCH),
                confinement: whole.confinement(confine.as_ref()),
            }),
        }),
        Transport::Http { url, headers } => {
            Endpoint::Http(HttpConfig { url: url.clone(), headers: headers.clone() })
        }
    };
    let mut upstream = UpstreamConfig::new(config.name.as_str(), endpoint);
    if let Some(timeout) = config.timeout {
        upstream.limits.call_timeout = timeout;
    }
    let (limits, own) = (&mut upstream.limits, &config.limits);
    limits.in_flight = own.calls.unwrap_or(limits.in_flight);
    limits.waiting = own.waiting.unwrap_or(limits.waiting);
    limits.calls_per_second = own.calls_per_second;
    limits.message_bytes = own.message_bytes.unwrap_or(limits.message_bytes);
    upstream
}

fn fields<const N: usize>(pairs: [(&str, Value); N]) -> Map<String, Value> {
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

pub(super) async fn note(gateway: &Gateway, kind: EventKind, fields: Map<String, Value>) {
    if let Err(error) = gateway.kernel.note(kind, fields).await {
        tracing::error!(%error, "an event could not be recorded");
    }
}
