//! The gateway: everything a request needs, shared by all requests.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

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
    CapabilityId, Clock, Contribution, EventKind, Principal, RunId, Tenant, UpstreamName,
};

use super::confinement_signal::ConfinedChildren;
use super::entry::{ListingContext, ListingObserver};
use super::error::ServeError;
use super::event::fields;
use super::memory;
use super::open::GatewayParts;
use super::own_tools;
use super::run_keeper::RunFactory;
use super::runs::Runs;
use super::tool_snapshot::ToolSnapshot;
use super::upstreams::Upstreams;
use crate::config::{Config, WordTable};
use crate::publish::ReceiptClient;
use crate::telemetry::Telemetry;

/// The gateway.
pub(crate) struct Gateway {
    pub(crate) config: Arc<Config>,
    pub(crate) kernel: Kernel,
    pub(crate) registry: Arc<Registry>,
    pub(crate) clock: Arc<dyn Clock>,
    /// True when signatures are not looked at.
    pub(crate) unsigned_development: bool,
    /// The program that confines the servers' processes.
    pub(crate) launcher: Launcher,
    /// How well the servers' processes are confined.
    pub(crate) confined: Arc<ConfinedChildren>,
    /// The tenant of everything that is recorded.
    pub(crate) tenant: Tenant,
    /// What was found in the store when it was opened.
    found: weaver_trace_store::OpenReport,
    pub(crate) upstreams: Upstreams,
    tools: ArcSwap<ToolSnapshot>,
    /// What helps to find tools, beside their words.
    table: Option<Arc<TokenTable>>,
    rebuild_lock: std::sync::Mutex<()>,
    pub(crate) runs: Runs,
    pub(crate) telemetry: Arc<Telemetry>,
    /// Counts the changes of the list of tools.
    changes: watch::Sender<u64>,
    /// Makes receipts of calls, where the log is signed.
    pub(crate) receipts: Option<ReceiptClient>,
    /// Builds the index of the log until the gateway ends.
    _index: Option<IndexUpdater>,
}

impl Gateway {
    pub(crate) async fn new(config: Config, opened: GatewayParts) -> Result<Self, ServeError> {
        let GatewayParts {
            kernel,
            registry,
            principal,
            clock,
            random,
            unsigned_development,
            launcher,
            confined,
            found,
            index,
            telemetry,
            receipts,
            ..
        } = opened;
        let source = RunFactory {
            settings: config.run.clone(),
            idle: config.idle,
            clock: Arc::clone(&clock),
            random,
        };
        let tenant = principal.tenant.clone();
        let runs = Runs::new(source, principal);
        runs.remove_stale(&kernel).await?;
        let firewall = kernel.firewall().clone();
        let redactor = Redactor::new(move |text| firewall.redact_text(text).text);
        let config = Arc::new(config);
        let upstreams = Upstreams::new(&config, &redactor, &launcher, &kernel.policy());
        let table = config.word_table.as_ref().map(WordTable::load).transpose()?;
        let gateway = Self {
            config,
            kernel,
            registry,
            clock,
            unsigned_development,
            launcher,
            confined,
            found,
            tenant,
            upstreams,
            tools: ArcSwap::default(),
            table,
            rebuild_lock: std::sync::Mutex::default(),
            runs,
            telemetry,
            changes: watch::Sender::new(0),
            receipts,
            _index: index,
        };
        own_tools::register(&gateway.config, &gateway.launcher, &gateway.registry)?;
        memory::register(&gateway.config, &gateway.clock, &gateway.registry)?;
        gateway.rebuild_snapshot();
        gateway.note_start().await?;
        Ok(gateway)
    }

    /// The runs of the clients that are there.
    pub(crate) fn runs_of_clients(&self) -> Result<BTreeSet<RunId>, ServeError> {
        self.runs.of_present_clients(&self.kernel)
    }

    /// Ends the run of an operator's word, whichever client's it is.
    pub(crate) async fn end_run(&self, run: &RunId) -> Result<(), ServeError> {
        self.runs.end(&self.kernel, run).await
    }

    /// Puts other documents into force, and with them what they grant the principal.
    pub(crate) async fn put_in_force(&self, set: PolicySet) -> Result<(), ServeError> {
        self.kernel.replace_policy(Arc::new(set)).await;
        self.rebuild_snapshot();
        self.note_policy().await
    }

