//! The gateway: everything a request needs, shared by all requests.

use std::collections::BTreeMap;
use std::sync::{Arc, RwLock};

use contextweaver::route::TokenTable;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use weaver_agent_kernel::{Kernel, Registry};
use weaver_drivers::mcp::Redactor;
use weaver_policy::PolicySet;
use weaver_trace_store::index::IndexKeeper;
use weaver_types::{
    CapabilityId, Clock, Contribution, EventKind, Principal, RunContext, RunId, UpstreamName,
};

use super::confined::ConfinedChildren;
use super::error::ServeError;
use super::memory;
use super::open::Opened;
use super::own_tools;
use super::run_keeper::RunKeeper;
use super::shelf::{Shelf, ShelfSlot};
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
    /// How well the servers' processes are confined.
    pub(crate) confined: Arc<ConfinedChildren>,
    /// What was found in the store when it was opened.
    found: weaver_trace_store::Opened,
    principal: RwLock<Arc<Principal>>,
    pub(crate) upstreams: Upstreams,
    shelf: ShelfSlot,
    /// What helps to find tools, beside their words.
    table: Option<Arc<TokenTable>>,
    restocking: std::sync::Mutex<()>,
    runs: RunKeeper,
    changes: (mpsc::Sender<()>, std::sync::Mutex<Option<mpsc::Receiver<()>>>),
    /// Builds the index of the log until the gateway ends.
    _index: Option<IndexKeeper>,
}

impl Gateway {
    pub(crate) async fn new(config: Config, opened: Opened) -> Result<Self, ServeError> {
        let Opened {
            kernel,
            registry,
            principal,
            clock,
            random,
            unsigned_development,
            confined,
            found,
            index,
            ..
        } = opened;
        let runs = RunKeeper::new(&config, &principal, Arc::clone(&clock), random)?;
        runs.remove_stale(&kernel).await?;
        let firewall = kernel.firewall().clone();
        let redactor = Redactor::new(move |text| firewall.redact_text(text).text);
        let upstreams = Upstreams::new(&config, &redactor);
        let table = config.word_table.as_ref().map(WordTable::load).transpose()?;
        let (tell, told) = mpsc::channel(1);
        let gateway = Self {
            config,
            kernel,
            registry,
            clock,
            unsigned_development,
            confined,
            found,
            principal: RwLock::new(Arc::new(principal)),
            upstreams,
            shelf: ShelfSlot::default(),
            table,
            restocking: std::sync::Mutex::default(),
            runs,
            changes: (tell, std::sync::Mutex::new(Some(told))),
            _index: index,
        };
        own_tools::register(&gateway.config, &gateway.registry)?;
        memory::register(&gateway.config, &gateway.clock, &gateway.registry)?;
        gateway.restock_all();
        gateway.note_start().await?;
        Ok(gateway)
    }

    /// The run of this gateway's client, the same until it has been idle for long.
    pub(crate) async fn run(&self) -> Result<RunContext, ServeError> {
        self.runs.current(&self.kernel).await
    }

    /// Takes in what the user said in the current run, through a client that may report it.
    pub(crate) async fn heard(&self, texts: &[String]) -> Result<(), ServeError> {
        self.runs.heard(&self.kernel, texts).await
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
        match self.principal.read() {
            Ok(principal) => Arc::clone(&principal),
            Err(poisoned) => Arc::clone(&poisoned.into_inner()),
        }
    }

    /// Puts other documents into force, and with them what they grant the principal.
    pub(crate) async fn put_in_force(&self, set: PolicySet) -> Result<(), ServeError> {
        let principal = set
            .principal(&self.config.principal)
            .ok_or_else(|| ServeError::Principal { id: self.config.principal.clone() })?;
        self.kernel.replace_policy(Arc::new(set)).await;
        match self.principal.write() {
            Ok(mut slot) => *slot = Arc::new(principal),
            Err(poisoned) => *poisoned.into_inner() = Arc::new(principal),
        }
        self.restock_all();
        self.note_policy().await
    }

    /// What there is now.
    pub(crate) fn shelf(&self) -> Arc<Shelf> {
        self.shelf.get()
    }

    /// Takes stock again, after an upstream's tools have changed. Gives those of its tools that
    /// could get no name.
    pub(crate) fn restock(&self, upstream: &UpstreamName) -> Vec<String> {
        let prefix = format!("{upstream}.");
        let nameless = self.restock_all();
        let own = nameless.into_iter().filter(|(id, _)| id.as_str().starts_with(&prefix));
        own.map(|(_, problem)| problem).collect()
    }

    /// Takes stock again. Gives every tool that could get no name.
    fn restock_all(&self) -> Vec<(CapabilityId, String)> {
        // One after the other, or an older stock could replace a newer one.
        let _turn = self.restocking.lock();
        let table = self.table.as_ref();
        let policy = self.kernel.policy();
        let shelf = Shelf::build(&self.registry, &policy, &self.upstreams, &self.config, table);
        let nameless = shelf.nameless.clone();
        self.shelf.put(shelf);
        // One waiting notice is enough.
        let _ = self.changes.0.try_send(());
        nameless
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
