//! Signals: what watches the runs is told of each finished call and asked before each decision.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::{Value, json};
use weaver_policy::signal::{
    Declaration, FinishedCall, ProposedCall, Signal, SignalError, SignalReport, Subject,
};
use weaver_types::ledger::{Batch, Durability};
use weaver_types::{CallId, Capability, CapabilityId, Effects, EventKind, Label, Operation, RunId};

use super::transition::Step;
use crate::cached_run::{RunSlot, lock};
use crate::caller::Caller;
use crate::kernel::Kernel;
use crate::record::{Payload, error_text};
use crate::run_state::RunDelta;

/// Under which name a failure of the watch itself stands.
const WATCH: &str = "watch";

/// A finished call, as the watch is told of it.
pub(crate) struct CompletedCall<'a> {
    pub(crate) run: &'a RunId,
    pub(crate) call: &'a CallId,
    pub(crate) capability: &'a CapabilityId,
    pub(crate) effects: Effects,
    pub(crate) label: &'a Label,
    pub(crate) operation: Operation,
}

impl Kernel {
    /// What the sources say about a call.
    pub(crate) fn signals(
        &self,
        run: &RunId,
        capability: &Capability,
        operation: Operation,
        finished: u64,
    ) -> SignalReport {
        if self.ports.signals.is_idle() {
            return SignalReport::none();
        }
        let declaration = Declaration::default();
        let call = ProposedCall { run, capability, operation, finished, declaration: &declaration };
        catch_unwind(AssertUnwindSafe(|| self.ports.signals.report(&call))).unwrap_or_else(|_| {
            let error = SignalError::Unavailable("a source panicked".to_owned());
            SignalReport::none().with_failure(WATCH, &error)
        })
    }

    /// Tells the sources of a finished call.
    pub(crate) fn observed(&self, slot: &RunSlot, over: &CompletedCall<'_>) {
        if self.ports.signals.is_idle() {
            return;
        }
        let Some(finished) = lock(slot).map(|mut run| run.finish()) else { return };
        let seen = FinishedCall {
            run: over.run,
            call: over.call,
            capability: over.capability,
            effects: over.effects,
            label: over.label,
            operation: over.operation,
            finished,
        };
        // What could not be noted leaves the book in disorder, and that speaks at every later call.
        let _ = catch_unwind(AssertUnwindSafe(|| self.ports.signals.observe(&seen)));
    }

    /// Records that signals were raised, once as long as no other sort of them is: another text that
    /// raises the same alarm is told by the decisions.
    pub(crate) async fn record_signals(
        &self,
        caller: Caller<'_>,
        call: &CallId,
        slot: Option<&RunSlot>,
        report: &SignalReport,
    ) {
        if self.ports.signals.is_idle() {
            return;
        }
        let Some(slot) = slot.filter(|_| !caller.run.dry_run) else { return };
        let anew = lock(slot).is_some_and(|mut run| run.tell(sorts(report)));
        if !anew {
            return;
        }
        let all = |signals: &[Signal]| {
            Value::Array(signals.iter().map(|signal| self.signal(signal)).collect())
        };
        let failed: Vec<Value> = report
            .failed()
            .iter()
            .map(|failure| {
                let message = error_text(&self.firewall, &failure.message);
                json!({ "source": failure.source, "code": failure.code, "message": message })
            })
            .collect();
        let event = Payload::new()
            .caller(caller, &self.firewall)
            .with("signals", all(report.signals()))
            .with("aside", all(report.aside()))
            .with("failed", Value::Array(failed))
            .with("more", json!(report.more()))
            .event(EventKind::SignalRaised, self.now(), &caller.run.run_id, Some(call));
        if let Some(event) = event {
            let batch = Batch::new(Durability::Os).with_event(event);
            // The decision names them too; a ledger that takes nothing denies the call anyway.
            let _ = Box::pin(self.step(Step::new(caller, slot, RunDelta::default(), batch))).await;
        }
    }

    fn signal(&self, signal: &Signal) -> Value {
        let subject = match &signal.subject {
            Subject::Belief(id) => json!({ "belief": id.as_str() }),
            Subject::Decision(id) => json!({ "decision": id.as_str() }),
            Subject::ToolSequence => json!("tool_sequence"),
            Subject::Action(id) => json!({ "action": id.as_str() }),
        };
        json!({
            "source": signal.source,
            "kind": signal.kind.as_str(),
            "severity": signal.severity.as_str(),
            "subject": subject,
            "detail": error_text(&self.firewall, &signal.detail),
        })
    }
}

/// The sorts of signals in a report, by source.
fn sorts(report: &SignalReport) -> BTreeSet<String> {
    let sort = |aside: bool| {
        move |signal: &Signal| {
            let (kind, severity) = (signal.kind.as_str(), signal.severity.as_str());
            format!("{aside}/{kind}/{severity}/{}", signal.source)
        }
    };
    let mut all: BTreeSet<String> = report.signals().iter().map(sort(false)).collect();
    all.extend(report.aside().iter().map(sort(true)));
    all.extend(report.failed().iter().map(|failure| format!("failed/{}", failure.source)));
    all
}
