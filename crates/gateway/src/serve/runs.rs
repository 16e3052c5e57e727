//! The runs of all clients: the trackers that sessions share, and the end of runs whose client will
//! not return.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use weaver_agent_kernel::{Caller, Kernel, RunEndReason};
use weaver_types::ledger::{Batch, Durability, Namespace, RecordKey};
use weaver_types::{Principal, RunId};

use super::client_process::{ClientKey, ProcessTable};
use super::current_run::CurrentRun;
use super::error::ServeError;
use super::run_tracker::{RunFactory, RunTracker, record_end};

/// The runs of all clients of a gateway.
pub(crate) struct Runs {
    factory: RunFactory,
    /// The principal of the configuration, whose tenant owns all runs.
    config_principal: Principal,
    trackers: Mutex<BTreeMap<String, Arc<RunTracker>>>,
}

/// What to do with the record of a current run.
enum RecordAction {
    Keep,
    /// Delete it, and record the end of its run.
    EndRun(RunEndReason),
    /// Delete it; the log already has the end of its run.
    Delete,
}

impl Runs {
    pub(crate) fn new(factory: RunFactory, config_principal: Principal) -> Self {
        Self { factory, config_principal, trackers: Mutex::default() }
    }

    /// The tracker that all sessions of a client share.
    pub(crate) fn tracker_for(&self, principal: &Principal, client: ClientKey) -> Arc<RunTracker> {
        let mut trackers = self.trackers.lock().unwrap_or_else(PoisonError::into_inner);
        let key = format!("{} {}", client.id(), principal.id);
        let new_tracker =
            || Arc::new(RunTracker::new(self.factory.clone(), principal.clone(), client));
        Arc::clone(trackers.entry(key).or_insert_with(new_tracker))
    }

    /// At startup, ends stored runs whose clients will not return. No other gateway uses this
    /// ledger, because only one process writes it.
    pub(crate) async fn end_stale(&self, kernel: &Kernel) -> Result<(), ServeError> {
        let (processes, now) = (ProcessTable::default(), self.factory.clock.now());
        self.update_records(kernel, |stored| {
            let is_gone = match &stored.client {
                ClientKey::Process(process) => processes.has_exited(process),
                ClientKey::Gateway(_) => true,
                ClientKey::Token(_) => false,
            };
            match (is_gone, self.factory.is_stored_run_expired(stored.last_used, now)) {
                (true, _) => RecordAction::EndRun(RunEndReason::ClientGone),
                (false, true) => RecordAction::EndRun(RunEndReason::Idle),
                (false, false) => RecordAction::Keep,
            }
        })
        .await
    }

    /// Called when a session of a client ends. Its run ends too, if no other session shares it and
    /// the client cannot return; a process that still runs keeps it.
    pub(crate) async fn end_session(
        &self,
        kernel: &Kernel,
        tracker: Arc<RunTracker>,
    ) -> Result<(), ServeError> {
        let client = tracker.client().clone();
        drop(tracker);
        self.drop_unused(|tracker| *tracker.client() == client && may_end(tracker));
        if !cannot_return(&client) || self.has_tracker(&client) {
            return Ok(());
        }
        self.update_records(kernel, |stored| match stored.client == client {
            true => RecordAction::EndRun(RunEndReason::ClientGone),
            false => RecordAction::Keep,
        })
        .await
    }

    /// Ends a run on an operator's command, even of a client that is not connected.
    pub(crate) async fn end(&self, kernel: &Kernel, run: &RunId) -> Result<(), ServeError> {
        for tracker in self.trackers() {
            if tracker.end(kernel, run).await? {
                return Ok(());
            }
        }
        let action = |stored: &CurrentRun| match stored.run == *run {
            true => RecordAction::Delete,
            false => RecordAction::Keep,
        };
        self.update_records(kernel, action).await
    }

    /// Ends the runs of clients that have gone while the gateway serves.
    pub(crate) async fn end_gone_clients(&self, kernel: &Kernel) -> Result<(), ServeError> {
        let gone = self.trackers().into_iter().map(|tracker| tracker.client().clone());
        let gone: Vec<ClientKey> = gone.filter(cannot_return).collect();
        self.drop_unused(may_end);
        let gone: Vec<ClientKey> =
            gone.into_iter().filter(|client| !self.has_tracker(client)).collect();
        if gone.is_empty() {
            return Ok(());
        }
        self.update_records(kernel, |stored| match gone.contains(&stored.client) {
            true => RecordAction::EndRun(RunEndReason::ClientGone),
            false => RecordAction::Keep,
        })
        .await
    }