    /// Starts connecting all servers, and keeps them connected.
    pub(crate) fn start_upstreams(self: &Arc<Self>) {
        for entry in self.upstreams.entries() {
            let (gateway, entry) = (Arc::clone(self), Arc::clone(entry));
            tokio::spawn(async move { entry.keep(gateway.listing_context()).await });
        }
    }

    /// Lists the resources again of servers that do not tell of changes, and waits for first
    /// attempts until they have lasted for `patience`.
    pub(crate) async fn fresh_resources(&self, patience: Duration) {
        self.upstreams.fresh_resources(self, patience).await;
    }

    fn listing_context(&self) -> ListingContext<'_> {
        ListingContext { kernel: &self.kernel, confined: &self.confined, observer: self }
    }

    /// The tools as they are now. Readers never wait for a rebuild.
    pub(crate) fn tool_snapshot(&self) -> Arc<ToolSnapshot> {
        self.tools.load_full()
    }

    /// Rebuilds the snapshot. Returns every tool that could not be given an exported name.
    fn rebuild_snapshot(&self) -> Vec<(CapabilityId, String)> {
        // One rebuild at a time: an older snapshot must not replace a newer one.
        let _turn = self.rebuild_lock.lock();
        let table = self.table.as_ref();
        let policy = self.kernel.policy();
        let before = self.tools.load();
        let snapshot = before.next(&self.registry, &policy, &self.upstreams, &self.config, table);
        drop(before);
        let unnamed = snapshot.unnamed.clone();
        self.tools.store(Arc::new(snapshot));
        self.changes.send_modify(|changes| *changes = changes.wrapping_add(1));
        unnamed
    }

    /// The number of changes of the list of tools, as it grows.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// True when a principal may know of the capability.
    pub(crate) fn visible_to(&self, principal: &Principal, id: &CapabilityId) -> bool {
        let policy = self.kernel.policy();
        self.registry
            .get(id)
            .and_then(|entry| entry.effective(&policy).ok())
            .is_some_and(|capability| policy.visible(principal, &capability))
    }

    /// Why no call of the tool goes through: its server describes it otherwise than it was
    /// registered or approved. What it says now is shown to no model; this quotes nothing of it.
    pub(crate) fn changed(&self, id: &CapabilityId) -> Option<Contribution> {
        let contract = self.kernel.contract(id)?;
        if contract.denied() { contract.contribution.map(|said| *said) } else { None }
    }

    async fn note_start(&self) -> Result<(), ServeError> {
        let opened = fields([
            ("program", json!("weaver serve")),
            ("version", json!(env!("CARGO_PKG_VERSION"))),
            ("principal", json!(self.config.principal)),
            ("events", json!(self.found.events)),
            ("bytes_cut", json!(self.found.cut)),
        ]);
        self.kernel.note(EventKind::LedgerOpened, opened).await?;
        self.note_policy().await
    }

    async fn note_policy(&self) -> Result<(), ServeError> {
        let policy = self.kernel.policy();
        let documents: Vec<Value> = policy
            .versions()
            .iter()
            .map(|(kind, v)| json!({ "kind": kind.as_str(), "id": v.id, "version": v.version, "digest": v.digest }))
            .collect();
        let mut loaded = fields([
            ("origin", json!(policy.basis().origin)),
            ("documents", Value::Array(documents)),
        ]);
        if let Some(notice) = policy.observation_notice() {
            loaded.insert("enforcement".to_owned(), json!(notice));
        }
        self.kernel.note(EventKind::PolicyLoaded, loaded).await?;
        Ok(())
    }
}

impl ListingObserver for Gateway {
    /// Rebuilds the snapshot of the tools.
    fn tools_changed(&self, server: &UpstreamName) -> Vec<String> {
        let prefix = format!("{server}.");
        let unnamed = self.rebuild_snapshot();
        let own = unnamed.into_iter().filter(|(id, _)| id.as_str().starts_with(&prefix));
        own.map(|(_, problem)| problem).collect()
    }

    fn features_changed(&self) {
        self.upstreams.rebuild_features(self.kernel.firewall());
    }
}
