//! All upstream servers: their tools, features and availability.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::task::JoinHandle;
use weaver_drivers::confine::Launcher;
use weaver_drivers::mcp::Redactor;
use weaver_firewall::Firewall;
use weaver_policy::PolicySet;
use weaver_types::{CapabilityId, PrincipalId, RunId, UpstreamName};

use super::client_link::ClientLink;
use super::connected_clients::ConnectedClients;
use super::feature_snapshot::{FeatureSnapshot, PromptNames, ResourceAddress};
use super::listed_definition::ListedDefinition;
use super::managed_server::{
    CALL_START_WAIT, FEATURE_START_WAIT, LIST_START_WAIT, ListingObserver, ManagedServer,
    ManagedServerContext, UnavailableServer,
};
use super::own_tools;
use super::pending_relays::PendingRelays;
use super::roots_changes::RootsChanges;
use super::server_events::{InstanceRef, LogMessage, ServerEvents};
use super::server_feature::{FeatureKind, ServerFeatures};
use super::start_queue::StartQueue;
use super::target_client::TargetClient;
use crate::config::Config;

/// How long servers may take to shut down when the gateway ends.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// All upstreams, and the operator's own tools.
pub(crate) struct Upstreams {
    pub(crate) events: ServerEvents,
    pub(crate) connected_clients: ConnectedClients,
    pub(crate) roots_changes: RootsChanges,
    pub(crate) relays: Arc<PendingRelays>,
    features: ArcSwap<FeatureSnapshot>,
    prompt_names: PromptNames,
    /// One rebuild at a time: an older snapshot must not replace a newer one.
    rebuild_lock: Mutex<()>,
    servers: ArcSwap<ServerList>,
    redactor: Redactor,
    launcher: Launcher,
    /// Where servers wait for their start.
    starts: StartQueue,
    own_tools: BTreeMap<CapabilityId, Arc<ListedDefinition>>,
    /// True once the gateway shuts down, when nobody waits for a server any more.
    closing: AtomicBool,
}

/// The servers, with the configuration that they come from.
struct ServerList {
    config: Arc<Config>,
    servers: Vec<Arc<ManagedServer>>,
}

/// What another configuration changed.
pub(crate) struct ReplacedServers {
    /// The servers that have ended, or end with their last call.
    pub(crate) retired: Vec<Arc<ManagedServer>>,
    /// The servers to be started.
    pub(crate) new: Vec<Arc<ManagedServer>>,
}

impl Upstreams {
    pub(crate) fn new(
        config: &Arc<Config>,
        redactor: &Redactor,
        launcher: &Launcher,
        policy: &Arc<PolicySet>,
    ) -> Self {
        let (connected_clients, relays) =
            (ConnectedClients::default(), Arc::<PendingRelays>::default());
        let events = ServerEvents::new(policy, &connected_clients);
        let starts = StartQueue::for_this_machine();
        let context = ManagedServerContext {
            gateway_config: config,
            redactor,
            launcher,
            events: &events,
            relays: &relays,
            connected_clients: &connected_clients,
            starts: &starts,
        };
        let server = |upstream| Arc::new(ManagedServer::new(upstream, &context));
        let servers = config.upstreams.iter().map(server).collect();
        let servers = ServerList { config: Arc::clone(config), servers };
        let plain = config.unprefixed;
        let prompt_names = if plain { PromptNames::Plain } else { PromptNames::Prefixed };
        let (own_tools, features) = (own_tools::definitions(config), ArcSwap::default());
        Self {
            events,
            connected_clients,
            roots_changes: RootsChanges::default(),
            relays,
            features,
            prompt_names,
            rebuild_lock: Mutex::default(),
            servers: ArcSwap::from_pointee(servers),
            redactor: redactor.clone(),
            launcher: launcher.clone(),
            starts,
            own_tools,
            closing: AtomicBool::new(false),
        }
    }

    /// The configuration in force.
    pub(crate) fn config(&self) -> Arc<Config> {
        Arc::clone(&self.servers.load().config)
    }

    /// Puts a configuration into force that differs in its servers only. A server goes on, with its
    /// processes and what they keep, if everything that it is started from is the same: its entry,
    /// the secrets in it, and what it may reach. The others are no longer among the servers when
    /// this returns.
    pub(crate) fn replace(&self, config: Config, policy: &Arc<PolicySet>) -> ReplacedServers {
        let config = Arc::new(config);
        let before = self.servers.load_full();
        let events = self.events.under(policy);
        let context = ManagedServerContext {
            gateway_config: &config,
            redactor: &self.redactor,
            launcher: &self.launcher,
            events: &events,
            relays: &self.relays,
            connected_clients: &self.connected_clients,
            starts: &self.starts,
        };
        let mut new = Vec::new();
        let mut server = |upstream| {
            let known = before.servers.iter().find(|one| one.goes_on_as(upstream, &config));
            known.map_or_else(
                || {
                    let server = Arc::new(ManagedServer::new(upstream, &context));
                    new.push(Arc::clone(&server));
                    server
                },
                Arc::clone,
            )
        };
        let servers: Vec<_> = config.upstreams.iter().map(&mut server).collect();
        let goes_on = |one: &&Arc<ManagedServer>| servers.iter().any(|kept| Arc::ptr_eq(kept, one));
        let retired = before.servers.iter().filter(|one| !goes_on(one)).cloned().collect();
        self.servers.store(Arc::new(ServerList { config: Arc::clone(&config), servers }));
        if self.closing.load(Ordering::SeqCst) {
            self.stop_waiting();
        }
        ReplacedServers { retired, new }
    }

