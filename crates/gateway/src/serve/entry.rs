//! One upstream server: connects it, registers its tools, and knows whether it is available.

mod features;

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use weaver_agent_kernel::{Contract, Driver};
use weaver_drivers::McpDriver;
use weaver_drivers::confine::{Enforced, Protection};
use weaver_drivers::mcp::{
    Connection, ListedTool, LogLevel, McpError, Redactor, ServerList, Upstream, UpstreamConfig,
};
use weaver_types::{Capability, CapabilityId, EventKind, UpstreamName};

use self::features::FeatureRegistrations;
use super::gateway::Gateway;
use super::import;
use super::server_events::ServerEvents;
use super::server_feature::ServerFeatures;
use super::server_requests;
use super::upstream_config::upstream_config;
use crate::config;

/// How long a call waits for its server to list again, or to come back.
const RELIST: Duration = Duration::from_secs(30);
/// Some servers register their tools a moment after the handshake.
const SECOND_LOOK: Duration = Duration::from_millis(150);
/// How often an empty list is looked at again at the start.
const LOOKS: u32 = 3;
/// How long a listing waits for another look at a server that is there.
const PATIENCE: Duration = Duration::from_secs(2);
/// The pause before a server that is away is tried again; it doubles with each failure.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// How many rejected tools are recorded.
const MAX_LEFT_OUT: usize = 20;
/// How many characters of a problem are recorded.
const MAX_PROBLEM: usize = 2_000;

/// How many changed tools of one listing are recorded, and how many changes of each.
const MAX_TOLD: usize = 50;
const MAX_CHANGES: usize = 50;

/// One upstream.
pub(crate) struct Entry {
    pub(crate) name: UpstreamName,
    config: config::Upstream,
    redactor: Redactor,
    upstream: RwLock<Arc<Upstream>>,
    state: Mutex<State>,
    started: Instant,
    /// One listing at a time.
    listing: tokio::sync::Mutex<()>,
    /// Wakes the task that polls the server before its pause is over.
    wake: Arc<Notify>,
    /// What it offers beside tools.
    features: RwLock<Arc<ServerFeatures>>,
    /// Where what it tells and asks goes.
    events: ServerEvents,
    /// From which level on its log messages are wanted.
    log_level: Mutex<Option<LogLevel>>,
    /// How many polls have ended.
    looks: watch::Sender<u64>,
    /// True once the first attempt is over.
    settled: watch::Sender<bool>,
    /// True once the gateway ends and nobody waits for a server.
    closing: watch::Receiver<bool>,
}

#[derive(Default)]
struct State {
    tools: BTreeMap<CapabilityId, Arc<Value>>,
    /// Why it is unavailable; `None` while it is connected.
    problem: Option<String>,
    ready: bool,
}

/// A server whose tools are unavailable.
pub(crate) struct UnavailableServer {
    pub(crate) server: UpstreamName,
    pub(crate) status: MissingStatus,
    /// Why, in words.
    pub(crate) problem: String,
}

/// Why the tools of a server are unavailable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MissingStatus {
    /// Its first start is under way.
    Starting,
    /// It failed, and is tried again.
    Failed,
}

impl MissingStatus {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Failed => "failed",
        }
    }
}

/// The result of one `tools/list`.
struct Listing {
    listed: BTreeMap<CapabilityId, Arc<Value>>,
    left_out: Vec<String>,
}

impl Entry {
    pub(crate) fn new(
        config: &config::Upstream,
        connection: UpstreamConfig,
        redactor: &Redactor,
        closing: watch::Receiver<bool>,
        events: &ServerEvents,
    ) -> Self {
        let connection = UpstreamConfig { redactor: Some(redactor.clone()), ..connection };
        let wake = Arc::new(Notify::new());
        let connection = events.attach(&config.name, &wake, connection);
        Self {
            name: config.name.clone(),
            config: config.clone(),
            redactor: redactor.clone(),
            upstream: RwLock::new(Arc::new(Upstream::new(connection))),
            state: Mutex::default(),
            started: Instant::now(),
            listing: tokio::sync::Mutex::default(),
            wake,
            features: RwLock::default(),
            events: events.clone(),
            log_level: Mutex::default(),
            looks: watch::Sender::new(0),
            settled: watch::Sender::new(false),
            closing,
        }
    }

