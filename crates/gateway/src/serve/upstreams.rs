//! The upstreams: connecting, taking in their tools, and knowing which of them is away.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::watch;
use weaver_agent_kernel::Driver;
use weaver_drivers::McpDriver;
use weaver_drivers::mcp::{
    Endpoint, HttpConfig, ListedTool, McpError, StdioConfig, Upstream, UpstreamConfig,
};
use weaver_types::{Capability, CapabilityId, EventKind, UpstreamName};

use super::gateway::Gateway;
use super::import;
use crate::config::{self, Config, Transport};

/// How long requests wait for the first connection attempts.
const SETTLE: Duration = Duration::from_secs(20);
/// Some servers register their tools a moment after the handshake.
const SECOND_LOOK: Duration = Duration::from_millis(150);
/// How often an empty list is looked at again at the start.
const LOOKS: u32 = 3;

/// One upstream.
pub(crate) struct Entry {
    pub(crate) name: UpstreamName,
    upstream: Arc<Upstream>,
    state: Mutex<State>,
    /// One listing at a time.
    listing: tokio::sync::Mutex<()>,
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

/// All upstreams.
pub(crate) struct Upstreams(Vec<Arc<Entry>>);

impl Upstreams {
    pub(crate) fn new(config: &Config) -> Self {
        Self(config.upstreams.iter().map(|upstream| Arc::new(Entry::new(upstream))).collect())
    }

    /// Begins to connect all of them.
    pub(crate) fn start(&self, gateway: &Arc<Gateway>) {
        for entry in &self.0 {
            let (gateway, entry) = (Arc::clone(gateway), Arc::clone(entry));
            tokio::spawn(async move {
                for look in 0..LOOKS {
                    let found = entry.refresh(&gateway).await;
                    let wait = match found {
                        Ok(0) => true,
                        Ok(_) => look == 0,
                        Err(()) => false,
                    };
                    if !wait {
                        break;
                    }
                    tokio::time::sleep(SECOND_LOOK).await;
                    if matches!(found, Ok(n) if n > 0) && !entry.upstream.tools_stale().await {
                        break;
                    }
                }
                entry.settled.send_replace(true);
            });
        }
    }

    /// Waits for the first attempts, and looks again at whoever says that its tools changed or has
    /// gone away.
    pub(crate) async fn fresh(&self, gateway: &Gateway) {
        let all = self.0.iter().map(|entry| async move {
            entry.wait_settled().await;
            if entry.upstream.tools_stale().await {
                let _ = entry.refresh(gateway).await;
            }
        });
        futures_util::future::join_all(all).await;
    }

    /// The tools of all, as their servers list them.
    pub(crate) fn tools(&self) -> BTreeMap<CapabilityId, Arc<Value>> {
        let mut tools = BTreeMap::new();
        for entry in &self.0 {
            if let Ok(state) = entry.state.lock() {
                tools.extend(state.tools.iter().map(|(id, tool)| (id.clone(), Arc::clone(tool))));
            }
        }
        tools
    }

    /// The upstream that a capability belongs to by its name.
    pub(crate) fn of(&self, id: &str) -> Option<&Arc<Entry>> {
        let (upstream, _) = id.split_once('.')?;
        self.0.iter().find(|entry| entry.name.as_str() == upstream)
    }

    /// Who is away, and why.
    pub(crate) fn away(&self) -> Vec<(String, String)> {
        self.0.iter().filter_map(|entry| Some((entry.name.to_string(), entry.problem()?))).collect()
    }

    pub(crate) async fn close(&self) {
        futures_util::future::join_all(self.0.iter().map(|entry| entry.upstream.close())).await;
    }
}

impl Entry {
    fn new(config: &config::Upstream) -> Self {
        let endpoint = match &config.transport {
            Transport::Stdio { command, args, env, cwd } => Endpoint::Stdio(StdioConfig {
                command: command.clone(),
                args: args.clone(),
                env: env.clone(),
                cwd: cwd.clone(),
            }),
            Transport::Http { url, headers } => {
                Endpoint::Http(HttpConfig { url: url.clone(), headers: headers.clone() })
            }
        };
        let mut upstream = UpstreamConfig::new(config.name.as_str(), endpoint);
        if let Some(timeout) = config.timeout {
            upstream.limits.call_timeout = timeout;
        }
        Self {
            name: config.name.clone(),
            upstream: Arc::new(Upstream::new(upstream)),
            state: Mutex::default(),
            listing: tokio::sync::Mutex::default(),
            settled: watch::Sender::new(false),
        }
    }

