//! Which run a principal is in: one, ended by idle time, never by reconnecting.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;
use weaver_agent_kernel::Kernel;
use weaver_types::canonical::{self, Profile};
use weaver_types::ledger::{Batch, Durability, LedgerError, Namespace, Put, RecordKey};
use weaver_types::{Clock, Principal, Random, RunContext, RunId, RunSettings, Timestamp};

use super::error::ServeError;
use crate::config::Config;

/// What the ledger keeps of the current run.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CurrentRun {
    v: u8,
    run: RunId,
    trace_id: String,
    last_used: Timestamp,
}

/// Keeps the principal's run.
pub(crate) struct RunKeeper {
    key: RecordKey,
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
}

impl RunKeeper {
    pub(crate) fn new(
        config: &Config,
        principal: &Principal,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
    ) -> Self {
        Self {
            key: RecordKey::new(
                principal.tenant.clone(),
                Namespace::CurrentRun,
                principal.id.as_str(),
            ),
            agent: principal.agent.clone(),
            settings: config.run.clone(),
            idle: config.idle,
            clock,
            random,
            current: Mutex::new(None),
        }
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
            kept.last_written = now;
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

    /// Begins another run where this one is current.
    pub(crate) async fn end(&self, kernel: &Kernel, run: &RunId) -> Result<(), ServeError> {
        let mut current = self.current.lock().await;
        let now = self.clock.now();
        let kept = match current.take() {
            Some(kept) => kept,
            None => self.resume(kernel, now)?,
        };
        if kept.run.run_id != *run {
            *current = Some(kept);
            return Ok(());
        }
        let fresh = Kept { last_written: now, ..self.begin(now)? };
        self.write(kernel, &fresh).await?;
        *current = Some(fresh);
        Ok(())
    }

    fn begin(&self, now: Timestamp) -> Result<Kept, ServeError> {
        let mut run =
            RunContext::create(self.settings.clone(), self.clock.as_ref(), self.random.as_ref())?;
        if let Some(agent) = &self.agent {
            run = run.for_agent(agent.clone());
        }
        Ok(Kept { run, last_used: now, last_written: Timestamp::default() })
    }

    fn resume(&self, kernel: &Kernel, now: Timestamp) -> Result<Kept, ServeError> {
        let mut kept = self.begin(now)?;
        let Some(record) = kernel.ledger().read(&self.key)? else { return Ok(kept) };
        let damaged = |problem: String| {
            LedgerError::Damaged(format!("the record of the current run: {problem}"))
        };
        let value =
            canonical::parse(&record.value, Profile::Record).map_err(|e| damaged(e.to_string()))?;
        let stored: CurrentRun =
            serde_json::from_value(value).map_err(|e| damaged(e.to_string()))?;
        if stored.v != 1 {
            // A fresh run would start with a clean label: refuse rather than forget.
            let (found, known) = (u64::from(stored.v), 1);
            return Err(
                LedgerError::Newer { what: "the current run".to_owned(), found, known }.into()
            );
        }
        // What is stored may be older than the last use by as much as writing is put off.
        if now.since(stored.last_used) <= self.idle + self.idle / 16 {
            kept.run = kept.run.named(stored.run);
            kept.run.trace_id = stored.trace_id;
        }
        Ok(kept)
    }

    async fn write(&self, kernel: &Kernel, kept: &Kept) -> Result<(), ServeError> {
        let record = CurrentRun {
            v: 1,
            run: kept.run.run_id.clone(),
            trace_id: kept.run.trace_id.clone(),
            last_used: kept.last_used,
        };
        let value = canonical::of(&record, Profile::Record)
            .map_err(|error| LedgerError::Malformed(error.to_string()))?;
        let mut batch = Batch::new(Durability::Os);
        batch.put.push(Put { key: self.key.clone(), value, expires_at: None });
        kernel.ledger().commit(batch).await?;
        Ok(())
    }
}
