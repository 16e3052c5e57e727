//! Calls whose end is not recorded: what the ledger keeps of them, and how they are closed when
//! nobody saw their end.

use std::time::Duration;

use serde_json::json;
use weaver_types::ledger::{Batch, Durability, Expect, Namespace, RecordKey};
use weaver_types::{CallId, Effects, Label, Millicents, Operation};

use super::signal::CompletedCall;
use crate::budget_reservation::{BudgetReservation, SpentAmounts, micros};
use crate::cached_run::RunSlot;
use crate::kernel::Kernel;
use crate::open_call::OpenCall;
use crate::record::Payload;
use crate::run_state::RunDelta;
use crate::unrecorded_ends::EarlyEnd;

impl Kernel {
    /// The batch that closes an open call: it applies only while the call is open, so that each
    /// call has one end.
    pub(crate) fn closing(&self, call: &CallId, durability: Durability) -> Batch {
        let tenant = self.settings.tenant.clone();
        let key = RecordKey::new(tenant, Namespace::OpenCall, call);
        let mut batch = Batch::new(durability);
        batch.expect.push(Expect { key: key.clone(), version: Some(1) });
        batch.delete.push(key);
        batch
    }

    /// What closes a call whose end nobody saw. `None` when it has no recordable form.
    pub(crate) fn unknown_end(&self, call: &CallId, open: &OpenCall) -> Option<(RunDelta, Batch)> {
        self.early_end(call, open, EarlyEnd::UNKNOWN)
    }

    pub(super) fn early_end(
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
        let event = Payload::new()
            .with("principal", json!(open.principal))
            .with("capability", json!(open.capability))
            .tagged(self.known(&open.capability).as_deref())
            .with("success", json!(false))
            .with("reason", json!(reason))
            .run(&delta)
            .event(kind, self.now(), &open.run, Some(call))?;
        Some((delta, self.closing(call, Durability::Disk).with_event(event)))
    }
}

/// Watches over a call from its intent to its recorded end. A call that is abandoned on the way,
/// because its future is dropped or something panics, is recorded as "outcome unknown". Boxed:
/// it moves through every later stage.
pub(crate) struct OpenCallGuard<'k> {
    pub(crate) kernel: &'k Kernel,
    pub(crate) slot: RunSlot,
    pub(crate) call: CallId,
    pub(crate) open: OpenCall,
    pub(crate) effects: Effects,
    pub(crate) over: bool,
    pub(crate) reported: bool,
    /// A call that can be given up without leaving anything open: its end is then `cancelled`.
    pub(crate) harmless: bool,
    /// What it has set aside of the run's budget.
    pub(crate) reservation: Option<BudgetReservation>,
    /// Execution time so far, pauses excluded.
    pub(crate) spent: Duration,
    /// What it cost so far.
    pub(crate) paid: Millicents,
    /// When the attempt under way began, by the monotonic clock.
    pub(crate) begun: Option<Duration>,
}

impl OpenCallGuard<'_> {
    /// How long the next attempt, or the wait for the next chunk, may take.
    pub(crate) fn time_left(&self, limit: Duration) -> Duration {
        self.reservation
            .as_ref()
            .map_or(limit, |reservation| reservation.time(self.spent).min(limit))
    }

    /// What the attempts took so far.
    pub(crate) fn spent_amounts(&self) -> SpentAmounts {
        SpentAmounts { time: self.spent, cost: self.paid }
    }

    /// Execution begins.
    pub(crate) fn begin(&mut self) {
        self.begun = Some(self.kernel.clock.monotonic());
    }

    /// Execution ends, or was cut off at a limit.
    pub(crate) fn end(&mut self, cut: Option<Duration>) {
        let Some(begun) = self.begun.take() else { return };
        let measured = self.kernel.clock.monotonic().saturating_sub(begun);
        self.spent = self.spent.saturating_add(cut.unwrap_or(measured));
    }

    /// Tells those who watch the run that the call is over; `None` when nothing of it was shown.
    pub(crate) fn tell(&mut self, label: Option<&Label>) {
        if std::mem::replace(&mut self.reported, true) {
            return;
        }
        let clean = Label::clean();
        let over = CompletedCall {
            run: &self.open.run,
            call: &self.call,
            capability: &self.open.capability,
            effects: self.effects,
            label: label.unwrap_or(&clean),
            operation: Operation::Invoke,
        };
        self.kernel.observed(&self.slot, &over);
    }
}

impl Drop for OpenCallGuard<'_> {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        let worst = self.open.worst.clone();
        self.tell(Some(&worst));
        self.end(None);
        self.open.latency_us = micros(self.spent);
        let end = if self.harmless { EarlyEnd::CANCELLED } else { EarlyEnd::UNKNOWN };
        self.kernel.leave_unrecorded(&self.slot, &self.call, &self.open, end);
    }
}
