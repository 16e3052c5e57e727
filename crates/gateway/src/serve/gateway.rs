//! The gateway: the state shared by all requests.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};

use arc_swap::ArcSwap;
use contextweaver::route::TokenTable;
use serde_json::{Value, json};
use tokio::sync::watch;
use weaver_agent_kernel::{Kernel, Registry};
use weaver_drivers::confine::Launcher;
use weaver_drivers::mcp::Redactor;
use weaver_policy::PolicySet;
use weaver_trace_store::index::IndexUpdater;
use weaver_types::{
    CapabilityId, CheckResult, Clock, EventKind, Principal, RunId, Tenant, UpstreamName,
};

use super::confinement_signal::ConfinementSignalSource;
use super::error::ServeError;
use super::event::fields;
use super::gateway_parts::GatewayParts;
use super::managed_server::{ListingContext, ListingObserver, ManagedServer};
use super::memory;
use super::own_tools;
use super::resource_reader;
use super::run_tracker::RunFactory;
use super::runs::Runs;
use super::server_changes::ServerChangeQueue;
use super::tool_snapshot::ToolSnapshot;
use super::upstreams::Upstreams;
use crate::config::{Config, WordVectorSource};
use crate::publish::{PublishFailures, ReceiptClient};
use crate::telemetry::Telemetry;

/// The state shared by all requests.
pub(crate) struct Gateway {
    /// The configuration when it was opened. Its servers, and nothing else, may be others by now:
    /// [`Upstreams::config`].
    pub(crate) config: Arc<Config>,
    pub(crate) kernel: Kernel,
    pub(crate) registry: Arc<Registry>,
    pub(crate) clock: Arc<dyn Clock>,
    /// True when signatures are not checked.
    pub(crate) unsigned_development: bool,
    /// The program that confines the servers' processes.
    pub(crate) launcher: Launcher,
    /// Reports how well the servers' processes are confined.
    pub(crate) confinement_signals: Arc<ConfinementSignalSource>,
    /// The tenant of everything that is recorded.
    pub(crate) tenant: Tenant,
    /// What opening the store found.
    open_report: weaver_trace_store::OpenReport,
    pub(crate) upstreams: Upstreams,
    pub(crate) server_changes: ServerChangeQueue,
    tools: ArcSwap<ToolSnapshot>,
    /// Word vectors that improve the search for tools.
    token_table: Option<Arc<TokenTable>>,
    rebuild_lock: std::sync::Mutex<()>,
    pub(crate) runs: Runs,
    pub(crate) telemetry: Arc<Telemetry>,
    /// Counts the changes of the tool list.
    tool_list_changes: watch::Sender<u64>,
    /// Why the documents on disk are not those in force.
    refused_documents: std::sync::Mutex<Option<String>>,
    /// Why the configuration on disk is not the one in force.
    refused_configuration: std::sync::Mutex<Option<String>>,
    /// Counts failures to sign or publish checkpoints, where the log is signed.
    pub(crate) publish_failures: Option<Arc<PublishFailures>>,
    /// Issues receipts of calls, where the log is signed.
    pub(crate) receipts: Option<ReceiptClient>,
    /// Updates the index of the log as long as it lives.
    _index_updater: Option<IndexUpdater>,
}

