//! Tracks the current run of one client. All its sessions share the run; idle time or an operator
//! ends it, reconnecting does not.

use std::sync::{Arc, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::Mutex;
use weaver_agent_kernel::{Caller, EnteredRun, Kernel, RunEndReason, RunFault};
use weaver_types::ledger::{Batch, Durability, Ledger, RecordWrite};
use weaver_types::{
    Clock, Principal, Random, RunContext, RunId, RunSettings, Timestamp, UpstreamName,
};

use super::called_servers::{CalledServers, EarlierLog};
use super::client_process::ClientKey;
use super::current_run::CurrentRun;
use super::error::ServeError;
use super::message::excerpt;
use super::result_budget::ResultBudget;

/// Tracks the current run of one client of a principal.
pub(crate) struct RunTracker {
    factory: RunFactory,
    principal: Principal,
    client: ClientKey,
    /// The name that the client gave itself.
    client_name: OnceLock<String>,
    current: Mutex<Option<ActiveRun>>,
    /// What the agent is told with its next answer: its run is another one, or a server is.
    notices: std::sync::Mutex<Vec<String>>,
    /// The servers that it has called.
    called_servers: CalledServers,
    /// The results that are kept for the client.
    pub(crate) kept_results: Arc<ResultBudget>,
}

struct ActiveRun {
    run: RunContext,
    last_used: Timestamp,
    last_written: Timestamp,
    /// The log has no event yet that the client entered the run.
    needs_entry_event: bool,
}

/// What the next call of a client does.
enum NextRun {
    /// It continues a run, or begins one after the run that was idle for too long.
    Use(ActiveRun, Option<Box<RunContext>>),
    /// It begins a run with the strictest label, in place of one whose record is not accepted.
    Replace(RunContext, RunFault),
    /// It stays in a run whose record is not accepted, and is denied there.
    Denied(ActiveRun),
}

/// Creates the runs of a gateway, with their common settings.
#[derive(Clone)]
pub(crate) struct RunFactory {
    pub(crate) settings: RunSettings,
    /// The idle time after which a run ends.
    pub(crate) idle_limit: Duration,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn Random>,
    /// The number of events in the log when the gateway opened it.
    pub(crate) opened_at: u64,
}

impl RunFactory {
    /// Creates a new run.
    pub(crate) fn begin(&self, principal: &Principal) -> Result<RunContext, ServeError> {
        let run =
            RunContext::create(self.settings.clone(), self.clock.as_ref(), self.random.as_ref())?;
        Ok(match &principal.agent {
            Some(agent) => run.for_agent(agent.clone()),
            None => run,
        })
    }

    /// True for a run that was idle for too long. The stored time may lag behind the last use by as
    /// long as writes are deferred, so the limit is extended by that.
    pub(crate) fn is_stored_run_expired(&self, last_used: Timestamp, now: Timestamp) -> bool {
        now.since(last_used) > self.idle_limit + self.idle_limit / 16
    }
}

impl RunTracker {
    /// A tracker without a run yet.
    pub(crate) fn new(factory: RunFactory, principal: Principal, client: ClientKey) -> Self {
        Self {
            factory,
            principal,
            client,
            client_name: OnceLock::new(),
            current: Mutex::new(None),
            notices: std::sync::Mutex::default(),
            called_servers: CalledServers::default(),
            kept_results: Arc::default(),
        }
    }

    /// Notes the name that the client gives itself, which the start of its runs records. The first
    /// one stays.
    pub(crate) fn note_client_name(&self, name: &str) {
        let _ = self.client_name.set(excerpt(name));
    }

    /// The client whose runs these are.
    pub(crate) fn client(&self) -> &ClientKey {
        &self.client
    }

    /// True when the run was idle for too long, or there is none.
    pub(crate) fn is_idle(&self) -> bool {
        let Ok(current) = self.current.try_lock() else { return false };
        let now = self.factory.clock.now();
        current.as_ref().is_none_or(|active| now.since(active.last_used) > self.factory.idle_limit)
    }

    /// The run of the last call; `None` before the first.
    pub(crate) async fn run_id(&self) -> Option<RunId> {
        self.last_run().await.map(|run| run.run_id)
    }

    /// True if this is the run of the last call.
    pub(crate) async fn is_last_run(&self, run: &RunId) -> bool {
        self.current.lock().await.as_ref().is_some_and(|active| active.run.run_id == *run)
    }

    /// The run of the last call, however long ago. This is no use of it.
    pub(crate) async fn last_run(&self) -> Option<RunContext> {
        self.current.lock().await.as_ref().map(|active| active.run.clone())
    }

    /// What the agent has to be told about its run and its servers, once.
    pub(crate) fn take_notice(&self) -> Option<String> {
        let notices =
            std::mem::take(&mut *self.notices.lock().unwrap_or_else(PoisonError::into_inner));
        (!notices.is_empty()).then(|| notices.join(" "))
    }

    fn add_notice(&self, notice: String) {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner).push(notice);
    }

    /// Notes the process of a server that has served a call, as its connection identifies it. The
    /// agent is told where it is not the one that served the last call, also if that was before this
    /// gateway began.
    pub(crate) fn note_process(&self, ledger: &dyn Ledger, server: &UpstreamName, connection: u64) {
        let log = EarlierLog { ledger, end: self.factory.opened_at };
        if self.called_servers.is_another_process(server, connection, log) {
            self.add_notice(format!(
                "Server `{server}` was started again since your last call of it: what it kept in \
                 memory (open pages, tables, logins) is gone."
            ));
        }
    }

    /// The current run. It continues, is resumed from the store, or begins.
    pub(crate) async fn current(&self, kernel: &Kernel) -> Result<RunContext, ServeError> {
        let mut current = self.current.lock().await;
        let now = self.factory.clock.now();
        let (active, idle_run) = match self.next_run(kernel, current.take(), now)? {
            NextRun::Use(active, idle_run) => (active, idle_run),
            NextRun::Replace(replaced, fault) => {
                (Box::pin(self.replace(kernel, &replaced, fault, now)).await?, None)
            }
            // A denied call is no use of the run, or the denials would have no end.
            NextRun::Denied(active) => {
                let run = active.run.clone();
                *current = Some(active);
                return Ok(run);
            }
        };
        let mut active = ActiveRun { last_used: now, ..active };
        // Deferred: a write for every call would be too expensive.
        let is_write_due = now.since(active.last_written) >= self.factory.idle_limit / 16;
        if is_write_due || active.last_written == Timestamp::default() {
            Box::pin(self.write(kernel, &active, idle_run.as_deref())).await?;
            active = ActiveRun { last_written: now, needs_entry_event: false, ..active };
        }
        let run = active.run.clone();
        *current = Some(active);
        Ok(run)
    }

    /// Decides in which run the next call is made.
    ///
    /// A run that the log says too little of gives way to another at once. One whose record was
    /// changed is denied until it is idle for too long. Whatever takes its place begins with the
    /// strictest label, so that nobody gains by damaging the store.
    fn next_run(
        &self,
        kernel: &Kernel,
        current: Option<ActiveRun>,
        now: Timestamp,
    ) -> Result<NextRun, ServeError> {
        let (active, idle_run) = match current {
            Some(active) if now.since(active.last_used) <= self.factory.idle_limit => {
                (active, None)
            }
            Some(active) => (self.begin(now)?, Some(active.run)),
            None => self.resume(kernel, now)?,
        };
        if let Some(idle_run) = idle_run {
            let fault = kernel.run_fault(&idle_run.run_id);
            return Ok(match fault.filter(|fault| !fault.is_incomparable()) {
                Some(fault) => NextRun::Replace(idle_run, fault),
                None => NextRun::Use(active, Some(Box::new(idle_run))),
            });
        }
        Ok(match kernel.run_fault(&active.run.run_id) {
            None => NextRun::Use(active, None),
            Some(fault) if fault.is_incomparable() => NextRun::Replace(active.run, fault),
            Some(_) => NextRun::Denied(active),
        })
    }

    /// Begins a run in place of one whose record is not accepted. The label is recorded before the
    /// client enters the run: without it the run would be clean.
    async fn replace(
        &self,
        kernel: &Kernel,
        replaced: &RunContext,
        fault: RunFault,
        now: Timestamp,
    ) -> Result<ActiveRun, ServeError> {
        let active = self.begin(now)?;
        let (run, replaced) = (&active.run, &replaced.run_id);
        tracing::warn!(
            run = %run.run_id, %replaced, problem = %fault,
            "a run is not accepted: another takes its place, with the strictest label"
        );
        kernel.expire_requests_of_run(replaced).await;
        let caller = Caller { run, principal: &self.principal };
        kernel.record_replacement(caller, replaced, fault).await?;
        let notice = format!(
            "The run {replaced} is not continued: {fault}. Run {} took its place and counts as \
             having read untrusted and secret data, so writes may be held or denied. The user can \
             end it with `weaver approve end-run {}`; the next call then begins a new run.",
            run.run_id, run.run_id
        );
        self.add_notice(notice);
        Ok(active)
    }

    /// Records what the user said. Texts that the run has already, or has no room for, are skipped.
    pub(crate) async fn record_user_statements(
        &self,
        kernel: &Kernel,
        texts: &[String],
    ) -> Result<(), ServeError> {
        self.current(kernel).await?;
        let mut current = self.current.lock().await;
        let Some(active) = current.as_mut() else { return Ok(()) };
        for text in texts {
            if !active.run.user_texts().contains(text) && !active.run.record_user_text(text) {
                tracing::warn!("the run has no room for another user statement");
            }
        }
        Ok(())
    }

    /// Ends a run on an operator's command: its client begins another with the next call. False
    /// when it is not this client's run.
    pub(crate) async fn end(&self, kernel: &Kernel, run: &RunId) -> Result<bool, ServeError> {
        let mut current = self.current.lock().await;
        let now = self.factory.clock.now();
        let resumed = match &*current {
            Some(_) => None,
            None => Some(self.resume(kernel, now)?.0),
        };
        let Some(active) = resumed.as_ref().or(current.as_ref()) else { return Ok(false) };
        if active.run.run_id != *run {
            // A record that was only read is not kept: keeping it would count as a use of that run.
            return Ok(false);
        }
        let next = ActiveRun { last_written: now, ..self.begin(now)? };
        self.write(kernel, &next, None).await?;
        *current = Some(ActiveRun { needs_entry_event: false, ..next });
        Ok(true)
    }

    fn begin(&self, now: Timestamp) -> Result<ActiveRun, ServeError> {
        let mut run = self.factory.begin(&self.principal)?;
        if let Some(name) = self.client_name.get() {
            run.settings.metadata.insert("client".to_owned(), name.as_str().into());
        }
        if let Some(name) = self.client.token_name() {
            run.settings.metadata.insert("http_client".to_owned(), name.into());
        }
        let last_written = Timestamp::default();
        Ok(ActiveRun { run, last_used: now, last_written, needs_entry_event: true })
    }

    /// The run to continue, and a run that ended by idle time. The log decides which run the client
    /// is in; the record only adds to it, because whoever can write the store could change the
    /// record to start a clean run.
    fn resume(
        &self,
        kernel: &Kernel,
        now: Timestamp,
    ) -> Result<(ActiveRun, Option<RunContext>), ServeError> {
        let mut active = self.begin(now)?;
        let ledger = kernel.ledger();
        let key = CurrentRun::key(&self.principal.tenant, &self.principal.id, &self.client);
        let record =
            ledger.read(&key)?.map(|read| CurrentRun::from_bytes(&read.value)).transpose()?;
        let entered = kernel.entered_run(&key.id)?;
        let is_recorded =
            |entered: &EnteredRun| record.as_ref().is_some_and(|record| record.run == entered.run);
        let (logged, recorded) = (entered.is_some(), entered.as_ref().is_some_and(is_recorded));
        let stored = match entered {
            // The record alone could be removed, changed or dated back to start a clean run.
            Some(entered) if recorded => {
                record.map(|record| record.with_last_use_at_least(entered.last_event))
            }
            Some(entered) => Some(CurrentRun {
                principal: self.principal.id.clone(),
                client: self.client.clone(),
                run: entered.run,
                trace_id: active.run.trace_id.clone(),
                last_used: entered.last_event,
            }),
            None => record,
        };
        let Some(stored) = stored else { return Ok((active, None)) };
        let run = stored.to_context(&active.run);
        if self.factory.is_stored_run_expired(stored.last_used, now) {
            return Ok((active, Some(run)));
        }
        if logged && !recorded {
            let run = &run.run_id;
            tracing::warn!(%run, "the record of a client's run is gone or changed; it goes on in the \
                run of the log");
        }
        self.called_servers.resume(&run.run_id);
        (active.run, active.needs_entry_event) = (run, !recorded);
        active.last_used = stored.last_used;
        Ok((active, None))
    }

    /// Writes the client's run, and in the same batch the end of its previous run.
    async fn write(
        &self,
        kernel: &Kernel,
        active: &ActiveRun,
        idle_run: Option<&RunContext>,
    ) -> Result<(), ServeError> {
        let record = CurrentRun {
            principal: self.principal.id.clone(),
            client: self.client.clone(),
            run: active.run.run_id.clone(),
            trace_id: active.run.trace_id.clone(),
            last_used: active.last_used,
        };
        let key = CurrentRun::key(&self.principal.tenant, &self.principal.id, &self.client);
        let mut batch = Batch::new(Durability::Os);
        batch.put.push(RecordWrite { key, value: record.into_bytes()?, expires_at: None });
        if active.needs_entry_event {
            let client = CurrentRun::record_id(&self.principal.id, &self.client);
            batch.events.push(kernel.run_entry_event(&client, &active.run.run_id)?);
        }
        match idle_run {
            Some(run) => {
                let caller = Caller { run, principal: &self.principal };
                record_end(kernel, caller, RunEndReason::Idle, batch).await
            }
            None => {
                kernel.ledger().commit(batch).await?;
                Ok(())
            }
        }
    }
}

/// Records the end of a run together with other writes, and ends its requests first: no later call
/// is made in it. If the end cannot be recorded, the other writes are still made, so that the client
/// can continue.
pub(crate) async fn record_end(
    kernel: &Kernel,
    caller: Caller<'_>,
    end: RunEndReason,
    other_writes: Batch,
) -> Result<(), ServeError> {
    kernel.expire_requests_of_run(&caller.run.run_id).await;
    if let Err(error) = kernel.record_run_end(caller, end, other_writes.clone()).await {
        tracing::warn!(run = %caller.run.run_id, %error, "the end of the run was not recorded");
        kernel.ledger().commit(other_writes).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
