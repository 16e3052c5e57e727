//! Deferred ends: the end of a call is submitted to the ledger, and the caller does not wait for
//! the commit.
//!
//! The intent of the call is committed before the effect, so the end may join the next group
//! commit, which saves one commit for each call. If the process dies first, the log reports
//! "outcome unknown" for the call, and the run takes on its worst label and everything it reserved:
//! a lost end never works in anybody's favour. An end is waited for where that would not hold: when
//! it shows a mask for the first time, when more of the result can still be asked for, when parts
//! were shown before, or when tokens are limited.

use weaver_types::CallId;

use super::RunRecorder;
use super::deferred_ends::DeferredEnd;
use super::open_call::OpenCall;
use super::open_call_guard::OpenCallGuard;
use super::run_update::{RunUpdate, RunUpdateError, SubmittedUpdate};
use super::unrecorded_ends::{EarlyEnd, UnrecordedEnd};
use crate::cached_run::{RunSlot, lock_run};

impl RunRecorder {
    /// Submits the end of a call. Returns once it is committed, or once only a ledger failure can
    /// still prevent the commit.
    pub(crate) async fn defer_end(
        &self,
        mut update: RunUpdate<'_>,
        guard: &OpenCallGuard<'_>,
    ) -> Result<(), RunUpdateError> {
        let SubmittedUpdate { id, ticket } = self.submit_run_update(&mut update)?;
        // Every earlier update is committed, so no conflict can undo this one.
        let is_next = lock_run(update.slot).is_some_and(|run| run.is_oldest_in_flight(id));
        if !is_next || ticket.is_done() {
            return self.await_commit(update, SubmittedUpdate { id, ticket }).await;
        }
        let end = Box::new(DeferredEnd {
            slot: guard.slot.clone(),
            update_id: id,
            ticket: ticket.defer(),
            call: guard.call.clone(),
            open: guard.open.clone(),
        });
        match self.deferred_ends.add(end) {
            Ok(()) => Ok(()),
            Err(end) => self.await_commit(update, SubmittedUpdate { id, ticket: end.ticket }).await,
        }
    }

    /// Collects the results of deferred ends. An end that the ledger refused counts as unknown from
    /// then on.
    pub(crate) fn collect_deferred_ends(&self) {
        while let Some((end, done)) = self.deferred_ends.pop_done() {
            let DeferredEnd { slot, update_id: update, call, open, .. } = *end;
            if let Some(mut run) = lock_run(&slot) {
                match &done {
                    Ok(_) => run.mark_committed(update),
                    Err(_) => run.remove_refused(update),
                }
            }
            if done.is_err() {
                self.submit_without_waiting(&slot, &call, &open, EarlyEnd::UNKNOWN);
            }
        }
    }

    /// Submits an early end without waiting for it, and remembers it as unrecorded. If the ledger
    /// refuses it, the next call records it first, or else the next start does.
    pub(super) fn submit_without_waiting(
        &self,
        slot: &RunSlot,
        call: &CallId,
        open: &OpenCall,
        end: EarlyEnd,
    ) {
        if let Some((delta, batch)) = self.early_end_batch(call, open, end) {
            let mut update = RunUpdate::without_caller(&open.run, slot, delta, batch);
            // No caller is left to wait for the commit.
            drop(self.submit_run_update(&mut update));
        }
        self.unrecorded_ends.add(UnrecordedEnd { call: call.clone(), open: open.clone(), end });
    }
}
