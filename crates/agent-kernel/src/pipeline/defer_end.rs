//! Ends that nobody waits for.
//!
//! What a call did is known when it ends, and its intent is in the log. So its end may ride with the
//! next commit, which saves a commit a call. Where the process dies before, the log says "outcome
//! unknown" of the call, and the run takes on its worst label and all that it had set aside: nothing
//! is forgotten in anybody's favour. Ends are waited for where that is not so: a mask that is shown
//! for the first time, a rest of the result that is still to be asked for, parts that were shown
//! before, and tokens where they are bounded.

use weaver_types::{CallId, ResponseMode};

use super::authorized_invocation::AuthorizedInvocation;
use super::finish::CallEnd;
use super::transition::{Step, StepError, SubmittedStep};
use super::unfinished_calls::OpenCallGuard;
use crate::cached_run::{RunSlot, lock};
use crate::deferred_ends::DeferredEnd;
use crate::kernel::Kernel;
use crate::masks;
use crate::open_call::OpenCall;
use crate::unrecorded_ends::{EarlyEnd, UnrecordedEnd};

impl Kernel {
    /// Submits the end of a call. Done when it is committed, or when all that can still become of it
    /// is what becomes of a ledger that fails.
    pub(super) async fn defer_end(
        &self,
        mut step: Step<'_>,
        watch: &OpenCallGuard<'_>,
    ) -> Result<(), StepError> {
        let SubmittedStep { id, ticket } = self.submit(&mut step)?;
        // What it stands on is committed, so nothing can be refused under it.
        let is_next = lock(step.slot).is_some_and(|run| run.is_next(id));
        if !is_next || ticket.is_done() {
            return self.settle(step, SubmittedStep { id, ticket }).await;
        }
        let end = Box::new(DeferredEnd {
            slot: watch.slot.clone(),
            step: id,
            ticket: ticket.defer(),
            call: watch.call.clone(),
            open: watch.open.clone(),
        });
        match self.deferred_ends.add(end) {
            Ok(()) => Ok(()),
            Err(end) => self.settle(step, SubmittedStep { id, ticket: end.ticket }).await,
        }
    }

    /// Takes in what became of the ends that nobody waited for. One that the ledger refused is an
    /// unknown one from then on.
    pub(crate) fn settle_deferred_ends(&self) {
        while let Some((end, done)) = self.deferred_ends.next_done() {
            let DeferredEnd { slot, step, call, open, .. } = *end;
            if let Some(mut run) = lock(&slot) {
                match &done {
                    Ok(_) => run.landed(step),
                    Err(_) => run.refused(step),
                }
            }
            if done.is_err() {
                self.leave_unrecorded(&slot, &call, &open, EarlyEnd::UNKNOWN);
            }
        }
    }

    /// Submits the end of a call that nobody saw through, and notes it: if it is not taken, the next
    /// call records it first, and otherwise the next opening.
    pub(super) fn leave_unrecorded(
        &self,
        slot: &RunSlot,
        call: &CallId,
        open: &OpenCall,
        end: EarlyEnd,
    ) {
        if let Some((delta, batch)) = self.early_end(call, open, end) {
            let mut step = Step::of_nobody(&open.run, slot, delta, batch);
            // Nobody is left to wait for it.
            drop(self.submit(&mut step));
        }
        self.unrecorded_ends.add(UnrecordedEnd { call: call.clone(), open: open.clone(), end });
    }
}

/// Whether the end of a call may be recorded after its caller has the answer.
pub(super) fn is_deferrable(
    ready: &AuthorizedInvocation<'_>,
    ended: &CallEnd,
    step: &Step<'_>,
) -> bool {
    let is_whole = ended
        .result
        .data
        .as_ref()
        .is_none_or(|frame| frame.mode == ResponseMode::Auto && frame.next.is_none());
    let budget = &ready.caller.run.settings.budget;
    !masks::are_counted_by(&step.batch)
        && is_whole
        && ready.outlet.is_none()
        && !ended.counts_tokens
        && budget.max_prompt_tokens.is_none()
}
