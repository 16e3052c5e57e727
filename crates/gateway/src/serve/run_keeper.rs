//! Which run a client works in: one for each client process of a principal, ended by idle time or
//! by an operator, never by reconnecting.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use weaver_agent_kernel::Kernel;
use weaver_types::ledger::{Batch, Durability, MAX_PAGE, Namespace, Put, Record, RecordKey};
use weaver_types::{
    Clock, Principal, PrincipalId, Random, RunContext, RunId, RunSettings, Tenant, Timestamp,
};

use super::client_process::{ClientKey, ProcessTable};
use super::current_run::CurrentRun;
use super::error::ServeError;
use crate::config::Config;

/// How many pages of records one look goes through.
const MAX_PAGES: usize = 16;

/// Keeps the run of this gateway's client.
pub(crate) struct RunKeeper {
    tenant: Tenant,
    principal: PrincipalId,
    client: ClientKey,
    agent: Option<weaver_types::AgentId>,
    settings: RunSettings,
    idle: Duration,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    current: Mutex<Option<Kept>>,
}

struct Kept {
    run: RunContext,
    last_used: Timestamp,
    last_written: Timestamp,
    /// It was taken over from a record of version 1, which goes when the run is written.
    inherited: bool,
}

impl RunKeeper {
    /// The keeper of whoever started this process.
    pub(crate) fn new(
        config: &Config,
        principal: &Principal,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
    ) -> Result<Self, ServeError> {
        let client = ClientKey::of_this_process(random.as_ref())
            .map_err(|error| ServeError::Run(error.into()))?;
        Ok(Self {
            tenant: principal.tenant.clone(),
            principal: principal.id.clone(),
            client,
            agent: principal.agent.clone(),
            settings: config.run.clone(),
            idle: config.idle,
            clock,
            random,
            current: Mutex::new(None),
        })
    }

    /// Removes the records of clients that will not come back. No other gateway works on this
    /// ledger: one process writes it.
    pub(crate) async fn remove_stale(&self, kernel: &Kernel) -> Result<(), ServeError> {
        let (processes, now) = (ProcessTable::default(), self.clock.now());
        self.remove(kernel, |stored| {
            let gone = match &stored.client {
                Some(ClientKey::Process(process)) => processes.is_gone(process),
                Some(ClientKey::Gateway(_)) => stored.client.as_ref() != Some(&self.client),
                None => false,
            };
            gone || self.is_over(stored.last_used, now)
        })
        .await
    }

    /// The run to work in now.
    pub(crate) async fn current(&self, kernel: &Kernel) -> Result<RunContext, ServeError> {
        let mut current = self.current.lock().await;
        let now = self.clock.now();
        let kept = match current.take() {
            Some(kept) if now.since(kept.last_used) <= self.idle => kept,
            Some(_) => self.begin(now)?,
            None => self.resume(kernel, now)?,
        };
        let mut kept = Kept { last_used: now, ..kept };
        // Written now and then, so that a call costs no batch of its own.
        let stale = now.since(kept.last_written) >= self.idle / 16;
        if stale || kept.last_written == Timestamp::default() {
            self.write(kernel, &kept).await?;
            (kept.last_written, kept.inherited) = (now, false);
        }
        let run = kept.run.clone();
        *current = Some(kept);
        Ok(run)
    }

    /// Takes in what the user said. What the run knows already, and what it has no room for, is
    /// passed over.
    pub(crate) async fn heard(&self, kernel: &Kernel, texts: &[String]) -> Result<(), ServeError> {
        self.current(kernel).await?;
        let mut current = self.current.lock().await;
        let Some(kept) = current.as_mut() else { return Ok(()) };
        for text in texts {
            if !kept.run.said().contains(text) && !kept.run.user_said(text) {
                tracing::warn!("the run has no room for what the user said");
            }
        }
        Ok(())
    }

