//! All upstream servers: their tools together, and which of them are unavailable.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::sync::watch;
use weaver_drivers::confine::Launcher;
use weaver_drivers::mcp::Redactor;
use weaver_policy::PolicySet;
use weaver_types::{CapabilityId, RunId, UpstreamName};

use super::asked_client::AskedClient;
use super::callers::Callers;
use super::client::Client;
use super::client_link::ClientLink;
use super::entry::{Entry, EntryContext, UnavailableServer};
use super::error::ServeError;
use super::feature_snapshot::{FeatureSnapshot, PromptNames};
use super::gateway::Gateway;
use super::instance_key::InstanceKey;
use super::listed_definition::ListedDefinition;
use super::own_tools;
use super::server_events::{ListedInstance, ServerEvents};
use super::server_feature::ServerFeatures;
use super::server_requests::OpenRelays;
use super::watch_counts::WatchCounts;
use crate::config::Config;

/// How long a server may take to shut down when the gateway ends.
const FAREWELL: Duration = Duration::from_secs(1);

/// All upstreams, and the operator's own tools.
pub(crate) struct Upstreams {
    pub(crate) events: ServerEvents,
    pub(crate) callers: Callers,
    pub(crate) watches: WatchCounts,
    pub(crate) relays: Arc<OpenRelays>,
    features: ArcSwap<FeatureSnapshot>,
    /// One rebuild at a time: an older snapshot must not replace a newer one.
    rebuilding: Mutex<()>,
    entries: Vec<Arc<Entry>>,
    own: BTreeMap<CapabilityId, Arc<ListedDefinition>>,
    /// Set when the gateway ends: nobody waits for a server any more.
    closing: watch::Sender<bool>,
}

impl Upstreams {
    pub(crate) fn new(
        config: &Arc<Config>,
        redactor: &Redactor,
        launcher: &Launcher,
        policy: &Arc<PolicySet>,
    ) -> Self {
        let events = ServerEvents::new(policy);
        let closing = watch::Sender::new(false);
        let callers = Callers::default();
        let context = EntryContext {
            whole: config,
            redactor,
            launcher,
            closing: &closing.subscribe(),
            events: &events,
            clients: &callers.runs,
        };
        let entry = |upstream| Arc::new(Entry::new(upstream, &context));
        let entries = config.upstreams.iter().map(entry).collect();
        let (own, features) = (own_tools::definitions(config), ArcSwap::default());
        Self {
            events,
            callers,
            watches: WatchCounts::default(),
            relays: Arc::default(),
            features,
            rebuilding: Mutex::default(),
            entries,
            own,
            closing,
        }
    }

    /// Starts connecting all of them, and keeps them connected.
    pub(crate) fn start(&self, gateway: &Arc<Gateway>) {
        for entry in &self.entries {
            let (gateway, entry) = (Arc::clone(gateway), Arc::clone(entry));
            tokio::spawn(async move { entry.keep(&gateway).await });
        }
    }

    /// Waits for the first attempts until they have lasted for `patience`.
    pub(crate) async fn settled(&self, patience: Duration) {
        let all = self.entries.iter().map(|entry| entry.wait_settled(patience));
        futures_util::future::join_all(all).await;
    }

    /// Waits for the first attempts until they have lasted for `patience`, and looks again at
    /// whoever says that its tools changed or has gone away.
    pub(crate) async fn fresh(&self, patience: Duration) {
        let all = self.entries.iter().map(|entry| async move {
            entry.wait_settled(patience).await;
            if entry.is_settled() {
                entry.look_again().await;
            }
        });
        futures_util::future::join_all(all).await;
    }

    /// Starts every server again that is kept from the gateway's state by mounts.
    pub(crate) async fn restart_covered(&self, gateway: &Gateway) {
        let all = self.entries.iter().map(|entry| entry.restart(gateway));
        futures_util::future::join_all(all).await;
    }

    /// The tools of all, as their servers list them.
    pub(crate) fn tools(&self) -> BTreeMap<CapabilityId, Arc<ListedDefinition>> {
        let own = self.own.iter().map(|(id, tool)| (id.clone(), Arc::clone(tool)));
        self.entries.iter().flat_map(|entry| entry.tools()).chain(own).collect()
    }

    /// What the servers offer beside tools, as they listed it last.
    pub(crate) fn features(&self) -> Arc<FeatureSnapshot> {
        self.features.load_full()
    }

    /// What the servers offer to a client beside tools: a client with instances of its own sees what
    /// those offer.
    pub(crate) async fn features_of(&self, client: &Client) -> Arc<FeatureSnapshot> {
        let Ok(run) = self.listing_run(client).await else { return Arc::default() };
        let own = self.entries.iter().map(|entry| entry.features_of_client(run.as_ref()));
        let own = futures_util::future::join_all(own).await;
        if own.iter().all(Option::is_none) {
            return self.features();
        }
        let all = self.entries.iter().zip(own);
        let all = all.map(|(entry, own)| own.unwrap_or_else(|| entry.features()));
        client.features.of(all.collect(), |all| {
            let named =
                self.entries.iter().map(|entry| entry.name.clone()).zip(all.iter().cloned());
            self.snapshot(&client.gateway, &named.collect::<Vec<_>>())
        })
    }