    /// Waits for the first connection attempt of each server, as long as a call does.
    pub(crate) async fn wait_for_first_attempts(&self) {
        let servers = self.servers();
        let all = servers.iter().map(|server| server.wait_for_first_attempt(CALL_START_WAIT));
        futures_util::future::join_all(all).await;
    }

    /// The same for those servers of which no tools are known yet.
    pub(crate) async fn wait_for_unknown_tools(&self) {
        let servers = self.servers();
        let unknown = servers.iter().filter(|server| !server.has_restored_tools());
        let all = unknown.map(|server| server.wait_for_first_attempt(CALL_START_WAIT));
        futures_util::future::join_all(all).await;
    }

    /// Waits for the first connection attempts of servers of which no tools are known yet, as long as
    /// a list does, and then polls the servers that reported a change or ended.
    pub(crate) async fn refresh_tools(&self) {
        let wait = |server: &ManagedServer| match server.has_restored_tools() {
            true => Duration::ZERO,
            false => LIST_START_WAIT,
        };
        self.refresh(wait).await;
    }

    /// The same before a list of prompts, or of resources and templates. A server that had some when
    /// it was last listed is waited for longer, and one that had none not at all.
    pub(crate) async fn refresh_features(&self, kind: FeatureKind) {
        let wait = |server: &ManagedServer| match server.had(kind) {
            Some(true) => FEATURE_START_WAIT,
            Some(false) => Duration::ZERO,
            None => LIST_START_WAIT,
        };
        self.refresh(wait).await;
    }

    async fn refresh(&self, wait: impl Fn(&ManagedServer) -> Duration) {
        let servers = self.servers();
        let all = servers.iter().map(|server| async {
            server.wait_for_first_attempt(wait(server)).await;
            if server.is_first_attempt_done() {
                server.poll_now().await;
            }
        });
        futures_util::future::join_all(all).await;
    }

    /// All tools, as their servers list them.
    pub(crate) fn tools(&self) -> BTreeMap<CapabilityId, Arc<ListedDefinition>> {
        let own_tools = self.own_tools.iter().map(|(id, tool)| (id.clone(), Arc::clone(tool)));
        self.servers().iter().flat_map(|server| server.tools()).chain(own_tools).collect()
    }

    /// The features of the primary instances, as last listed.
    pub(crate) fn features(&self) -> Arc<FeatureSnapshot> {
        self.features.load_full()
    }

    /// The features of each server that the client of a run sees; `None` where they are those that
    /// all clients see.
    pub(crate) async fn features_of_run(
        &self,
        run: Option<&RunId>,
    ) -> Option<Vec<(UpstreamName, Arc<ServerFeatures>)>> {
        let servers = self.servers();
        let features = servers.iter().map(|server| server.features_of_client(run));
        let features = futures_util::future::join_all(features).await;
        if features.iter().all(Option::is_none) {
            return None;
        }
        let all = servers.iter().zip(features);
        let all = all.map(|(server, features)| {
            (server.name.clone(), features.unwrap_or_else(|| server.features()))
        });
        Some(all.collect())
    }

    /// Whether a server is logged in as another principal, so that this one needs a login of its
    /// own.
    pub(crate) fn needs_separate_login(&self, principal: &PrincipalId) -> bool {
        self.servers().iter().any(|server| !server.instances.uses_login_of(principal))
    }

    /// Builds a feature snapshot from the lists of servers.
    pub(crate) fn feature_snapshot(
        &self,
        lists: &[(UpstreamName, Arc<ServerFeatures>)],
        firewall: &Firewall,
    ) -> FeatureSnapshot {
        FeatureSnapshot::build(lists, self.prompt_names, firewall)
    }

    /// Whether a change at an instance concerns a client.
    pub(crate) fn is_for_client(&self, source: &InstanceRef, client: &Arc<ClientLink>) -> bool {
        // Everybody may have seen the lists of a server that the configuration no longer has.
        let Some(server) = self.by_name(&source.server) else { return true };
        match self.connected_clients.run_of(client) {
            Some(run) => server.instances.serves(source.id, Some(&run)),
            // Nothing under another principal's login is for a client that has no run yet.
            None => {
                let principal = self.connected_clients.principal_of(client);
                principal.is_some_and(|one| server.instances.uses_login_of(&one.id()))
                    && server.instances.serves(source.id, None)
            }
        }
    }

