//! The gateway: everything a request needs, shared by all requests.

use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use contextweaver::route::TokenTable;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use weaver_agent_kernel::{Kernel, Registry};
use weaver_drivers::confine::Launcher;
use weaver_drivers::mcp::Redactor;
use weaver_policy::PolicySet;
use weaver_trace_store::index::IndexKeeper;
use weaver_types::{
    CapabilityId, Clock, Contribution, EventKind, Principal, RunContext, RunId, UpstreamName,
};

use super::confined::ConfinedChildren;
use super::error::ServeError;
use super::memory;
use super::open::GatewayParts;
use super::own_tools;
use super::run_keeper::RunKeeper;
use super::tool_snapshot::ToolSnapshot;
use super::upstreams::Upstreams;
use crate::config::{Config, WordTable};

/// The gateway.
pub(crate) struct Gateway {
    pub(crate) config: Config,
    pub(crate) kernel: Kernel,
    pub(crate) registry: Arc<Registry>,
    pub(crate) clock: Arc<dyn Clock>,
    /// True when signatures are not looked at.
    pub(crate) unsigned_development: bool,
    /// The program that confines the servers' processes.
    pub(crate) launcher: Launcher,
    /// How well the servers' processes are confined.
    pub(crate) confined: Arc<ConfinedChildren>,
    /// What was found in the store when it was opened.
    found: weaver_trace_store::Opened,
    principal: ArcSwap<Principal>,
    pub(crate) upstreams: Upstreams,
    tools: ArcSwap<ToolSnapshot>,
    /// What helps to find tools, beside their words.
    table: Option<Arc<TokenTable>>,
    rebuild_lock: std::sync::Mutex<()>,
    runs: RunKeeper,
    changes: (mpsc::Sender<()>, std::sync::Mutex<Option<mpsc::Receiver<()>>>),
    /// Builds the index of the log until the gateway ends.
    _index: Option<IndexKeeper>,
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
            ..
        } = opened;
        let runs = RunKeeper::new(&config, &principal, Arc::clone(&clock), random)?;
        runs.remove_stale(&kernel).await?;
        let firewall = kernel.firewall().clone();
        let redactor = Redactor::new(move |text| firewall.redact_text(text).text);
        let upstreams = Upstreams::new(&config, &redactor, &launcher, &kernel.policy());
        let table = config.word_table.as_ref().map(WordTable::load).transpose()?;
        let (tell, told) = mpsc::channel(1);
        let gateway = Self {
            config,
            kernel,
            registry,
            clock,
            unsigned_development,
            launcher,
            confined,
            found,
            principal: ArcSwap::from_pointee(principal),
            upstreams,
            tools: ArcSwap::default(),
            table,
            rebuild_lock: std::sync::Mutex::default(),
            runs,
            changes: (tell, std::sync::Mutex::new(Some(told))),
            _index: index,
        };
        own_tools::register(&gateway.config, &gateway.launcher, &gateway.registry)?;
        memory::register(&gateway.config, &gateway.clock, &gateway.registry)?;
        gateway.rebuild_snapshot();
        gateway.note_start().await?;
        Ok(gateway)
    }

    /// The run of this gateway's client, the same until it has been idle for long.
    pub(crate) async fn run(&self) -> Result<RunContext, ServeError> {
        self.runs.current(&self.kernel).await
    }

    /// Records what the user said in the current run, as reported by a trusted host.
    pub(crate) async fn record_user_statements(&self, texts: &[String]) -> Result<(), ServeError> {
        self.runs.record_user_statements(&self.kernel, texts).await
    }

    /// The client's session is over.
    pub(crate) async fn leave(&self) -> Result<(), ServeError> {
        self.runs.leave(&self.kernel).await
    }

    /// Ends the run of an operator's word, this client's or another's.
    pub(crate) async fn end_run(&self, run: &RunId) -> Result<(), ServeError> {
        self.runs.end(&self.kernel, run).await
    }

    /// The principal, as the policy in force grants it.
    pub(crate) fn principal(&self) -> Arc<Principal> {
        self.principal.load_full()
    }

    /// Puts other documents into force, and with them what they grant the principal.
    pub(crate) async fn put_in_force(&self, set: PolicySet) -> Result<(), ServeError> {
        let principal = set
            .principal(&self.config.principal)
            .ok_or_else(|| ServeError::Principal { id: self.config.principal.clone() })?;
        self.kernel.replace_policy(Arc::new(set)).await;
        self.principal.store(Arc::new(principal));
        self.rebuild_snapshot();
        self.note_policy().await
    }

    /// The tools as they are now. Readers never wait for a rebuild.
    pub(crate) fn tool_snapshot(&self) -> Arc<ToolSnapshot> {
        self.tools.load_full()
    }

    /// Rebuilds the snapshot after an upstream's tools have changed. Returns one problem for each of
    /// its tools that could not be given an exported name.
    pub(crate) fn tools_changed(&self, upstream: &UpstreamName) -> Vec<String> {
        let prefix = format!("{upstream}.");
        let unnamed = self.rebuild_snapshot();
        let own = unnamed.into_iter().filter(|(id, _)| id.as_str().starts_with(&prefix));
        own.map(|(_, problem)| problem).collect()
    }

    /// Rebuilds the snapshot. Returns every tool that could not be given an exported name.
    fn rebuild_snapshot(&self) -> Vec<(CapabilityId, String)> {
        // One rebuild at a time: an older snapshot must not replace a newer one.
        let _turn = self.rebuild_lock.lock();
        let table = self.table.as_ref();
        let policy = self.kernel.policy();
        let snapshot =
            ToolSnapshot::build(&self.registry, &policy, &self.upstreams, &self.config, table);
        let unnamed = snapshot.unnamed.clone();
        self.tools.store(Arc::new(snapshot));
        // The channel holds one notice; a second says nothing new.
        let _ = self.changes.0.try_send(());
        unnamed
    }

    /// The notices that the list of tools has changed; the first caller gets them.
    pub(crate) fn changes(&self) -> Option<mpsc::Receiver<()>> {
        self.changes.1.lock().ok()?.take()
    }

    /// True when the principal may know of the capability.
    pub(crate) fn visible(&self, id: &CapabilityId) -> bool {
        let policy = self.kernel.policy();
        self.registry
            .get(id)
            .and_then(|entry| entry.effective(&policy).ok())
            .is_some_and(|capability| policy.visible(&self.principal(), &capability))
    }

    /// Why no call of the tool goes through: its server describes it otherwise than it was
    /// registered or approved. What it says now is shown to no model; this quotes nothing of it.
    pub(crate) fn changed(&self, id: &CapabilityId) -> Option<Contribution> {
        let contract = self.kernel.contract(id)?;
        if contract.denied() { contract.contribution.map(|said| *said) } else { None }
    }

    /// How many tools of each server wait for an operator's word, by server and what is the matter.
    /// The names are not told: they may be what speaks to a model.
    pub(crate) fn waiting_tools(&self) -> BTreeMap<(String, &'static str), usize> {
        let mut out = BTreeMap::new();
        for id in self.registry.list_ids().into_iter().filter(|id| self.visible(id)) {
            let Some(said) = self.changed(&id) else { continue };
            let server = id.as_str().split_once('.').map_or("", |(server, _)| server).to_owned();
            *out.entry((server, said.reason.as_str())).or_default() += 1;
        }
        out
    }

    /// True when the capability is shown to the principal.
    pub(crate) fn offered(&self, id: &CapabilityId) -> bool {
        self.visible(id) && self.changed(id).is_none()
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
        let loaded = fields([
            ("origin", json!(policy.basis().origin)),
            ("documents", Value::Array(documents)),
        ]);
        self.kernel.note(EventKind::PolicyLoaded, loaded).await?;
        Ok(())
    }
}

/// The fields of an event.
pub(crate) fn fields<const N: usize>(pairs: [(&str, Value); N]) -> Map<String, Value> {
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}