    /// The run for which features are listed: the client's last one, if any. A client that logs in
    /// somewhere by itself gets one before its first call, since nobody else's lists are for it.
    async fn listing_run(&self, client: &Client) -> Result<Option<RunId>, ServeError> {
        let principal = client.principal()?;
        let foreign = |entry: &Arc<Entry>| !entry.instances.is_login_of(&principal.id);
        let run = match client.last_run().await {
            Some(run) => Some(run),
            None if self.entries.iter().any(foreign) => Some(client.run().await?.run_id),
            None => None,
        };
        if let Some(run) = &run {
            self.callers.note_run(client, run)?;
        }
        Ok(run)
    }

    fn snapshot(
        &self,
        gateway: &Gateway,
        servers: &[(UpstreamName, Arc<ServerFeatures>)],
    ) -> FeatureSnapshot {
        let plain = gateway.config.unprefixed;
        let names = if plain { PromptNames::Plain } else { PromptNames::Prefixed };
        FeatureSnapshot::build(servers, names, gateway.kernel.firewall())
    }

    /// Whether what an instance of a server tells concerns a client.
    pub(crate) fn concerns(&self, of: &ListedInstance, client: &Arc<ClientLink>) -> bool {
        let run = self.callers.run_of(client);
        let serves =
            |entry: &Arc<Entry>| entry.instances.serves(of.instance.as_ref(), run.as_ref());
        self.named(&of.server).is_some_and(serves)
    }

    /// Puts the features of all together anew.
    pub(crate) fn rebuild_features(&self, gateway: &Gateway) {
        let _turn = self.rebuilding.lock();
        let all: Vec<_> =
            self.entries.iter().map(|entry| (entry.name.clone(), entry.features())).collect();
        self.features.store(Arc::new(self.snapshot(gateway, &all)));
    }

    /// Lists the resources again of servers that do not tell of changes, and waits for first
    /// attempts as [`Self::fresh`] does.
    pub(crate) async fn fresh_resources(&self, gateway: &Gateway, patience: Duration) {
        self.fresh(patience).await;
        let all = self.entries.iter().map(|entry| entry.refresh_resources(gateway));
        futures_util::future::join_all(all).await;
    }

    /// True once the first attempt of every server is over.
    pub(crate) fn are_settled(&self) -> bool {
        self.entries.iter().all(|entry| entry.is_settled())
    }

    /// The server of this name.
    pub(crate) fn named(&self, server: &UpstreamName) -> Option<&Arc<Entry>> {
        self.entries.iter().find(|entry| entry.name == *server)
    }

    /// All servers.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.entries.iter()
    }

    /// The one client that an instance of a server can mean; the primary where none is named.
    pub(crate) fn client_meant_by(
        &self,
        server: &UpstreamName,
        instance: Option<InstanceKey>,
    ) -> Option<AskedClient> {
        let owner = || self.named(server)?.instances.owner_of_primary();
        self.callers.meant_by(server, instance.or_else(owner).as_ref())
    }

    /// Ends the instances of servers whose clients are gone, given the runs that go on.
    pub(crate) async fn end_unused(&self, runs: &BTreeSet<RunId>) {
        self.callers.runs.keep(runs);
        let all = self.entries.iter().map(|entry| entry.end_unused(runs));
        futures_util::future::join_all(all).await;
    }

    /// The upstream that a capability belongs to by its name.
    pub(crate) fn of(&self, id: &str) -> Option<&Arc<Entry>> {
        let (upstream, _) = id.split_once('.')?;
        self.entries.iter().find(|entry| entry.name.as_str() == upstream)
    }

    /// The only one, where there is no other.
    pub(crate) fn only(&self) -> Option<&Arc<Entry>> {
        self.entries.first().filter(|_| self.entries.len() == 1)
    }

    /// The servers whose tools are not there, and why.
    pub(crate) fn missing(&self) -> Vec<UnavailableServer> {
        self.entries.iter().filter_map(|entry| entry.missing()).collect()
    }

    /// Ends every wait for a server: the client has nothing more to say.
    pub(crate) fn stop_waiting(&self) {
        self.closing.send_replace(true);
    }

    /// Ends all servers. Whoever takes too long is killed.
    pub(crate) async fn close(&self) {
        self.stop_waiting();
        let all = self.entries.iter().map(|entry| entry.close());
        let _ = tokio::time::timeout(FAREWELL, futures_util::future::join_all(all)).await;
    }
}
