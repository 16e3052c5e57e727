//! Closes calls whose end nobody saw, and records the ends that the ledger refused when they
//! happened.
//!
//! A ledger that was unreachable for a while recovers by itself. A call whose effect happened, and
//! whose end was refused in the meantime, is then still open in it. Its end, "outcome unknown" with
//! the worst label and everything that was reserved, is recorded before anything else is executed.

use weaver_types::ledger::{Batch, Durability, LedgerError, Namespace, RecordKey, VersionGuard};
use weaver_types::{CallId, Millicents};

use super::RunRecorder;
use super::open_call::OpenCall;
use super::run_update::{RunUpdate, RunUpdateError};
use super::unrecorded_ends::{EarlyEnd, UnrecordedEnd};
use crate::cached_run::lock_run;
use crate::error::KernelError;
use crate::event_payload::EventPayload;
use crate::run_state::RunDelta;

impl RunRecorder {
    /// The batch that closes an open call: it applies only while the call is open, so that each
    /// call has one end.
    pub(crate) fn close_call_batch(&self, call: &CallId, durability: Durability) -> Batch {
        let tenant = self.context.settings.tenant.clone();
        let key = RecordKey::new(tenant, Namespace::OpenCall, call);
        let mut batch = Batch::new(durability);
        batch.expect.push(VersionGuard { key: key.clone(), version: Some(1) });
        batch.delete.push(key);
        batch
    }

    /// The batch that closes a call whose end nobody saw. `None` when it has no recordable form.
    pub(super) fn early_end_batch(
        &self,
        call: &CallId,
        open: &OpenCall,
        EarlyEnd { kind, reason }: EarlyEnd,
    ) -> Option<(RunDelta, Batch)> {
        let delta = RunDelta {
            label: Some(open.worst.clone()),
            prompt_tokens: open.tokens,
            latency_us: open.latency_us,
            cost: Millicents(open.cost),
            ..RunDelta::default()
        };
        let event = EventPayload::new()
            .with("principal", &open.principal)
            .with("capability", &open.capability)
            .with_tags(self.context.capability(&open.capability).as_deref())
            .with("success", false)
            .with("reason", reason)
            .with_run_delta(&delta)
            .into_event(kind, self.context.now(), &open.run, Some(call))?;
        Some((delta, self.close_call_batch(call, Durability::Disk).with_event(event)))
    }

    /// Records all unrecorded ends. Nothing is executed until every one of them is committed.
    pub(crate) async fn flush_unrecorded_ends(&self) -> Result<(), RunUpdateError> {
        self.collect_deferred_ends();
        while self.unrecorded_ends.may_be_non_empty() {
            // Several callers may record the same end: the ledger accepts it once.
            let Some(unrecorded) = self.unrecorded_ends.next() else { return Ok(()) };
            self.record_unrecorded_end(&unrecorded).await?;
            self.unrecorded_ends.remove(&unrecorded.call);
        }
        Ok(())
    }

    async fn record_unrecorded_end(
        &self,
        unrecorded: &UnrecordedEnd,
    ) -> Result<(), RunUpdateError> {
        let UnrecordedEnd { call, open, end } = unrecorded;
        let malformed = LedgerError::Malformed;
        let (delta, batch) = self
            .early_end_batch(call, open, *end)
            .ok_or_else(|| malformed("the end of a call has no recordable form".to_owned()))?;
        match self.commit_early_end(open, delta, batch).await {
            // The end was recorded after all.
            Err(RunUpdateError::Ledger(LedgerError::Conflict { key }))
                if key.namespace == Namespace::OpenCall =>
            {
                Ok(())
            }
            committed => committed,
        }
    }

    /// Commits the end of a call whose end nobody saw. A run that cannot be proven gets it too, on
    /// top of its record as it is, and one whose record cannot be read gets it in the log alone: the
    /// run stays denied, and its call keeps nothing else waiting.
    pub(super) async fn commit_early_end(
        &self,
        open: &OpenCall,
        delta: RunDelta,
        batch: Batch,
    ) -> Result<(), RunUpdateError> {
        let unproven = |_| self.runs.unproven_slot(&open.run, self.context.ledger.as_ref());
        let slot = match self.slot(&open.run).or_else(unproven) {
            Ok(slot) => slot,
            Err(KernelError::StoredRecord { .. } | KernelError::UnprovenRun { .. }) => {
                self.context.ledger.commit(batch).await?;
                return Ok(());
            }
            Err(error) => return Err(LedgerError::Malformed(error.to_string()).into()),
        };
        self.commit_run_update(RunUpdate::without_caller(&open.run, &slot, delta, batch)).await?;
        if let Some(session) = lock_run(&slot).and_then(|run| run.session().cloned()) {
            session.charge(open.tokens);
        }
        Ok(())
    }
}
