//! The runs of all clients: which keeper a client's sessions share, and which runs are over because
//! their client will not come back.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use weaver_agent_kernel::{Caller, Kernel, RunEnd};
use weaver_types::ledger::{Batch, Durability, MAX_PAGE, Namespace, Record, RecordKey};
use weaver_types::{Principal, RunId};

use super::client_process::{ClientKey, ProcessTable};
use super::current_run::CurrentRun;
use super::error::ServeError;
use super::run_keeper::{RunFactory, RunKeeper, record_end};

/// How many pages of records one look goes through.
const MAX_PAGES: usize = 16;

/// The runs of all clients of a gateway.
pub(crate) struct Runs {
    source: RunFactory,
    /// The principal of the configuration, in whose tenant all runs are.
    owner: Principal,
    keepers: Mutex<BTreeMap<String, Arc<RunKeeper>>>,
}

/// What happens to the record of a current run.
enum Fate {
    Stays,
    /// Remove it, and end its run.
    Ended(RunEnd),
    /// Remove it; the log already has the end of its run.
    Removed,
}

impl Runs {
    pub(crate) fn new(source: RunFactory, owner: Principal) -> Self {
        Self { source, owner, keepers: Mutex::default() }
    }

    /// The keeper that all sessions of a client share.
    pub(crate) fn of(&self, principal: &Principal, client: ClientKey) -> Arc<RunKeeper> {
        let mut keepers = self.keepers.lock().unwrap_or_else(PoisonError::into_inner);
        let name = format!("{} {}", client.id(), principal.id);
        let fresh = || Arc::new(RunKeeper::new(self.source.clone(), principal.clone(), client));
        Arc::clone(keepers.entry(name).or_insert_with(fresh))
    }

    /// Ends the runs of clients that will not come back, of what was stored by earlier gateways: no
    /// other one works on this ledger, since one process writes it.
    pub(crate) async fn remove_stale(&self, kernel: &Kernel) -> Result<(), ServeError> {
        let (processes, now) = (ProcessTable::default(), self.source.clock.now());
        self.remove(kernel, |stored| {
            let gone = stored.client.as_ref().is_some_and(|client| match client {
                ClientKey::Process(process) => processes.is_gone(process),
                ClientKey::Gateway(_) => true,
                ClientKey::Token(_) => false,
            });
            match (gone, self.source.is_stored_run_over(stored.last_used, now)) {
                (true, _) => Fate::Ended(RunEnd::ClientGone),
                (false, true) => Fate::Ended(RunEnd::Idle),
                (false, false) => Fate::Stays,
            }
        })
        .await
    }

    /// A session of a client is over. So is its run, where no session shares it and nobody can come
    /// back to it; a process that still runs keeps it.
    pub(crate) async fn leave(
        &self,
        kernel: &Kernel,
        keeper: Arc<RunKeeper>,
    ) -> Result<(), ServeError> {
        let client = keeper.client().clone();
        drop(keeper);
        self.forget(|keeper| *keeper.client() == client && may_end(keeper));
        if !is_gone(&client) || self.is_kept(&client) {
            return Ok(());
        }
        self.remove(kernel, |stored| match stored.client.as_ref() == Some(&client) {
            true => Fate::Ended(RunEnd::ClientGone),
            false => Fate::Stays,
        })
        .await
    }

    /// Ends a run, as an operator wants it, also that of a client that is not connected now.
    pub(crate) async fn end(&self, kernel: &Kernel, run: &RunId) -> Result<(), ServeError> {
        for keeper in self.all() {
            if keeper.end(kernel, run).await? {
                return Ok(());
            }
        }
        let fate = |stored: &CurrentRun| match stored.run == *run {
            true => Fate::Removed,
            false => Fate::Stays,
        };
        self.remove(kernel, fate).await
    }

    /// Ends the runs of clients that are gone while the gateway serves.
    pub(crate) async fn end_gone(&self, kernel: &Kernel) -> Result<(), ServeError> {
        let over = self.all().into_iter().map(|keeper| keeper.client().clone());
        let over: Vec<ClientKey> = over.filter(is_gone).collect();
        self.forget(may_end);
        let over: Vec<ClientKey> =
            over.into_iter().filter(|client| !self.is_kept(client)).collect();
        if over.is_empty() {
            return Ok(());
        }
        self.remove(kernel, |stored| match &stored.client {
            Some(client) if over.contains(client) => Fate::Ended(RunEnd::ClientGone),
            _ => Fate::Stays,
        })
        .await
    }

