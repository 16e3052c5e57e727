//! One upstream server: connects it, keeps its tools registered, and tracks its availability.

mod dedicated_instance;
mod features;
mod instance_config;
mod instance_source;
mod instances;
mod listing;
mod listing_context;
mod polling;
mod relist_error;
mod restoring;
mod subscription_sync;
mod unavailable_server;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use weaver_agent_kernel::Registry;
use weaver_drivers::confine::{Confinement, Launcher};
use weaver_drivers::mcp::{LogLevel, Redactor, Upstream, UpstreamConfig};
use weaver_types::{CapabilityId, RunId, UpstreamName};

use self::instance_config::dedicated_config_factory;
use self::instances::{Instances, InstancesContext};
pub(crate) use self::listing_context::{ListingContext, ListingObserver};
use self::subscription_sync::PlacedSubscriptions;
pub(crate) use self::unavailable_server::{ServerProblem, UnavailableReason, UnavailableServer};
use super::client_call::ClientCall;
use super::connected_clients::ConnectedClients;
use super::instance_id::InstanceId;
use super::listed_definition::ListedDefinition;
use super::pending_relays::PendingRelays;
use super::runs::Runs;
use super::server_events::{InstanceRef, ServerEvents};
use super::server_feature::ServerFeatures;
use super::start_queue::StartQueue;
use super::stored_listing::StoredListing;
use super::upstream_config::{upstream_config, wants_login};
use crate::config::{self, Config, InstanceSharing, TransportSettings};

/// How long a call or a search waits for a server's first connection attempt: clients commonly give
/// a request up after 30 s.
pub(super) const CALL_START_WAIT: Duration = Duration::from_secs(25);
/// How long a list of resources or prompts waits for a server that had some when it was last listed.
pub(super) const FEATURE_START_WAIT: Duration = Duration::from_secs(20);
/// How long a list waits for it: some clients (Codex) give up a server whose first list takes 10 s.
/// Tools of a slower server arrive later as a change of the list.
pub(super) const LIST_START_WAIT: Duration = Duration::from_secs(6);

/// How often a server is looked at whose last calls are waited for.
const IDLE_CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// One upstream server and its instances.
pub(crate) struct ManagedServer {
    pub(crate) name: UpstreamName,
    config: config::UpstreamSettings,
    /// The configuration of the whole gateway.
    gateway_config: Arc<Config>,
    redactor: Redactor,
    /// The program that confines its process.
    launcher: Launcher,
    pub(super) instances: Arc<Instances>,
    state: Mutex<ServerState>,
    started: Instant,
    /// Held during a listing, so that there is one at a time.
    listing: tokio::sync::Mutex<()>,
    /// Wakes the polling task before its pause is over.
    wake: Arc<Notify>,
    /// The resources and prompts of the primary instance.
    features: RwLock<Arc<ServerFeatures>>,
    /// The same, as last listed while no client worked with the primary instance.
    pristine_features: RwLock<Arc<ServerFeatures>>,
    /// Receives its notifications and requests.
    events: ServerEvents,
    /// Its requests to clients in flight.
    relays: Arc<PendingRelays>,
    /// The connected clients, which know what they watch.
    connected_clients: ConnectedClients,
    /// What its instances are subscribed to.
    subscriptions: tokio::sync::Mutex<PlacedSubscriptions>,
    /// The lowest level of log messages that a client wants, as the server was told last.
    log_level: tokio::sync::Mutex<Option<LogLevel>>,
    /// Counts finished polls.
    polls: watch::Sender<u64>,
    /// Where it waits for its start.
    starts: StartQueue,
    /// True once somebody waits for it, who asked for one of its tools.
    is_needed: watch::Sender<bool>,
    /// True once the first attempt to connect has ended.
    first_attempt_done: watch::Sender<bool>,
    /// True once nobody waits for this server any more: the gateway ends, or the configuration has
    /// another in its place.
    closing: watch::Sender<bool>,
    /// Cancelled once the configuration has another in its place, and it has ended.
    ended: CancellationToken,
}