    /// Rebuilds the feature snapshot.
    pub(crate) fn rebuild_features(&self, firewall: &Firewall) {
        let _turn = self.rebuild_lock.lock();
        let servers = self.servers();
        let all = servers.iter().map(|server| (server.name.clone(), server.features()));
        let all: Vec<_> = all.collect();
        self.features.store(Arc::new(self.feature_snapshot(&all, firewall)));
    }

    /// Refreshes the resources of servers that do not report changes, after
    /// [`Self::refresh_features`].
    pub(crate) async fn refresh_resources(&self, observer: &dyn ListingObserver) {
        self.refresh_features(FeatureKind::ResourceReading).await;
        let servers = self.servers();
        let all = servers.iter().map(|server| server.refresh_resources(observer));
        futures_util::future::join_all(all).await;
    }

    /// Brings the subscriptions at a server up to date, in a task that nothing cuts short. `new` are
    /// URIs that a client has begun to watch.
    pub(crate) fn sync_subscriptions(
        &self,
        server: &UpstreamName,
        new: BTreeSet<String>,
    ) -> Option<JoinHandle<()>> {
        let server = self.by_name(server)?;
        Some(tokio::spawn(async move { server.sync_subscriptions(&new).await }))
    }

    /// Brings the subscriptions at the servers of these resources up to date in the background.
    pub(crate) fn sync_subscriptions_of(&self, changed: &BTreeSet<ResourceAddress>) {
        let servers: BTreeSet<_> = changed.iter().map(|address| &address.server).collect();
        for server in servers {
            self.sync_subscriptions(server, BTreeSet::new());
        }
    }

    /// True once the first attempt of every server is over.
    pub(crate) fn are_first_attempts_done(&self) -> bool {
        self.servers().iter().all(|server| server.is_first_attempt_done())
    }

    /// The server of this name.
    pub(crate) fn by_name(&self, name: &UpstreamName) -> Option<Arc<ManagedServer>> {
        self.servers().iter().find(|server| server.name == *name).cloned()
    }

    /// All servers.
    pub(crate) fn servers(&self) -> Vec<Arc<ManagedServer>> {
        self.servers.load().servers.clone()
    }

    /// The client that a request of an instance is meant for.
    pub(crate) fn request_target(&self, source: &InstanceRef) -> Option<TargetClient> {
        let audience = self.by_name(&source.server)?.instances.audience(source.id)?;
        self.connected_clients.request_target(&source.server, &audience)
    }

    /// This client, if a log message may be about it.
    pub(crate) fn log_target(
        &self,
        message: &LogMessage,
        client: &Arc<ClientLink>,
    ) -> Option<TargetClient> {
        let source = &message.source;
        let audience = self.by_name(&source.server)?.instances.audience(source.id)?;
        self.connected_clients.log_target(&audience, &message.calls, client)
    }

    /// Lists the resources again at the instances of a run's client whose servers do not report
    /// changes.
    pub(crate) async fn refresh_resources_of_client(&self, run: &RunId) {
        let servers = self.servers();
        let all = servers.iter().map(|server| server.refresh_resources_of_client(run));
        futures_util::future::join_all(all).await;
    }

    /// Closes the dedicated instances whose clients are gone, given the runs that continue.
    pub(crate) async fn close_unused_instances(&self, runs: &BTreeSet<RunId>) {
        let servers = self.servers();
        let all = servers.iter().map(|server| server.close_unused_instances(runs));
        futures_util::future::join_all(all).await;
    }

    /// The server that a capability belongs to by its id.
    pub(crate) fn for_capability(&self, id: &str) -> Option<Arc<ManagedServer>> {
        let (upstream, _) = id.split_once('.')?;
        let list = self.servers.load();
        list.servers.iter().find(|server| server.name.as_str() == upstream).cloned()
    }

    /// The only server, if there is exactly one.
    pub(crate) fn only_server(&self) -> Option<Arc<ManagedServer>> {
        let list = self.servers.load();
        list.servers.first().filter(|_| list.servers.len() == 1).cloned()
    }

    /// The servers whose tools are unavailable, and why.
    pub(crate) fn unavailable_servers(&self) -> Vec<UnavailableServer> {
        self.servers().iter().filter_map(|server| server.unavailability()).collect()
    }

    /// Ends all waits for servers.
    pub(crate) fn stop_waiting(&self) {
        self.closing.store(true, Ordering::SeqCst);
        self.servers().iter().for_each(|server| server.stop_waiting());
    }

    /// Closes all servers. One that takes too long is killed.
    pub(crate) async fn close(&self) {
        self.stop_waiting();
        let servers = self.servers();
        let all = servers.iter().map(|server| server.close());
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, futures_util::future::join_all(all)).await;
    }
}
