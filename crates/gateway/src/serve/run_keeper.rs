//! Which run one client works in: the same for all its sessions, ended by idle time or by an operator,
//! never by reconnecting.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use weaver_agent_kernel::{Caller, EnteredRun, Kernel, RunEnd};
use weaver_types::ledger::{Batch, Durability, Put, Record, RecordKey};
use weaver_types::{Clock, Principal, Random, RunContext, RunId, RunSettings, Timestamp};

use super::client_process::ClientKey;
use super::current_run::CurrentRun;
use super::error::ServeError;

/// Holds the current run of one client of a principal.
pub(crate) struct RunKeeper {
    source: RunFactory,
    principal: Principal,
    client: ClientKey,
    current: Mutex<Option<ActiveRun>>,
}

struct ActiveRun {
    run: RunContext,
    last_used: Timestamp,
    last_written: Timestamp,
    /// It was taken over from a record of version 1, which goes when the run is written.
    inherited: bool,
    /// The log does not say yet that the client works in it.
    entering: bool,
}

/// Begins the runs of a gateway, with what all of them have in common.
#[derive(Clone)]
pub(crate) struct RunFactory {
    pub(crate) settings: RunSettings,
    /// After how long without a call a run ends.
    pub(crate) idle: Duration,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn Random>,
}

impl RunFactory {
    /// A fresh run.
    pub(crate) fn begin(&self, principal: &Principal) -> Result<RunContext, ServeError> {
        let run =
            RunContext::create(self.settings.clone(), self.clock.as_ref(), self.random.as_ref())?;
        Ok(match &principal.agent {
            Some(agent) => run.for_agent(agent.clone()),
            None => run,
        })
    }

    /// True for a run that nobody used for too long. What is stored may be older than the last use
    /// by as much as writing is put off.
    pub(crate) fn is_stored_run_over(&self, last_used: Timestamp, now: Timestamp) -> bool {
        now.since(last_used) > self.idle + self.idle / 16
    }
}

impl RunKeeper {
    /// The keeper of a client.
    pub(crate) fn new(source: RunFactory, principal: Principal, client: ClientKey) -> Self {
        Self { source, principal, client, current: Mutex::new(None) }
    }

    /// Whose runs these are.
    pub(crate) fn client(&self) -> &ClientKey {
        &self.client
    }

    /// True when nobody used the run for too long, or there is none.
    pub(crate) fn is_idle(&self) -> bool {
        let Ok(current) = self.current.try_lock() else { return false };
        let now = self.source.clock.now();
        current.as_ref().is_none_or(|active| now.since(active.last_used) > self.source.idle)
    }

    /// The run that was worked in last; `None` before the first.
    pub(crate) async fn run_id(&self) -> Option<RunId> {
        self.current.lock().await.as_ref().map(|active| active.run.run_id.clone())
    }

    /// The run to work in now.
    pub(crate) async fn current(&self, kernel: &Kernel) -> Result<RunContext, ServeError> {
        let mut current = self.current.lock().await;
        let now = self.source.clock.now();
        let (active, idle) = match current.take() {
            Some(active) if now.since(active.last_used) <= self.source.idle => (active, None),
            Some(active) => (self.begin(now)?, Some(active.run)),
            None => self.resume(kernel, now)?,
        };
        let mut active = ActiveRun { last_used: now, ..active };
        // Written only now and then: a batch for every call would be too expensive.
        let stale = now.since(active.last_written) >= self.source.idle / 16;
        if stale || active.last_written == Timestamp::default() {
            self.write(kernel, &active, idle.as_ref()).await?;
            active = ActiveRun { last_written: now, inherited: false, entering: false, ..active };
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
    /// False when it is not the run of this client.
    pub(crate) async fn end(&self, kernel: &Kernel, run: &RunId) -> Result<bool, ServeError> {
        let mut current = self.current.lock().await;
        let now = self.source.clock.now();
        let active = match current.take() {
            Some(active) => active,
            None => self.resume(kernel, now)?.0,
        };
        if active.run.run_id != *run {
            *current = Some(active);
            return Ok(false);
        }
        let fresh =
            ActiveRun { last_written: now, inherited: active.inherited, ..self.begin(now)? };
        self.write(kernel, &fresh, None).await?;
        *current = Some(ActiveRun { inherited: false, entering: false, ..fresh });
        Ok(true)
    }

    fn begin(&self, now: Timestamp) -> Result<ActiveRun, ServeError> {
        let run = self.source.begin(&self.principal)?;
        let last_written = Timestamp::default();
        Ok(ActiveRun { run, last_used: now, last_written, inherited: false, entering: true })
    }

    /// The run to go on in, and the one that ended by idle time.
    fn resume(
        &self,
        kernel: &Kernel,
        now: Timestamp,
    ) -> Result<(ActiveRun, Option<RunContext>), ServeError> {
        let mut active = self.begin(now)?;
        let ledger = kernel.ledger();
        let key = CurrentRun::key(&self.principal.tenant, &self.principal.id, &self.client);
        let key_v1 = CurrentRun::key_v1(&self.principal.tenant, &self.principal.id);
        let read = |key: &RecordKey, record: Record| CurrentRun::read(&key.id, &record.value);
        let own = ledger.read(&key)?.map(|record| read(&key, record)).transpose()?;
        // Of version 1 there is one run for all clients of the principal. The first client that
        // has none of its own takes it over: with a fresh one, an upgrade would wash its taint off.
        let old = ledger.read(&key_v1)?.map(|record| read(&key_v1, record)).transpose()?;
        let entered = kernel.entered_run(&key.id)?;
        let is_recorded =
            |entered: &EnteredRun| own.as_ref().is_some_and(|own| own.run == entered.run);
        let (logged, recorded) = (entered.is_some(), entered.as_ref().is_some_and(is_recorded));
        let stored = match entered {
            // The record alone could be removed, changed or dated back, to begin a clean run.
            Some(entered) if recorded => own.map(|own| own.used_until(entered.last_event)),
            Some(entered) => Some(CurrentRun {
                principal: self.principal.id.clone(),
                client: Some(self.client.clone()),
                run: entered.run,
                trace_id: active.run.trace_id.clone(),
                last_used: entered.last_event,
            }),
            None => {
                active.inherited = own.is_none() && old.is_some();
                own.or(old)
            }
        };
        let Some(stored) = stored else { return Ok((active, None)) };
        let run = stored.context(&active.run);
        if self.source.is_stored_run_over(stored.last_used, now) {
            return Ok((active, Some(run)));
        }
        if logged && !recorded {
            let run = &run.run_id;
            tracing::warn!(%run, "the record of a client's run is gone or changed; it goes on in the \
                run of the log");
        }
        (active.run, active.entering) = (run, !recorded);
        Ok((active, None))
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
        let key = CurrentRun::key(&self.principal.tenant, &self.principal.id, &self.client);
        let mut batch = Batch::new(Durability::Os);
        batch.put.push(Put { key, value: record.write(&self.client)?, expires_at: None });
        if active.inherited {
            batch.delete.push(CurrentRun::key_v1(&self.principal.tenant, &self.principal.id));
        }
        if active.entering {
            let client = CurrentRun::id(&self.principal.id, &self.client);
            batch.events.push(kernel.run_entry(&client, &active.run.run_id)?);
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
}

/// Records that a run is over, together with other writes. Where the end of the run cannot be recorded,
/// the others are written without it, so that its client goes on.
pub(crate) async fn record_end(
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