/// What all servers share.
pub(crate) struct ManagedServerContext<'a> {
    pub(crate) gateway_config: &'a Arc<Config>,
    pub(crate) redactor: &'a Redactor,
    pub(crate) launcher: &'a Launcher,
    pub(crate) events: &'a ServerEvents,
    pub(crate) relays: &'a Arc<PendingRelays>,
    pub(crate) connected_clients: &'a ConnectedClients,
    pub(crate) starts: &'a StartQueue,
}

#[derive(Default)]
struct ServerState {
    /// The tools of the last listing; before the first one, those that are restored.
    tools: BTreeMap<CapabilityId, Arc<ListedDefinition>>,
    /// The instructions of the server at its last listing.
    instructions: Option<String>,
    /// What the ledger has of earlier listings; `None` if that is nothing.
    stored: Option<StoredListing>,
    /// Why it is unavailable; `None` while it is connected.
    problem: Option<ServerProblem>,
    ready: bool,
}

impl ManagedServer {
    pub(crate) fn new(
        config: &config::UpstreamSettings,
        shared: &ManagedServerContext<'_>,
    ) -> Self {
        let ManagedServerContext {
            gateway_config,
            redactor,
            launcher,
            events,
            relays,
            connected_clients,
            starts,
        } = shared;
        let with_redactor =
            |connection| UpstreamConfig { redactor: Some((*redactor).clone()), ..connection };
        let wake = Arc::new(Notify::new());
        let primary = with_redactor(upstream_config(config, gateway_config, launcher));
        let id = InstanceId::next();
        let source = InstanceRef { server: config.name.clone(), id };
        let primary = (id, events.attach(source, Some(&wake), primary));
        let (server, sharing) = (&config.name, config.sharing);
        let logs_in_per_client =
            sharing == InstanceSharing::Client && wants_login(&config.transport);
        let login_owner = logs_in_per_client.then_some(&gateway_config.principal);
        let clients = &connected_clients.run_clients;
        let context = InstancesContext { server, sharing, login_owner, events, clients };
        let dedicated = dedicated_config_factory(config, shared);
        let instances = Instances::new(context, primary, dedicated);
        Self {
            name: config.name.clone(),
            config: config.clone(),
            gateway_config: Arc::clone(gateway_config),
            redactor: (*redactor).clone(),
            launcher: (*launcher).clone(),
            instances: Arc::new(instances),
            state: Mutex::default(),
            started: Instant::now(),
            listing: tokio::sync::Mutex::default(),
            wake,
            features: RwLock::default(),
            pristine_features: RwLock::default(),
            events: (*events).clone(),
            relays: Arc::clone(relays),
            connected_clients: (*connected_clients).clone(),
            subscriptions: tokio::sync::Mutex::default(),
            log_level: tokio::sync::Mutex::default(),
            polls: watch::Sender::new(0),
            starts: (*starts).clone(),
            is_needed: watch::Sender::new(false),
            first_attempt_done: watch::Sender::new(false),
            closing: watch::Sender::new(false),
            ended: CancellationToken::new(),
        }
    }

    /// The primary instance, whose tools are listed.
    fn upstream(&self) -> Arc<Upstream> {
        self.instances.primary().upstream
    }

    /// Why it is unavailable; `None` while it is available or still unknown.
    pub(crate) fn problem(&self) -> Option<ServerProblem> {
        self.state.lock().ok()?.problem.clone()
    }

    /// Why its tools are unavailable; `None` while they are available.
    pub(crate) fn unavailability(&self) -> Option<UnavailableServer> {
        let (status, problem) = match self.problem() {
            Some(problem) => (UnavailableReason::Failed, problem),
            None if self.is_first_attempt_done() || self.is_ready() => return None,
            None => {
                let seconds = self.started.elapsed().as_secs();
                let detail = format!("it has been starting for {seconds} s");
                let message = format!("server `{}` has been starting for {seconds} s", self.name);
                (UnavailableReason::Starting, ServerProblem { detail, message })
            }
        };
        Some(UnavailableServer { server: self.name.clone(), status, problem })
    }