    fn upstream(&self) -> Arc<Upstream> {
        Arc::clone(&self.upstream.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Keeps the server connected and its tools current until the gateway ends. A server that is
    /// away is tried again after a pause that grows with each failure, or when somebody needs it.
    pub(crate) async fn keep(&self, gateway: &Gateway) {
        self.first_look(gateway).await;
        let mut failures = u32::from(self.problem().is_some());
        let mut closing = self.closing.clone();
        loop {
            let pause =
                FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(failures.saturating_sub(1)));
            tokio::select! {
                biased;
                _ = closing.wait_for(|closing| *closing) => return,
                () = self.wake.notified() => {}
                () = tokio::time::sleep(pause.min(LONGEST_PAUSE)) => {}
            }
            failures = match self.look(gateway).await {
                Ok(()) => 0,
                Err(()) => failures.saturating_add(1),
            };
        }
    }

    /// Lists the tools again, if the server says that they changed or has gone away.
    async fn look(&self, gateway: &Gateway) -> Result<(), ()> {
        let looked = {
            let _one_at_a_time = self.listing.lock().await;
            let upstream = self.upstream();
            if is_stale(&upstream).await {
                if let Some(error) = upstream.ended().await {
                    self.lost(gateway, &error).await;
                }
                let listed = self.relist(gateway).await.map(drop);
                self.settle_tools(gateway);
                listed
            } else {
                Ok(())
            }
        };
        self.looks.send_modify(|looks| *looks = looks.wrapping_add(1));
        looked
    }

    /// The first attempt to connect, with a second look at a list that may not be whole yet.
    async fn first_look(&self, gateway: &Gateway) {
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
            if matches!(found, Ok(n) if n > 0) && !self.upstream().tools_stale().await {
                break;
            }
        }
        self.settle_tools(gateway);
        self.settled.send_replace(true);
    }

    /// Tools listed for the first time after this point are new tools.
    fn settle_tools(&self, gateway: &Gateway) {
        if self.tools().is_empty() {
            return;
        }
        if let Err(error) = gateway.registry.settle(self.name.as_str()) {
            tracing::error!(upstream = %self.name, %error, "later tools are not told from the first ones");
        }
    }

    /// Has the server looked at, if it says that its tools changed or has gone away. Whoever lists
    /// waits a little for a server that is there, and not at all for one that is known to be away:
    /// it is tried again in the background.
    pub(crate) async fn look_again(&self) {
        let looked = self.next_look();
        self.wake.notify_one();
        if self.problem().is_none() {
            let _ = tokio::time::timeout(PATIENCE, looked).await;
        }
    }

    /// Done when the next look is over, or nobody waits any more.
    fn next_look(&self) -> impl Future<Output = ()> + use<> {
        let (mut looks, mut closing) = (self.looks.subscribe(), self.closing.clone());
        async move {
            tokio::select! {
                _ = closing.wait_for(|closing| *closing) => {}
                _ = looks.changed() => {}
            }
        }
    }

    /// Why it is away; `None` while it is there, and while nobody knows yet.
    pub(crate) fn problem(&self) -> Option<String> {
        self.state.lock().ok()?.problem.clone()
    }

    /// Why its tools are unavailable; `None` while they are available.
    pub(crate) fn missing(&self) -> Option<UnavailableServer> {
        let (status, problem) = match self.problem() {
            Some(problem) => (MissingStatus::Failed, problem),
            None if self.is_settled() || self.is_ready() => return None,
            None => {
                let seconds = self.started.elapsed().as_secs();
                let problem = format!("it is still starting, since {seconds} s");
                (MissingStatus::Starting, problem)
            }
        };
        Some(UnavailableServer { server: self.name.clone(), status, problem })
    }

    /// The tools that it listed last.
    pub(crate) fn tools(&self) -> BTreeMap<CapabilityId, Arc<Value>> {
        self.state.lock().map(|state| state.tools.clone()).unwrap_or_default()
    }

    /// True once its tools were listed, although they may not be all of them yet.
    fn is_ready(&self) -> bool {
        self.state.lock().is_ok_and(|state| state.ready)
    }

    /// True once the first attempt is over.
    pub(crate) fn is_settled(&self) -> bool {
        *self.settled.borrow()
    }

    /// Waits until the first attempt is over, at most until it has lasted for `patience`.
    pub(crate) async fn wait_settled(&self, patience: Duration) {
        let (mut settled, mut closing) = (self.settled.subscribe(), self.closing.clone());
        tokio::select! {
            _ = settled.wait_for(|settled| *settled) => {}
            _ = closing.wait_for(|closing| *closing) => {}
            () = tokio::time::sleep(patience.saturating_sub(self.started.elapsed())) => {}
        }
    }

    pub(crate) async fn close(&self) {
        self.upstream().close().await;
    }

    /// Ends the server and starts it anew, confined by what has to be kept from it now.
    pub(crate) async fn restart(&self, gateway: &Gateway) {
        let upstream = self.upstream();
        let covered = upstream.enforced().await;
        if !covered.is_some_and(|kept| kept.protections.contains(&Protection::Mounts)) {
            return;
        }
        tracing::warn!(upstream = %self.name, "started again: a file that is kept from it was replaced or made");
        let config = upstream_config(&self.config, &gateway.config, &gateway.launcher);
        let config = UpstreamConfig { redactor: Some(self.redactor.clone()), ..config };
        let config = self.events.attach(&self.name, &self.wake, config);
        let fresh = Arc::new(Upstream::new(config));
        *self.upstream.write().unwrap_or_else(PoisonError::into_inner) = fresh;
        upstream.kill().await;
        self.wake.notify_one();
    }