    /// Why it is away; `None` while it is there.
    pub(crate) fn problem(&self) -> Option<String> {
        self.state.lock().ok()?.problem.clone()
    }

    /// Waits until the first attempt is over, within reason.
    pub(crate) async fn wait_settled(&self) {
        let mut settled = self.settled.subscribe();
        let _ = tokio::time::timeout(SETTLE, settled.wait_for(|settled| *settled)).await;
    }

    /// Lists the tools and puts them into the registry; says how many there are.
    pub(crate) async fn refresh(&self, gateway: &Gateway) -> Result<usize, ()> {
        let _one_at_a_time = self.listing.lock().await;
        match self.list().await {
            Ok((tools, instructions)) => {
                Ok(self.take_in(gateway, &tools, instructions.as_deref()).await)
            }
            Err(error) => {
                self.lost(gateway, &error).await;
                Err(())
            }
        }
    }

    async fn list(&self) -> Result<(Vec<ListedTool>, Option<String>), McpError> {
        let connection = self.upstream.connection().await?;
        let tools = self.upstream.list_tools().await?;
        Ok((tools, connection.server().instructions().map(str::to_owned)))
    }

    async fn take_in(
        &self,
        gateway: &Gateway,
        tools: &[ListedTool],
        instructions: Option<&str>,
    ) -> usize {
        let mut set: Vec<(Capability, Arc<dyn Driver>)> = Vec::new();
        let mut listed = BTreeMap::new();
        let mut refused = Vec::new();
        for tool in tools {
            match import::propose(&self.name, tool, instructions) {
                Ok(capability) => {
                    let runtime = tokio::runtime::Handle::current();
                    let driver = McpDriver::new(Arc::clone(&self.upstream), tool.name(), runtime);
                    listed.insert(capability.id().clone(), Arc::new(tool.value().clone()));
                    set.push((capability, Arc::new(driver)));
                }
                Err(problem) => refused.push(problem),
            }
        }
        let prefix = format!("{}.", self.name);
        match gateway.registry.replace_prefix(&prefix, set) {
            Ok(errors) => refused.extend(errors.into_iter().map(|error| error.to_string())),
            Err(error) => refused.push(error.to_string()),
        }
        listed.retain(|id, _| gateway.registry.contains(id));
        for problem in &refused {
            tracing::warn!(upstream = %self.name, "a tool was left out: {problem}");
        }
        let count = listed.len();
        let changed = self.set_ready(listed);
        if changed {
            gateway.restock();
            let fields = fields([
                ("upstream", json!(self.name)),
                ("tools", json!(count)),
                ("left_out", json!(refused.iter().take(20).collect::<Vec<_>>())),
            ]);
            if let Err(error) = gateway.kernel.note(EventKind::UpstreamReady, fields).await {
                tracing::error!(%error, "an event could not be recorded");
            }
        }
        count
    }

    fn set_ready(&self, tools: BTreeMap<CapabilityId, Arc<Value>>) -> bool {
        let Ok(mut state) = self.state.lock() else { return false };
        let changed = !state.ready || state.problem.is_some() || state.tools != tools;
        *state = State { tools, problem: None, ready: true };
        changed
    }

    async fn lost(&self, gateway: &Gateway, error: &McpError) {
        let problem = error.to_string();
        let news = match self.state.lock() {
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
        if let Err(error) = gateway.kernel.note(EventKind::UpstreamLost, fields).await {
            tracing::error!(%error, "an event could not be recorded");
        }
    }
}

fn fields<const N: usize>(pairs: [(&str, Value); N]) -> Map<String, Value> {
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}