    /// The current runs of all tracked clients.
    pub(crate) async fn current_run_ids(&self) -> BTreeSet<RunId> {
        let mut runs = BTreeSet::new();
        for tracker in self.trackers() {
            runs.extend(tracker.run_id().await);
        }
        runs
    }

    /// The runs of clients that are present: those that are connected, whether or not they could
    /// return, and those that have not called since a restart.
    pub(crate) async fn of_present_clients(
        &self,
        kernel: &Kernel,
    ) -> Result<BTreeSet<RunId>, ServeError> {
        let mut runs = BTreeSet::new();
        for tracker in self.connected_trackers() {
            runs.extend(tracker.run_id().await);
        }
        let is_present = |stored: &CurrentRun| !cannot_return(&stored.client);
        let stored = self.stored_runs(kernel)?.into_iter().map(|(_, stored)| stored);
        runs.extend(stored.filter(is_present).map(|stored| stored.run));
        Ok(runs)
    }

    /// The trackers that a session uses.
    fn connected_trackers(&self) -> Vec<Arc<RunTracker>> {
        let trackers = self.trackers.lock().unwrap_or_else(PoisonError::into_inner);
        trackers.values().filter(|tracker| Arc::strong_count(tracker) > 1).cloned().collect()
    }

    fn trackers(&self) -> Vec<Arc<RunTracker>> {
        let trackers = self.trackers.lock().unwrap_or_else(PoisonError::into_inner);
        trackers.values().cloned().collect()
    }

    fn has_tracker(&self, client: &ClientKey) -> bool {
        let trackers = self.trackers.lock().unwrap_or_else(PoisonError::into_inner);
        trackers.values().any(|tracker| tracker.client() == client)
    }

    /// Drops the trackers that no session uses and for which `is_over` holds.
    fn drop_unused(&self, is_over: impl Fn(&RunTracker) -> bool) {
        let mut trackers = self.trackers.lock().unwrap_or_else(PoisonError::into_inner);
        trackers.retain(|_, tracker| Arc::strong_count(tracker) > 1 || !is_over(tracker));
    }

    /// Applies an action to each record. An unreadable record is left in place: it is refused when
    /// its client comes.
    async fn update_records(
        &self,
        kernel: &Kernel,
        action: impl Fn(&CurrentRun) -> RecordAction,
    ) -> Result<(), ServeError> {
        let (ledger, tenant) = (kernel.ledger(), &self.config_principal.tenant);
        for (id, mut stored) in self.stored_runs(kernel)? {
            if self.factory.is_stored_run_expired(stored.last_used, self.factory.clock.now()) {
                stored = stored.with_last_use_from_log(kernel)?;
            }
            let mut batch = Batch::new(Durability::Os);
            batch.delete.push(RecordKey::new(tenant.clone(), Namespace::CurrentRun, id));
            match action(&stored) {
                RecordAction::Keep => {}
                RecordAction::Delete => {
                    ledger.commit(batch).await?;
                }
                RecordAction::EndRun(end) => {
                    let run = stored.to_context(&self.factory.begin(&self.config_principal)?);
                    let id = stored.principal.clone();
                    let principal = Principal { id, ..self.config_principal.clone() };
                    let caller = Caller { run: &run, principal: &principal };
                    record_end(kernel, caller, end, batch).await?;
                }
            }
        }
        Ok(())
    }

    /// All readable records of current runs, with their ids.
    fn stored_runs(&self, kernel: &Kernel) -> Result<Vec<(String, CurrentRun)>, ServeError> {
        let mut all = Vec::new();
        let tenant = &self.config_principal.tenant;
        for found in kernel.ledger().all_records(tenant, Namespace::CurrentRun) {
            let (id, record) = found?;
            all.extend(CurrentRun::from_bytes(&record.value).ok().map(|stored| (id, stored)));
        }
        Ok(all)
    }
}

/// True for a client that cannot return.
fn cannot_return(client: &ClientKey) -> bool {
    match client {
        ClientKey::Process(process) => ProcessTable::default().has_exited(process),
        ClientKey::Gateway(_) => true,
        // The bearer of the token can return.
        ClientKey::Token(_) => false,
    }
}

/// True for the tracker of a client that is gone, or was idle for so long that its next call begins
/// a new run anyway.
fn may_end(tracker: &RunTracker) -> bool {
    cannot_return(tracker.client()) || tracker.is_idle()
}