    /// The tools of its last listing.
    pub(crate) fn tools(&self) -> BTreeMap<CapabilityId, Arc<ListedDefinition>> {
        self.state.lock().map(|state| state.tools.clone()).unwrap_or_default()
    }

    /// What the server says of its tools as a whole.
    pub(crate) fn instructions(&self) -> Option<String> {
        self.state.lock().ok()?.instructions.clone()
    }

    /// True once its tools were listed, although the list may be incomplete.
    fn is_ready(&self) -> bool {
        self.state.lock().is_ok_and(|state| state.ready)
    }

    /// True once the first attempt is over.
    pub(crate) fn is_first_attempt_done(&self) -> bool {
        *self.first_attempt_done.borrow()
    }

    /// Waits until the first attempt has ended, or has lasted for this long.
    pub(crate) async fn wait_for_first_attempt(&self, limit: Duration) {
        self.wait_at_most(limit.saturating_sub(self.started.elapsed())).await;
    }

    /// Waits until the first attempt has ended, or for this long.
    async fn wait_at_most(&self, limit: Duration) {
        let (mut first_attempt_done, mut closing) =
            (self.first_attempt_done.subscribe(), self.closing.subscribe());
        tokio::select! {
            _ = first_attempt_done.wait_for(|done| *done) => {}
            _ = closing.wait_for(|closing| *closing) => {}
            () = tokio::time::sleep(limit) => {}
        }
    }

    /// Waits for the first attempt on behalf of somebody who asked for one of its tools: it starts before
    /// servers that nobody waits for. The limit counts from the beginning of the call, however long the server
    /// has been starting by then; all waits of one call together stay within it.
    pub(crate) async fn start_now(&self, limit: Duration) {
        self.is_needed.send_replace(true);
        let (call, began) = (ClientCall::current(), Instant::now());
        let limit = call.as_ref().map_or(limit, |call| call.start_wait_left(limit));
        self.wait_at_most(limit).await;
        if let Some(call) = call {
            call.note_start_wait(began.elapsed());
        }
    }

    /// Ends all waits for it.
    pub(crate) fn stop_waiting(&self) {
        self.closing.send_replace(true);
    }

    pub(crate) async fn close(&self) {
        let primary = self.upstream();
        let dedicated = self.instances.take_dedicated();
        let instances = dedicated.iter().chain([&primary]).map(|upstream| upstream.close());
        futures_util::future::join_all(instances).await;
    }

    /// Whether a client that works in this folder sees it.
    pub(crate) fn is_offered_in(&self, folder: Option<&Path>) -> bool {
        self.config.is_offered_in(folder)
    }

    /// Whether the configuration says how long its calls may take.
    pub(crate) fn has_configured_timeout(&self) -> bool {
        self.config.timeout.is_some()
    }

    /// Whether it may go on with its processes under another configuration, with these settings.
    pub(crate) fn goes_on_as(&self, settings: &config::UpstreamSettings, other: &Config) -> bool {
        self.config == *settings
            && reach_of(settings, &self.gateway_config) == reach_of(settings, other)
    }

    /// Begins no further call and no further listing, because the configuration has it no longer,
    /// or otherwise.
    pub(crate) fn retire(&self, registry: &Registry) {
        self.stop_waiting();
        self.instances.retire();
        self.unregister(registry);
    }

    /// Ends it once no call is in flight, or these have taken too long.
    pub(crate) async fn end_after_last_calls(&self, registry: &Registry, limit: Duration) {
        let idle = async {
            while self.all_instances().iter().any(|upstream| upstream.in_flight() > 0) {
                tokio::time::sleep(IDLE_CHECK_INTERVAL).await;
            }
        };
        let _ = tokio::time::timeout(limit, idle).await;
        self.close().await;
        // A listing that was in progress may have registered its tools since.
        let _nobody_lists = self.listing.lock().await;
        self.unregister(registry);
        self.ended.cancel();
    }