    /// Ends a run, as an operator wants it: whoever works in it begins another with the next call.
    pub(crate) async fn end(&self, kernel: &Kernel, run: &RunId) -> Result<(), ServeError> {
        let mut current = self.current.lock().await;
        let now = self.clock.now();
        let kept = match current.take() {
            Some(kept) => kept,
            None => self.resume(kernel, now)?,
        };
        if kept.run.run_id != *run {
            *current = Some(kept);
            // It may be that of a client whose gateway does not run now.
            return self.remove(kernel, |stored| stored.run == *run).await;
        }
        let fresh = Kept { last_written: now, inherited: kept.inherited, ..self.begin(now)? };
        self.write(kernel, &fresh).await?;
        *current = Some(Kept { inherited: false, ..fresh });
        Ok(())
    }

    fn begin(&self, now: Timestamp) -> Result<Kept, ServeError> {
        let mut run =
            RunContext::create(self.settings.clone(), self.clock.as_ref(), self.random.as_ref())?;
        if let Some(agent) = &self.agent {
            run = run.for_agent(agent.clone());
        }
        Ok(Kept { run, last_used: now, last_written: Timestamp::default(), inherited: false })
    }

    fn resume(&self, kernel: &Kernel, now: Timestamp) -> Result<Kept, ServeError> {
        let mut kept = self.begin(now)?;
        let ledger = kernel.ledger();
        let key = CurrentRun::key(&self.tenant, &self.principal, &self.client);
        let key_v1 = CurrentRun::key_v1(&self.tenant, &self.principal);
        let read = |key: &RecordKey, record: Record| CurrentRun::read(&key.id, &record.value);
        let own = ledger.read(&key)?.map(|record| read(&key, record)).transpose()?;
        // Of version 1 there is one run for all clients of the principal. The first client that
        // has none of its own takes it over: with a fresh one, an upgrade would wash its taint off.
        let old = ledger.read(&key_v1)?.map(|record| read(&key_v1, record)).transpose()?;
        kept.inherited = own.is_none() && old.is_some();
        if let Some(stored) = own.or(old)
            && !self.is_over(stored.last_used, now)
        {
            kept.run = kept.run.named(stored.run);
            kept.run.trace_id = stored.trace_id;
        }
        Ok(kept)
    }

    /// True for a run that nobody used for too long. What is stored may be older than the last use
    /// by as much as writing is put off.
    fn is_over(&self, last_used: Timestamp, now: Timestamp) -> bool {
        now.since(last_used) > self.idle + self.idle / 16
    }

    async fn write(&self, kernel: &Kernel, kept: &Kept) -> Result<(), ServeError> {
        let record = CurrentRun {
            principal: self.principal.clone(),
            client: None,
            run: kept.run.run_id.clone(),
            trace_id: kept.run.trace_id.clone(),
            last_used: kept.last_used,
        };
        let key = CurrentRun::key(&self.tenant, &self.principal, &self.client);
        let mut batch = Batch::new(Durability::Os);
        batch.put.push(Put { key, value: record.write(&self.client)?, expires_at: None });
        if kept.inherited {
            batch.delete.push(CurrentRun::key_v1(&self.tenant, &self.principal));
        }
        kernel.ledger().commit(batch).await?;
        Ok(())
    }

    /// Removes the records of which `wanted` is true. What cannot be read is left where it is: it
    /// is refused when its client comes.
    async fn remove(
        &self,
        kernel: &Kernel,
        wanted: impl Fn(&CurrentRun) -> bool,
    ) -> Result<(), ServeError> {
        let ledger = kernel.ledger();
        let mut after: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let page =
                ledger.list(&self.tenant, Namespace::CurrentRun, after.as_deref(), MAX_PAGE)?;
            let Some((last, _)) = page.last() else { break };
            after = Some(last.clone());
            let mut batch = Batch::new(Durability::Os);
            for (id, record) in page {
                if CurrentRun::read(&id, &record.value).is_ok_and(|stored| wanted(&stored)) {
                    let tenant = self.tenant.clone();
                    batch.delete.push(RecordKey::new(tenant, Namespace::CurrentRun, id));
                }
            }
            if !batch.delete.is_empty() {
                ledger.commit(batch).await?;
            }
        }
        Ok(())
    }
}