impl Gateway {
    pub(crate) async fn new(config: Config, parts: GatewayParts) -> Result<Self, ServeError> {
        let GatewayParts {
            kernel,
            registry,
            principal,
            clock,
            random,
            unsigned_development,
            launcher,
            confinement_signals,
            open_report,
            index_updater,
            telemetry,
            publish_failures,
            receipts,
            ..
        } = parts;
        let run_factory = RunFactory {
            settings: config.run.clone(),
            idle_limit: config.idle_timeout,
            clock: Arc::clone(&clock),
            random,
            opened_at: kernel.ledger().head()?.size,
        };
        let tenant = principal.tenant.clone();
        let runs = Runs::new(run_factory, principal);
        runs.end_stale(&kernel).await?;
        let firewall = kernel.firewall().clone();
        let redactor = Redactor::new(move |text| firewall.redact_text(text).text);
        let config = Arc::new(config);
        let upstreams = Upstreams::new(&config, &redactor, &launcher, &kernel.policy());
        let token_table = config.word_table.as_ref().map(WordVectorSource::load).transpose()?;
        let gateway = Self {
            config,
            kernel,
            registry,
            clock,
            unsigned_development,
            launcher,
            confinement_signals,
            open_report,
            tenant,
            upstreams,
            server_changes: ServerChangeQueue::default(),
            tools: ArcSwap::default(),
            token_table,
            rebuild_lock: std::sync::Mutex::default(),
            runs,
            telemetry,
            tool_list_changes: watch::Sender::new(0),
            refused_documents: std::sync::Mutex::default(),
            refused_configuration: std::sync::Mutex::default(),
            publish_failures,
            receipts,
            _index_updater: index_updater,
        };
        own_tools::register(&gateway.config, &gateway.launcher, &gateway.registry)?;
        memory::register(&gateway.config, &gateway.clock, &gateway.registry)?;
        for server in gateway.upstreams.servers() {
            server.restore(&gateway.kernel, &gateway.tenant);
        }
        gateway.rebuild_snapshot();
        gateway.record_start().await?;
        Ok(gateway)
    }

