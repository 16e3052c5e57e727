//! Which run a client works in: one for each client process of a principal, ended by idle time or
//! by an operator, never by reconnecting.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use weaver_agent_kernel::{Caller, Kernel, RunEnd};
use weaver_types::ledger::{Batch, Durability, MAX_PAGE, Namespace, Put, Record, RecordKey};
use weaver_types::{Clock, Principal, Random, RunContext, RunId, RunSettings, Tenant, Timestamp};

use super::client_process::{ClientKey, ProcessTable};
use super::current_run::CurrentRun;
use super::error::ServeError;
use crate::config::Config;

/// How many pages of records one look goes through.
const MAX_PAGES: usize = 16;

/// Holds the current run of this gateway's client.
pub(crate) struct RunKeeper {
    tenant: Tenant,
    principal: Principal,
    client: ClientKey,
    settings: RunSettings,
    idle: Duration,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    current: Mutex<Option<ActiveRun>>,
}

/// What happens to the record of a current run.
enum Fate {
    Stays,
    /// Remove it, and end its run.
    Ended(RunEnd),
    /// Remove it; the log already has the end of its run.
    Removed,
}

struct ActiveRun {
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
            principal: principal.clone(),
            client,
            settings: config.run.clone(),
            idle: config.idle,
            clock,
            random,
            current: Mutex::new(None),
        })
    }

    /// Ends the runs of clients that will not come back. No other gateway works on this
    /// ledger: one process writes it.
    pub(crate) async fn remove_stale(&self, kernel: &Kernel) -> Result<(), ServeError> {
        let (processes, now) = (ProcessTable::default(), self.clock.now());
        self.remove(kernel, |stored| {
            let gone = match &stored.client {
                Some(ClientKey::Process(process)) => processes.is_gone(process),
                Some(ClientKey::Gateway(_)) => stored.client.as_ref() != Some(&self.client),
                None => false,
            };
            match (gone, self.is_over(stored.last_used, now)) {
                (true, _) => Fate::Ended(RunEnd::ClientGone),
                (false, true) => Fate::Ended(RunEnd::Idle),
                (false, false) => Fate::Stays,
            }
        })
        .await
    }

    /// The client's session is over. Its run is too where no process can come back to it; a client
    /// that still runs keeps it, and the next start of a gateway ends it once that client is gone.
    pub(crate) async fn leave(&self, kernel: &Kernel) -> Result<(), ServeError> {
        let over = match &self.client {
            ClientKey::Process(process) => ProcessTable::default().is_gone(process),
            ClientKey::Gateway(_) => true,
        };
        if !over {
            return Ok(());
        }
        *self.current.lock().await = None;
        self.remove(kernel, |stored| match stored.client.as_ref() == Some(&self.client) {
            true => Fate::Ended(RunEnd::ClientGone),
            false => Fate::Stays,
        })
        .await
    }

    /// The run to work in now.
    pub(crate) async fn current(&self, kernel: &Kernel) -> Result<RunContext, ServeError> {
        let mut current = self.current.lock().await;
        let now = self.clock.now();
        let (active, idle) = match current.take() {
            Some(active) if now.since(active.last_used) <= self.idle => (active, None),
            Some(active) => (self.begin(now)?, Some(active.run)),
            None => self.resume(kernel, now)?,
        };
        let mut active = ActiveRun { last_used: now, ..active };
        // Written only now and then: a batch for every call would be too expensive.
        let stale = now.since(active.last_written) >= self.idle / 16;
        if stale || active.last_written == Timestamp::default() {
            self.write(kernel, &active, idle.as_ref()).await?;
            (active.last_written, active.inherited) = (now, false);
        }
        let run = active.run.clone();
        *current = Some(active);
        Ok(run)
    }

    /// Takes in what the user said. What the run knows already, and what it has no room for, is
    /// passed over.
    pub(crate) async fn record_user_statements(
        &self,
        kernel: &Kernel,
        texts: &[String],
    ) -> Result<(), ServeError> {
        self.current(kernel).await?;
        let mut current = self.current.lock().await;
        let Some(active) = current.as_mut() else { return Ok(()) };
        for text in texts {
            if !active.run.said().contains(text) && !active.run.user_said(text) {
                tracing::warn!("the run has no room for what the user said");
            }
        }
        Ok(())
    }

    /// Ends a run, as an operator wants it: whoever works in it begins another with the next call.
    pub(crate) async fn end(&self, kernel: &Kernel, run: &RunId) -> Result<(), ServeError> {
        let mut current = self.current.lock().await;
        let now = self.clock.now();
        let active = match current.take() {
            Some(active) => active,
            None => self.resume(kernel, now)?.0,
        };
        if active.run.run_id != *run {
            *current = Some(active);
            // It may be that of a client whose gateway does not run now.
            let fate = |stored: &CurrentRun| match stored.run == *run {
                true => Fate::Removed,
                false => Fate::Stays,
            };
            return self.remove(kernel, fate).await;
        }
        let fresh =
            ActiveRun { last_written: now, inherited: active.inherited, ..self.begin(now)? };
        self.write(kernel, &fresh, None).await?;
        *current = Some(ActiveRun { inherited: false, ..fresh });
        Ok(())
    }

    fn begin(&self, now: Timestamp) -> Result<ActiveRun, ServeError> {
        let mut run =
            RunContext::create(self.settings.clone(), self.clock.as_ref(), self.random.as_ref())?;
        if let Some(agent) = &self.principal.agent {
            run = run.for_agent(agent.clone());
        }
        Ok(ActiveRun { run, last_used: now, last_written: Timestamp::default(), inherited: false })
    }

    /// The run to go on in, and the one that ended by idle time.
    fn resume(
        &self,
        kernel: &Kernel,
        now: Timestamp,
    ) -> Result<(ActiveRun, Option<RunContext>), ServeError> {
        let mut active = self.begin(now)?;
        let ledger = kernel.ledger();
        let key = CurrentRun::key(&self.tenant, &self.principal.id, &self.client);
        let key_v1 = CurrentRun::key_v1(&self.tenant, &self.principal.id);
        let read = |key: &RecordKey, record: Record| CurrentRun::read(&key.id, &record.value);
        let own = ledger.read(&key)?.map(|record| read(&key, record)).transpose()?;
        // Of version 1 there is one run for all clients of the principal. The first client that
        // has none of its own takes it over: with a fresh one, an upgrade would wash its taint off.
        let old = ledger.read(&key_v1)?.map(|record| read(&key_v1, record)).transpose()?;
        active.inherited = own.is_none() && old.is_some();
        let Some(stored) = own.or(old) else { return Ok((active, None)) };
        let run = self.context(&active.run, &stored);
        if self.is_over(stored.last_used, now) {
            return Ok((active, Some(run)));
        }
        active.run = run;
        Ok((active, None))
    }

    /// The run of a record.
    fn context(&self, any: &RunContext, stored: &CurrentRun) -> RunContext {
        let mut run = any.clone().named(stored.run.clone());
        run.trace_id.clone_from(&stored.trace_id);
        run
    }

    /// True for a run that nobody used for too long. What is stored may be older than the last use
    /// by as much as writing is put off.
    fn is_over(&self, last_used: Timestamp, now: Timestamp) -> bool {
        now.since(last_used) > self.idle + self.idle / 16
    }

    /// Writes which run the client is in, and in the same batch that another one ended before.
    async fn write(
        &self,
        kernel: &Kernel,
        active: &ActiveRun,
        idle: Option<&RunContext>,
    ) -> Result<(), ServeError> {
        let record = CurrentRun {
            principal: self.principal.id.clone(),
            client: None,
            run: active.run.run_id.clone(),
            trace_id: active.run.trace_id.clone(),
            last_used: active.last_used,
        };
        let key = CurrentRun::key(&self.tenant, &self.principal.id, &self.client);
        let mut batch = Batch::new(Durability::Os);
        batch.put.push(Put { key, value: record.write(&self.client)?, expires_at: None });
        if active.inherited {
            batch.delete.push(CurrentRun::key_v1(&self.tenant, &self.principal.id));
        }
        match idle {
            Some(run) => {
                let caller = Caller { run, principal: &self.principal };
                record_end(kernel, caller, RunEnd::Idle, batch).await
            }
            None => {
                kernel.ledger().commit(batch).await?;
                Ok(())
            }
        }
    }

    /// Removes records as `fate` says of each. What cannot be read is left where it is: it
    /// is refused when its client comes.
    async fn remove(
        &self,
        kernel: &Kernel,
        fate: impl Fn(&CurrentRun) -> Fate,
    ) -> Result<(), ServeError> {
        let ledger = kernel.ledger();
        let mut after: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let page =
                ledger.list(&self.tenant, Namespace::CurrentRun, after.as_deref(), MAX_PAGE)?;
            let Some((last, _)) = page.last() else { break };
            after = Some(last.clone());
            for (id, record) in page {
                let Ok(stored) = CurrentRun::read(&id, &record.value) else { continue };
                let mut batch = Batch::new(Durability::Os);
                let tenant = self.tenant.clone();
                batch.delete.push(RecordKey::new(tenant, Namespace::CurrentRun, id));
                match fate(&stored) {
                    Fate::Stays => {}
                    Fate::Removed => {
                        ledger.commit(batch).await?;
                    }
                    Fate::Ended(end) => {
                        let run = self.context(&self.begin(stored.last_used)?.run, &stored);
                        let principal =
                            Principal { id: stored.principal.clone(), ..self.principal.clone() };
                        let caller = Caller { run: &run, principal: &principal };
                        record_end(kernel, caller, end, batch).await?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Records that a run is over, with what is written beside it. A run that cannot be read keeps nobody
/// from going on: then what stands beside it is written alone.
async fn record_end(
    kernel: &Kernel,
    caller: Caller<'_>,
    end: RunEnd,
    beside: Batch,
) -> Result<(), ServeError> {
    if let Err(error) = kernel.record_run_end(caller, end, beside.clone()).await {
        tracing::warn!(run = %caller.run.run_id, %error, "the end of the run is not recorded");
        kernel.ledger().commit(beside).await?;
    }
    Ok(())
}
