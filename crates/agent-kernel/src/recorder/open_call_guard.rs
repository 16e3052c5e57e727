//! The guard of a call whose end is not recorded.

use std::time::Duration;

use weaver_types::{CallId, Effects, Label, Millicents, Operation};

use super::RunRecorder;
use super::open_call::OpenCall;
use super::signal::CallSummary;
use super::unrecorded_ends::EarlyEnd;
use crate::budget_reservation::{BudgetReservation, SpentAmounts, micros};
use crate::cached_run::RunSlot;

/// Guards a call from its intent to its recorded end. A call that is abandoned in between, because
/// its future is dropped or something panics, is recorded as "outcome unknown". Boxed: it moves
/// through every later stage.
pub(crate) struct OpenCallGuard<'k> {
    pub(crate) recorder: &'k RunRecorder,
    pub(crate) slot: RunSlot,
    pub(crate) call: CallId,
    pub(crate) open: OpenCall,
    pub(crate) effects: Effects,
    pub(crate) is_recorded: bool,
    pub(crate) sources_notified: bool,
    /// Whether the call can be abandoned without leaving anything unknown: its end is then
    /// `cancelled`.
    pub(crate) is_cancellable: bool,
    /// The reservation from the run's budget.
    pub(crate) reservation: Option<BudgetReservation>,
    /// Execution time so far, pauses excluded.
    pub(crate) execution_time: Duration,
    /// The cost so far.
    pub(crate) cost: Millicents,
    /// When the current attempt started, by the monotonic clock.
    pub(crate) attempt_started: Option<Duration>,
}

impl OpenCallGuard<'_> {
    /// How long the next attempt, or the wait for the next chunk, may take.
    pub(crate) fn time_left(&self, limit: Duration) -> Duration {
        self.reservation
            .as_ref()
            .map_or(limit, |reservation| reservation.time_left(self.execution_time).min(limit))
    }

    /// The time and cost of all attempts so far.
    pub(crate) fn spent_amounts(&self) -> SpentAmounts {
        SpentAmounts { time: self.execution_time, cost: self.cost }
    }

    /// Starts measuring an attempt.
    pub(crate) fn start_attempt(&mut self) {
        self.attempt_started = Some(self.recorder.context.clock.monotonic());
    }

    /// Adds the time of the current attempt, or the limit at which it was cut off.
    pub(crate) fn end_attempt(&mut self, cut: Option<Duration>) {
        let Some(begun) = self.attempt_started.take() else { return };
        let measured = self.recorder.context.clock.monotonic().saturating_sub(begun);
        self.execution_time = self.execution_time.saturating_add(cut.unwrap_or(measured));
    }

    /// Notifies the signal sources, once, that the call is over; the label is `None` when nothing
    /// was shown.
    pub(crate) fn notify_sources(&mut self, label: Option<&Label>) {
        if std::mem::replace(&mut self.sources_notified, true) {
            return;
        }
        let clean = Label::clean();
        let summary = CallSummary {
            run: &self.open.run,
            call: &self.call,
            capability: &self.open.capability,
            effects: self.effects,
            label: label.unwrap_or(&clean),
            operation: Operation::Invoke,
        };
        self.recorder.notify_signal_sources(&self.slot, &summary);
    }
}

impl Drop for OpenCallGuard<'_> {
    fn drop(&mut self) {
        if self.is_recorded {
            return;
        }
        let worst = self.open.worst.clone();
        self.notify_sources(Some(&worst));
        self.end_attempt(None);
        self.open.latency_us = micros(self.execution_time);
        let end = if self.is_cancellable { EarlyEnd::CANCELLED } else { EarlyEnd::UNKNOWN };
        self.recorder.submit_without_waiting(&self.slot, &self.call, &self.open, end);
    }
}