    /// The runs that clients work in now.
    pub(crate) async fn current(&self) -> BTreeSet<RunId> {
        let mut runs = BTreeSet::new();
        for keeper in self.all() {
            runs.extend(keeper.run_id().await);
        }
        runs
    }

    /// The runs of clients that are there, also of those that have not called since a restart.
    pub(crate) fn of_present_clients(
        &self,
        kernel: &Kernel,
    ) -> Result<BTreeSet<RunId>, ServeError> {
        let there = |stored: &CurrentRun| stored.client.as_ref().is_some_and(|one| !is_gone(one));
        let stored = self.stored(kernel)?.into_iter().map(|(_, stored)| stored);
        Ok(stored.filter(there).map(|stored| stored.run).collect())
    }

    fn all(&self) -> Vec<Arc<RunKeeper>> {
        let keepers = self.keepers.lock().unwrap_or_else(PoisonError::into_inner);
        keepers.values().cloned().collect()
    }

    fn is_kept(&self, client: &ClientKey) -> bool {
        let keepers = self.keepers.lock().unwrap_or_else(PoisonError::into_inner);
        keepers.values().any(|keeper| keeper.client() == client)
    }

    /// Drops the keepers that no session has and that `over` says are over.
    fn forget(&self, over: impl Fn(&RunKeeper) -> bool) {
        let mut keepers = self.keepers.lock().unwrap_or_else(PoisonError::into_inner);
        keepers.retain(|_, keeper| Arc::strong_count(keeper) > 1 || !over(keeper));
    }

    /// Removes records as `fate` says of each. What cannot be read is left where it is: it
    /// is refused when its client comes.
    async fn remove(
        &self,
        kernel: &Kernel,
        fate: impl Fn(&CurrentRun) -> Fate,
    ) -> Result<(), ServeError> {
        let (ledger, tenant) = (kernel.ledger(), &self.owner.tenant);
        for (id, mut stored) in self.stored(kernel)? {
            if self.source.is_stored_run_over(stored.last_used, self.source.clock.now()) {
                stored = stored.dated_by_log(kernel)?;
            }
            let mut batch = Batch::new(Durability::Os);
            batch.delete.push(RecordKey::new(tenant.clone(), Namespace::CurrentRun, id));
            match fate(&stored) {
                Fate::Stays => {}
                Fate::Removed => {
                    ledger.commit(batch).await?;
                }
                Fate::Ended(end) => {
                    let run = stored.context(&self.source.begin(&self.owner)?);
                    let id = stored.principal.clone();
                    let principal = Principal { id, ..self.owner.clone() };
                    let caller = Caller { run: &run, principal: &principal };
                    record_end(kernel, caller, end, batch).await?;
                }
            }
        }
        Ok(())
    }

    /// The records of current runs that can be read, by their ids.
    fn stored(&self, kernel: &Kernel) -> Result<Vec<(String, CurrentRun)>, ServeError> {
        let mut all = Vec::new();
        let mut after: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let tenant = &self.owner.tenant;
            let page =
                kernel.ledger().list(tenant, Namespace::CurrentRun, after.as_deref(), MAX_PAGE)?;
            let Some((last, _)) = page.last() else { break };
            after = Some(last.clone());
            let read = |(id, record): (String, Record)| {
                CurrentRun::read(&id, &record.value).ok().map(|stored| (id, stored))
            };
            all.extend(page.into_iter().filter_map(read));
        }
        Ok(all)
    }
}

/// True for a client that nobody can come back as.
fn is_gone(client: &ClientKey) -> bool {
    match client {
        ClientKey::Process(process) => ProcessTable::default().is_gone(process),
        ClientKey::Gateway(_) => true,
        // Whoever has the token can come back.
        ClientKey::Token(_) => false,
    }
}

/// True for the keeper of a client that is gone, or was idle for so long that its run ends with the
/// next call anyhow.
fn may_end(keeper: &RunKeeper) -> bool {
    is_gone(keeper.client()) || keeper.is_idle()
}
