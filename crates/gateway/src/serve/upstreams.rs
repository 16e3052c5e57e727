//! All upstream servers: their tools together, and which of them are unavailable.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::sync::watch;
use weaver_drivers::confine::Launcher;
use weaver_drivers::mcp::Redactor;
use weaver_firewall::Firewall;
use weaver_policy::PolicySet;
use weaver_types::{CapabilityId, PrincipalId, RunId, UpstreamName};

use super::asked_client::AskedClient;
use super::callers::Callers;
use super::client_link::ClientLink;
use super::entry::{Entry, EntryContext, ListingObserver, UnavailableServer};
use super::feature_snapshot::{FeatureSnapshot, PromptNames};
use super::instance_key::InstanceKey;
use super::listed_definition::ListedDefinition;
use super::open_relays::OpenRelays;
use super::own_tools;
use super::server_events::{ListedInstance, ServerEvents};
use super::server_feature::ServerFeatures;
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
    prompt_names: PromptNames,
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
        let (callers, relays) = (Callers::default(), Arc::<OpenRelays>::default());
        let context = EntryContext {
            whole: config,
            redactor,
            launcher,
            closing: &closing.subscribe(),
            events: &events,
            relays: &relays,
            clients: &callers.runs,
        };
        let entry = |upstream| Arc::new(Entry::new(upstream, &context));
        let entries = config.upstreams.iter().map(entry).collect();
        let plain = config.unprefixed;
        let prompt_names = if plain { PromptNames::Plain } else { PromptNames::Prefixed };
        let (own, features) = (own_tools::definitions(config), ArcSwap::default());
        Self {
            events,
            callers,
            watches: WatchCounts::default(),
            relays,
            features,
            prompt_names,
            rebuilding: Mutex::default(),
            entries,
            own,
            closing,
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
    pub(crate) async fn restart_covered(&self) {
        let all = self.entries.iter().map(|entry| entry.restart());
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

    /// What each server offers beside tools to the client of a run. `None` where that is what all
    /// clients see.
    pub(crate) async fn features_of_run(
        &self,
        run: Option<&RunId>,
    ) -> Option<Vec<Arc<ServerFeatures>>> {
        let own = self.entries.iter().map(|entry| entry.features_of_client(run));
        let own = futures_util::future::join_all(own).await;
        if own.iter().all(Option::is_none) {
            return None;
        }
        let all = self.entries.iter().zip(own);
        Some(all.map(|(entry, own)| own.unwrap_or_else(|| entry.features())).collect())
    }

    /// Whether a server is logged in as somebody else than this principal, who needs a login of its own.
    pub(crate) fn needs_login_of(&self, principal: &PrincipalId) -> bool {
        self.entries.iter().any(|entry| !entry.instances.is_login_of(principal))
    }

    /// The snapshot of what the servers offer beside tools: one list for each server, in their order.
    pub(crate) fn feature_snapshot(
        &self,
        lists: &[Arc<ServerFeatures>],
        firewall: &Firewall,
    ) -> FeatureSnapshot {
        let names = self.entries.iter().map(|entry| entry.name.clone());
        let servers: Vec<_> = names.zip(lists.iter().cloned()).collect();
        FeatureSnapshot::build(&servers, self.prompt_names, firewall)
    }

    /// Whether what an instance of a server tells concerns a client.
    pub(crate) fn concerns(&self, of: &ListedInstance, client: &Arc<ClientLink>) -> bool {
        let run = self.callers.run_of(client);
        let serves =
            |entry: &Arc<Entry>| entry.instances.serves(of.instance.as_ref(), run.as_ref());
        self.named(&of.server).is_some_and(serves)
    }

    /// Puts the features of all together anew.
    pub(crate) fn rebuild_features(&self, firewall: &Firewall) {
        let _turn = self.rebuilding.lock();
        let all: Vec<_> = self.entries.iter().map(|entry| entry.features()).collect();
        self.features.store(Arc::new(self.feature_snapshot(&all, firewall)));
    }

    /// Lists the resources again of servers that do not tell of changes, and waits for first
    /// attempts as [`Self::fresh`] does.
    pub(crate) async fn fresh_resources(&self, observer: &dyn ListingObserver, patience: Duration) {
        self.fresh(patience).await;
        let all = self.entries.iter().map(|entry| entry.refresh_resources(observer));
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
