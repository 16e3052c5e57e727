//! Signals: the sources are notified of each finished call, and new kinds of signals are recorded.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::{Value, json};
use weaver_policy::signal::{FinishedCall, Signal, SignalReport, SignalSubject};
use weaver_types::ledger::{Batch, Durability};
use weaver_types::{CallId, CapabilityId, Effects, EventKind, Label, Operation, RunId};

use super::RunRecorder;
use super::run_update::RunUpdate;
use crate::cached_run::{RunSlot, lock_run};
use crate::caller::Caller;
use crate::event_payload::{EventPayload, error_text};
use crate::run_state::RunDelta;

/// A finished call, without its number in the run.
pub(crate) struct CallSummary<'a> {
    pub(crate) run: &'a RunId,
    pub(crate) call: &'a CallId,
    pub(crate) capability: &'a CapabilityId,
    pub(crate) effects: Effects,
    pub(crate) label: &'a Label,
    pub(crate) operation: Operation,
}

impl RunRecorder {
    /// Notifies the signal sources of a finished call.
    pub(crate) fn notify_signal_sources(&self, slot: &RunSlot, summary: &CallSummary<'_>) {
        if self.signals.is_idle() {
            return;
        }
        let Some(finished) = lock_run(slot).map(|mut run| run.count_finished_call()) else {
            return;
        };
        let finished_call = FinishedCall {
            run: summary.run,
            call: summary.call,
            capability: summary.capability,
            effects: summary.effects,
            label: summary.label,
            operation: summary.operation,
            finished,
        };
        // If a source panics here its state is poisoned, and every later report says so.
        let _ = catch_unwind(AssertUnwindSafe(|| self.signals.observe(&finished_call)));
    }

    /// Records the signals, but only when a kind appears that was not in the last report. Repeated
    /// signals are visible in the decisions.
    pub(crate) async fn record_signals(
        &self,
        caller: Caller<'_>,
        call: &CallId,
        slot: Option<&RunSlot>,
        report: &SignalReport,
    ) {
        if self.signals.is_idle() {
            return;
        }
        let Some(slot) = slot.filter(|_| !caller.run.dry_run) else { return };
        let has_new_kind =
            lock_run(slot).is_some_and(|mut run| run.replace_reported_kinds(signal_kinds(report)));
        if !has_new_kind {
            return;
        }
        let to_json = |signals: &[Signal]| {
            Value::Array(signals.iter().map(|signal| self.signal_json(signal)).collect())
        };
        let failed: Vec<Value> = report
            .failures()
            .iter()
            .map(|failure| {
                let message = error_text(&self.context.firewall, &failure.message);
                json!({ "source": failure.source, "code": failure.code, "message": message })
            })
            .collect();
        let event = EventPayload::new()
            .with_caller(caller, &self.context.firewall)
            .with("signals", to_json(report.signals()))
            .with("aside", to_json(report.unrelated_signals()))
            .with("failed", Value::Array(failed))
            .with("more", report.dropped_count())
            .into_event(
                EventKind::SignalRaised,
                self.context.now(),
                &caller.run.run_id,
                Some(call),
            );
        if let Some(event) = event {
            let batch = Batch::new(Durability::Os).with_event(event);
            // The decision names the signals too, and a ledger that accepts nothing denies the call
            // anyway.
            let _ = Box::pin(self.commit_run_update(RunUpdate::new(
                caller,
                slot,
                RunDelta::default(),
                batch,
            )))
            .await;
        }
    }

    fn signal_json(&self, signal: &Signal) -> Value {
        let subject = match &signal.subject {
            SignalSubject::Belief(id) => json!({ "belief": id.as_str() }),
            SignalSubject::Decision(id) => json!({ "decision": id.as_str() }),
            SignalSubject::ToolSequence => json!("tool_sequence"),
            SignalSubject::Action(id) => json!({ "action": id.as_str() }),
        };
        json!({
            "source": signal.source,
            "kind": signal.kind.as_str(),
            "severity": signal.severity.as_str(),
            "subject": subject,
            "detail": error_text(&self.context.firewall, &signal.detail),
        })
    }
}

/// The kinds of signals in a report, each with its severity and source.
fn signal_kinds(report: &SignalReport) -> BTreeSet<String> {
    let kind_of = |unscored: bool| {
        move |signal: &Signal| {
            let (kind, severity) = (signal.kind.as_str(), signal.severity.as_str());
            format!("{unscored}/{kind}/{severity}/{}", signal.source)
        }
    };
    let mut kinds: BTreeSet<String> = report.signals().iter().map(kind_of(false)).collect();
    kinds.extend(report.unrelated_signals().iter().map(kind_of(true)));
    kinds.extend(report.failures().iter().map(|failure| format!("failed/{}", failure.source)));
    kinds
}