    /// Lists the tools again, if the server says that they changed or has gone away, so that a call
    /// is judged by what its server says now. Whoever comes meanwhile waits for the same listing.
    ///
    /// The error says why that failed: what was listed before is then not what is there.
    pub(crate) async fn keep_current(&self) -> Result<(), String> {
        if !self.is_settled() && !self.is_ready() {
            let problem = self.missing().map(|missing| missing.problem);
            return Err(problem.unwrap_or_else(|| "it is still starting".to_owned()));
        }
        // What is being listed is not in the registry yet.
        if let Ok(_nobody_lists) = self.listing.try_lock()
            && !self.upstream().tools_stale().await
        {
            return Ok(());
        }
        let looked = self.next_look();
        self.wake.notify_one();
        let slow = tokio::time::timeout(RELIST, looked).await.is_err();
        match self.problem() {
            Some(problem) => Err(problem),
            None if slow => Err(format!("it did not list its tools again within {RELIST:?}")),
            None if *self.closing.borrow() => Err("the gateway ends".to_owned()),
            None => Ok(()),
        }
    }

    /// Lists the tools and puts them into the registry; says how many there are.
    async fn refresh(&self, gateway: &Gateway) -> Result<usize, ()> {
        let _one_at_a_time = self.listing.lock().await;
        self.relist(gateway).await
    }

    async fn relist(&self, gateway: &Gateway) -> Result<usize, ()> {
        match self.upstream().listing().await {
            Ok((connection, tools)) => {
                let features = self.ask_features(&connection).await;
                Ok(self.take_in(gateway, &tools, features, &connection).await)
            }
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
        features: ServerFeatures,
        connection: &Connection,
    ) -> usize {
        if let Some(enforced) = connection.enforced() {
            gateway.confined.note(self.name.clone(), self.upstream().config(), enforced);
        }
        let registrations = self.feature_capabilities(&features, connection);
        let FeatureRegistrations { set: mut more, left_out: unread } = registrations;
        more.extend(server_requests::capabilities(&self.name, &gateway.upstreams.relays));
        let Listing { listed, mut left_out } = self.register(gateway, tools, more, connection);
        left_out.extend(unread);
        self.put_features(gateway, features);
        let count = listed.len();
        if self.set_ready(listed) {
            left_out.extend(gateway.tools_changed(&self.name));
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

    fn register(
        &self,
        gateway: &Gateway,
        tools: &[ListedTool],
        more: Vec<(Capability, Arc<dyn Driver>)>,
        connection: &Connection,
    ) -> Listing {
        let (instructions, generation) =
            (connection.server().instructions(), connection.generation());
        let mut set = more;
        let mut listed = BTreeMap::new();
        let mut left_out = Vec::new();
        for tool in tools {
            match import::propose(&self.config, tool, instructions) {
                Ok(capability) => {
                    let runtime = tokio::runtime::Handle::current();
                    let driver = McpDriver::new(self.upstream(), tool.name(), runtime)
                        .of_generation(generation);
                    listed.insert(capability.id().clone(), Arc::new(tool.value().clone()));
                    set.push((capability, Arc::new(driver)));
                }
                Err(problem) => left_out.push(problem.to_string()),
            }
        }
        match gateway.registry.replace_prefix(&format!("{}.", self.name), set) {
            Ok(errors) => left_out.extend(errors.into_iter().map(|error| error.to_string())),
            Err(error) => left_out.push(error.to_string()),
        }
        listed.retain(|id, _| gateway.registry.contains(id));
        Listing { listed, left_out }
    }

    fn set_ready(&self, tools: BTreeMap<CapabilityId, Arc<Value>>) -> bool {
        let Ok(mut state) = self.state.lock() else { return false };
        let changed = !state.ready || state.problem.is_some() || state.tools != tools;
        *state = State { tools, problem: None, ready: true };
        changed
    }

    async fn lost(&self, gateway: &Gateway, error: &McpError) {
        // The text also reaches a model.
        let problem = gateway.kernel.firewall().redact_text(&error.explained()).text;
        let news = match self.state.lock() {
            // The cause says more than "too early to try again".
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
            ("problem", json!(problem.chars().take(MAX_PROBLEM).collect::<String>())),
        ]);
        note(gateway, EventKind::UpstreamLost, fields).await;
    }
}

/// Whether the server said that one of its lists changed, or has gone away.
async fn is_stale(upstream: &Upstream) -> bool {
    if upstream.tools_stale().await {
        return true;
    }
    for list in [ServerList::Resources, ServerList::ResourceTemplates, ServerList::Prompts] {
        if upstream.is_stale(list).await {
            return true;
        }
    }
    false
}

fn fields<const N: usize>(pairs: [(&str, Value); N]) -> Map<String, Value> {
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

pub(super) async fn note(gateway: &Gateway, kind: EventKind, fields: Map<String, Value>) {
    if let Err(error) = gateway.kernel.note(kind, fields).await {
        tracing::error!(%error, "an event could not be recorded");
    }
}