    /// Why the documents on disk are not those in force, if they are not.
    pub(crate) fn refused_documents(&self) -> Option<String> {
        self.refused_documents.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes whether the documents on disk were refused, and why.
    pub(crate) fn note_refused_documents(&self, problem: Option<String>) {
        *self.refused_documents.lock().unwrap_or_else(PoisonError::into_inner) = problem;
    }

    /// Why the configuration on disk is not the one in force, if it is not.
    pub(crate) fn refused_configuration(&self) -> Option<String> {
        self.refused_configuration.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes whether the configuration on disk can be used, and why not.
    pub(crate) fn note_refused_configuration(&self, problem: Option<String>) {
        *self.refused_configuration.lock().unwrap_or_else(PoisonError::into_inner) = problem;
    }

    /// The runs of the clients that are present.
    pub(crate) async fn runs_of_present_clients(&self) -> Result<BTreeSet<RunId>, ServeError> {
        self.runs.of_present_clients(&self.kernel).await
    }

    /// Ends a run on an operator's command, whichever client owns it.
    pub(crate) async fn end_run(&self, run: &RunId) -> Result<(), ServeError> {
        self.runs.end(&self.kernel, run).await
    }

    /// Puts new documents into force. Principals are resolved against them from then on, and
    /// subscriptions are decided again.
    pub(crate) async fn replace_policy(&self, set: PolicySet) -> Result<(), ServeError> {
        self.kernel.replace_policy(Arc::new(set)).await;
        self.rebuild_snapshot();
        self.announce_tool_list_change();
        for server in self.upstreams.servers() {
            server.store_listing(&self.kernel, &self.tenant).await;
        }
        resource_reader::decide_again(&self.kernel, &self.upstreams).await;
        self.record_policy().await
    }

    /// Starts a task for each server that keeps it connected.
    pub(crate) fn start_upstreams(self: &Arc<Self>) {
        self.upstreams.servers().iter().for_each(|server| self.start_server(server));
    }

    /// Starts a task that keeps a server connected.
    pub(crate) fn start_server(self: &Arc<Self>, server: &Arc<ManagedServer>) {
        let (gateway, server) = (Arc::clone(self), Arc::clone(server));
        tokio::spawn(async move { server.run(gateway.listing_context()).await });
    }

    /// Lists what is known of the tools of a server that is about to start in a running gateway.
    pub(crate) fn restore_tools(&self, server: &ManagedServer) {
        server.restore(&self.kernel, &self.tenant);
        if server.has_restored_tools() {
            self.rebuild_snapshot();
            self.announce_tool_list_change();
        }
    }

    /// Rebuilds what spans all servers, after some have gone.
    pub(crate) fn servers_changed(&self) {
        self.rebuild_snapshot();
        self.features_changed();
    }

    /// Refreshes the resources of servers that do not report changes, and waits for first
    /// connection attempts.
    pub(crate) async fn refresh_resources(&self) {
        self.upstreams.refresh_resources(self).await;
    }

    fn listing_context(&self) -> ListingContext<'_> {
        ListingContext {
            kernel: &self.kernel,
            confinement_signals: &self.confinement_signals,
            observer: self,
        }
    }

    /// The current tools. Readers never wait for a rebuild.
    pub(crate) fn tool_snapshot(&self) -> Arc<ToolSnapshot> {
        self.tools.load_full()
    }

    /// Notifies clients that the tool list changed.
    fn announce_tool_list_change(&self) {
        self.tool_list_changes.send_modify(|changes| *changes = changes.wrapping_add(1));
    }

    /// Rebuilds the snapshot. Returns each tool that got no exported name, and why.
    fn rebuild_snapshot(&self) -> Vec<(CapabilityId, String)> {
        // One rebuild at a time: an older snapshot must not replace a newer one.
        let _turn = self.rebuild_lock.lock();
        let token_table = self.token_table.as_ref();
        let policy = self.kernel.policy();
        let before = self.tools.load();
        let snapshot =
            before.rebuilt(&self.registry, &policy, &self.upstreams, &self.config, token_table);
        drop(before);
        let unnamed = snapshot.unnamed.clone();
        self.tools.store(Arc::new(snapshot));
        unnamed
    }

    /// Watches the counter of changes of the tool list.
    pub(crate) fn tool_list_changes(&self) -> watch::Receiver<u64> {
        self.tool_list_changes.subscribe()
    }

    /// True when a principal may know that the capability exists.
    pub(crate) fn is_visible_to(&self, principal: &Principal, id: &CapabilityId) -> bool {
        let policy = self.kernel.policy();
        self.registry
            .get(id)
            .and_then(|entry| entry.effective(&policy).ok())
            .is_some_and(|capability| policy.is_visible(principal, &capability))
    }

    /// Why every call of the tool is denied: its current description differs from the registered or
    /// approved one. The text quotes nothing of the new description, because no model may see that.
    pub(crate) fn contract_denial(&self, id: &CapabilityId) -> Option<CheckResult> {
        let contract = self.kernel.compare_contract(id)?;
        if contract.is_denied() { contract.check_result.map(|denial| *denial) } else { None }
    }

    async fn record_start(&self) -> Result<(), ServeError> {
        let event_fields = fields([
            ("program", json!("weaver serve")),
            ("version", json!(env!("CARGO_PKG_VERSION"))),
            ("principal", json!(self.config.principal)),
            ("events", json!(self.open_report.events)),
            ("bytes_cut", json!(self.open_report.torn_bytes)),
        ]);
        self.kernel.record_host_event(EventKind::LedgerOpened, event_fields).await?;
        self.record_policy().await
    }

    async fn record_policy(&self) -> Result<(), ServeError> {
        let policy = self.kernel.policy();
        let documents: Vec<Value> = policy
            .versions()
            .iter()
            .map(|(kind, v)| json!({ "kind": kind.as_str(), "id": v.id, "version": v.version, "digest": v.digest }))
            .collect();
        let mut event_fields = fields([
            ("origin", json!(policy.basis().origin)),
            ("documents", Value::Array(documents)),
        ]);
        if let Some(notice) = policy.observation_notice() {
            event_fields.insert("enforcement".to_owned(), json!(notice));
        }
        self.kernel.record_host_event(EventKind::PolicyLoaded, event_fields).await?;
        Ok(())
    }
}

impl ListingObserver for Gateway {
    /// Rebuilds the snapshot of the tools.
    fn tools_changed(&self, server: &UpstreamName) -> Vec<String> {
        let prefix = format!("{server}.");
        let before = self.tool_snapshot();
        let unnamed = self.rebuild_snapshot();
        // A server that lists what was restored changes nothing.
        if !self.tool_snapshot().has_same_tools(&before) {
            self.announce_tool_list_change();
        }
        let problems = unnamed.into_iter().filter(|(id, _)| id.as_str().starts_with(&prefix));
        problems.map(|(_, problem)| problem).collect()
    }

    fn tenant(&self) -> &Tenant {
        &self.tenant
    }

    fn features_changed(&self) {
        self.upstreams.rebuild_features(self.kernel.firewall());
    }
}