    /// Completes once the configuration has another in its place, and it has ended.
    pub(crate) async fn has_ended(&self) {
        self.ended.cancelled().await;
    }

    fn unregister(&self, registry: &Registry) {
        if let Err(error) = registry.remove_namespace(self.name.as_str()) {
            tracing::error!(upstream = %self.name, %error, "its tools are still registered");
        }
    }

    fn all_instances(&self) -> Vec<Arc<Upstream>> {
        let mut instances = self.instances.dedicated();
        instances.push(self.upstream());
        instances
    }

    /// Closes the dedicated instances whose clients are gone, given the runs that continue.
    pub(crate) async fn close_unused_instances(&self, runs: &BTreeSet<RunId>) {
        let unused = self.instances.take_unused(runs);
        futures_util::future::join_all(unused.iter().map(|upstream| upstream.close())).await;
    }

    /// Called before a client's first call: restarts the primary instance if the client that worked
    /// with it is gone, so that no client inherits another's state.
    pub(crate) async fn restart_abandoned_primary(&self, runs: &Runs, run: &RunId) {
        if !self.instances.lacks_instance(run) {
            return;
        }
        let current = runs.current_run_ids().await;
        let replaced =
            self.instances.replace_abandoned_primary(&current, || self.primary_replacement());
        if let Some(replaced) = replaced {
            self.wake.notify_one();
            replaced.close().await;
        }
    }

    /// Hides replaced and created files from the running processes of the server, if mounts confine
    /// it. Where that fails, or a process may have opened such a file already, kills and restarts
    /// the server.
    pub(crate) async fn hide_replaced_files(self: &Arc<Self>) {
        // Others may be there now than when the server was started.
        let denied = self.gateway_config.state_paths();
        let instances = self.all_instances();
        let covered = instances.iter().map(|upstream| upstream.cover_replaced_files(&denied));
        let Err(reason) = futures_util::future::try_join_all(covered).await else { return };
        tracing::info!(
            upstream = %self.name,
            "the server is started again: a file of Weaver's own was replaced, and the new one could \
             not be hidden from the process that ran"
        );
        tracing::debug!(upstream = %self.name, %reason, "why it could not be hidden");
        let dedicated = self.instances.take_dedicated();
        let (id, config) = self.primary_replacement();
        let primary = self.instances.replace_primary(id, config);
        self.wake.notify_one();
        let instances = dedicated.iter().chain([&primary]).map(|upstream| upstream.kill());
        futures_util::future::join_all(instances).await;
        // It waits for the new process, from which further files may have to be hidden.
        let server = Arc::clone(self);
        tokio::spawn(async move { server.sync_subscriptions(&BTreeSet::new()).await });
    }

    /// The instance that takes the place of the primary.
    fn primary_replacement(&self) -> (InstanceId, UpstreamConfig) {
        let id = InstanceId::next();
        let config = upstream_config(&self.config, &self.gateway_config, &self.launcher);
        let config = UpstreamConfig { redactor: Some(self.redactor.clone()), ..config };
        let source = InstanceRef { server: self.name.clone(), id };
        (id, self.events.attach(source, Some(&self.wake), config))
    }
}

/// What the process of a server may reach under a configuration; `None` for one over HTTP. Paths
/// within other denied paths add nothing, and the folder in which a new server starts is no reason to
/// start the others again: they are denied it from their next start on.
fn reach_of(settings: &config::UpstreamSettings, gateway_config: &Config) -> Option<Confinement> {
    let TransportSettings::Stdio { confine, .. } = &settings.transport else { return None };
    let mut confinement =
        gateway_config.server_confinement(confine.as_ref(), settings.name.as_str());
    let folders: BTreeSet<PathBuf> =
        confinement.denied.iter().filter(|path| path.is_dir()).cloned().collect();
    let is_inside = |path: &PathBuf| path.ancestors().skip(1).any(|above| folders.contains(above));
    let others = gateway_config.start_folders_of_others(settings.name.as_str());
    confinement.denied.retain(|path| !is_inside(path) && !others.contains(path));
    Some(confinement)
}
