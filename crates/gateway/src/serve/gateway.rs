//! The gateway: everything a request needs, shared by all requests.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use weaver_agent_kernel::{Caller, Kernel, Registry};
use weaver_policy::ContractStatus;
use weaver_types::{CapabilityId, EventKind, Principal, RunContext, UpstreamName};

use super::error::ServeError;
use super::open::Opened;
use super::run_keeper::RunKeeper;
use super::shelf::{Shelf, ShelfSlot};
use super::upstreams::Upstreams;
use crate::config::Config;

/// The gateway.
pub(crate) struct Gateway {
    pub(crate) config: Config,
    pub(crate) kernel: Kernel,
    pub(crate) registry: Arc<Registry>,
    pub(crate) principal: Principal,
    pub(crate) upstreams: Upstreams,
    shelf: ShelfSlot,
    restocking: std::sync::Mutex<()>,
    runs: RunKeeper,
    changes: (mpsc::Sender<()>, std::sync::Mutex<Option<mpsc::Receiver<()>>>),
}

impl Gateway {
    pub(crate) async fn new(config: Config, opened: Opened) -> Result<Self, ServeError> {
        let Opened { kernel, registry, principal, clock, random } = opened;
        let runs = RunKeeper::new(&config, &principal, clock, random);
        let upstreams = Upstreams::new(&config);
        let (tell, told) = mpsc::channel(1);
        let gateway = Self {
            config,
            kernel,
            registry,
            principal,
            upstreams,
            shelf: ShelfSlot::default(),
            restocking: std::sync::Mutex::default(),
            runs,
            changes: (tell, std::sync::Mutex::new(Some(told))),
        };
        gateway.note_start().await?;
        Ok(gateway)
    }

    /// The run of this process's principal, the same until it has been idle for long.
    pub(crate) async fn run(&self) -> Result<RunContext, ServeError> {
        self.runs.current(&self.kernel).await
    }

    /// The caller in a run.
    pub(crate) fn caller<'a>(&'a self, run: &'a RunContext) -> Caller<'a> {
        Caller { run, principal: &self.principal }
    }

    /// What there is now.
    pub(crate) fn shelf(&self) -> Arc<Shelf> {
        self.shelf.get()
    }

    /// Takes stock again, after an upstream's tools have changed. Gives those of its tools that
    /// could get no name.
    pub(crate) fn restock(&self, upstream: &UpstreamName) -> Vec<String> {
        // One after the other, or an older stock could replace a newer one.
        let _turn = self.restocking.lock();
        let shelf =
            Shelf::build(&self.registry, &self.kernel.policy(), &self.upstreams, &self.config);
        let prefix = format!("{upstream}.");
        let nameless = shelf.nameless.iter().filter(|(id, _)| id.as_str().starts_with(&prefix));
        let nameless = nameless.map(|(_, problem)| problem.clone()).collect();
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
            .is_some_and(|capability| policy.visible(&self.principal, &capability))
    }

    /// True when the server describes the tool otherwise than it was approved. What it says now is
    /// shown to no model.
    pub(crate) fn changed(&self, id: &CapabilityId) -> bool {
        self.registry.get(id).is_some_and(|entry| {
            let status = self.kernel.policy().contract_status(entry.capability());
            matches!(status, ContractStatus::Changed { .. })
        })
    }

    /// True when the capability is shown to the principal.
    pub(crate) fn offered(&self, id: &CapabilityId) -> bool {
        self.visible(id) && !self.changed(id)
    }

    async fn note_start(&self) -> Result<(), ServeError> {
        let fields = |pairs: Vec<(&str, Value)>| -> Map<String, Value> {
            pairs.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()
        };
        let opened = fields(vec![
            ("program", json!("weaver serve")),
            ("version", json!(env!("CARGO_PKG_VERSION"))),
            ("principal", json!(self.principal.id)),
        ]);
        self.kernel.note(EventKind::LedgerOpened, opened).await?;
        let policy = self.kernel.policy();
        let documents: Vec<Value> = policy
            .versions()
            .iter()
            .map(|(kind, v)| json!({ "kind": kind.as_str(), "id": v.id, "version": v.version, "digest": v.digest }))
            .collect();
        let loaded = fields(vec![
            ("origin", json!(policy.basis().origin)),
            ("documents", Value::Array(documents)),
        ]);
        self.kernel.note(EventKind::PolicyLoaded, loaded).await?;
        Ok(())
    }
}
