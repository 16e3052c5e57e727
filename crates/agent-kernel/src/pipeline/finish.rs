//! Finishing: store, firewall, label, charge, record the outcome.

use std::time::Duration;

use serde_json::json;
use weaver_firewall::{FrameSpec, handle};
use weaver_types::ledger::{Batch, Durability, Namespace, Put, RecordKey};
use weaver_types::{
    EventKind, Frame, Label, RawResult, ReasonCode, ResponseMode, SafetyMode, Status,
    ToolErrorCode, ToolResult, Warning,
};

use super::attempt::Attempted;
use super::invoke::Ready;
use super::refuse::span_id;
use super::{Explanation, Invocation};
use crate::driver::DriverError;
use crate::kernel::Kernel;
use crate::record::{Payload, error_text};
use crate::run_state::{RunDelta, RunSlot};

/// The role that is exempt from a capability's own list of allowed fields.
const PII_READER: &str = "pii_reader";

/// How a call ended, before it is recorded.
struct Ended {
    result: ToolResult<Frame>,
    kind: EventKind,
    failure: Option<ReasonCode>,
    put: Option<Put>,
    shown: Option<Label>,
}

impl Kernel {
    /// Executes a committed call and records its end. From here on nothing is refused any more.
    pub(crate) async fn run_to_end(&self, ready: Ready<'_>, slot: RunSlot) -> Invocation {
        let Attempted { result, retries, spent } = self.attempt(&ready).await;
        let mut ended = match result {
            Ok(raw) => self.shown(&ready, &raw),
            Err(error) => self.failed(&ready, &error),
        };
        ended.result.retries = retries;
        ended.result.latency_us = micros(spent);
        ended.result.trace_id = ready.caller.run.trace_id.clone();
        ended.result.span_id = span_id(&ready.call);
        if let Err(problem) = self.record_end(&ready, &slot, &ended).await {
            // The effect has happened and its end is not in the log: it reads "outcome unknown"
            // there, and the caller is told the same.
            ended.failure = Some(ReasonCode::OutcomeUnknown);
            ended.result = ToolResult::error(
                ready.call.clone(),
                ready.target.capability.id().clone(),
                ToolErrorCode::Unexpected,
                format!(
                    "{}: the call was executed, but its end could not be recorded: {problem}",
                    ReasonCode::OutcomeUnknown
                ),
            );
        }
        self.remember(Explanation {
            call: ready.call.clone(),
            principal: ready.caller.principal.id.clone(),
            capability: ready.target.capability.id().clone(),
            decision: ready.decision.clone(),
            failure: ended.failure,
        });
        Invocation { call: ready.call, decision: ready.decision, result: Some(ended.result) }
    }

    fn shown(&self, ready: &Ready<'_>, raw: &RawResult) -> Ended {
        let capability = &ready.target.capability;
        let mode = ready.effective_mode();
        let limits = ready.limits();
        let pii_reader = ready.caller.principal.has_role(PII_READER);
        let label = frame_label(ready, mode);
        let now = self.clock.now();
        let stored = if mode == ResponseMode::Raw {
            None
        } else {
            let grant = handle::HandleGrant {
                tenant: &self.settings.tenant,
                principal: &ready.caller.principal.id,
                run: &ready.caller.run.run_id,
                call: &ready.call,
                capability,
                constraints: &limits,
                pii_reader,
                label: &label,
                now,
            };
            Some(handle::store(raw, grant, self.blobs.as_ref(), self.random.as_ref()))
        };
        let unstored = matches!(stored, Some(Err(_)));
        let stored = stored.and_then(Result::ok);
        let mut frame = self.firewall.frame(
            raw,
            &FrameSpec {
                call: &ready.call,
                capability,
                mode,
                budget: self.settings.frame_budget,
                constraints: &limits,
                pii_reader,
                handle: stored.as_ref().map(|stored| stored.handle.clone()),
                label,
                now,
                strict: ready.caller.run.settings.safety_mode == SafetyMode::Strict,
            },
        );
        if unstored {
            frame.warnings.push(Warning { kind: "not_stored".to_owned(), count: 1 });
        }
        let shown = Some(frame.label.clone());
        let failed = frame.status == Status::Error;
        let id = capability.id().clone();
        let mut result = ToolResult::ok(ready.call.clone(), id, frame);
        if failed {
            result.success = false;
            result.error_code = Some(ToolErrorCode::Unexpected);
            result.error_message =
                "the tool reports an error; what it says is in the data".to_owned();
        }
        let failure = failed.then_some(ReasonCode::ExecutionFailed);
        Ended {
            result,
            kind: EventKind::Outcome,
            failure,
            put: stored.map(|stored| stored.put),
            shown,
        }
    }

    fn failed(&self, ready: &Ready<'_>, error: &DriverError) -> Ended {
        let spec = ready.target.capability.spec();
        // Whether a write that timed out or lost its server has happened is unknown.
        let unknown = error.is_ambiguous() && spec.effects.writes() && !spec.idempotent;
        let (kind, reason) = match error {
            _ if unknown => (EventKind::OutcomeUnknown, ReasonCode::OutcomeUnknown),
            DriverError::Timeout(_) => (EventKind::Outcome, ReasonCode::Timeout),
            DriverError::Unavailable(_) => (EventKind::Outcome, ReasonCode::UpstreamUnavailable),
            _ => (EventKind::Outcome, ReasonCode::ExecutionFailed),
        };
        let code = match error {
            DriverError::NotFound(_) => ToolErrorCode::NotFound,
            DriverError::Invalid(_) => ToolErrorCode::ValidationError,
            DriverError::Timeout(_) => ToolErrorCode::Timeout,
            DriverError::Network(_) | DriverError::Unavailable(_) | DriverError::Lost(_) => {
                ToolErrorCode::NetworkError
            }
            DriverError::RateLimited(_) => ToolErrorCode::RateLimited,
            DriverError::Failed(_) => ToolErrorCode::Unexpected,
        };
        let message = format!("{reason}: {}", error_text(&self.firewall, &error.to_string()));
        let id = ready.target.capability.id().clone();
        let result = ToolResult::error(ready.call.clone(), id, code, message);
        let shown = unknown.then(|| spec.output_label.clone().tainted_by(&ready.call));
        Ended { result, kind, failure: Some(reason), put: None, shown }
    }

    async fn record_end(
        &self,
        ready: &Ready<'_>,
        slot: &RunSlot,
        ended: &Ended,
    ) -> Result<(), String> {
        let delta = RunDelta {
            latency_us: ended.result.latency_us,
            label: ended.shown.clone(),
            ..RunDelta::default()
        };
        let frame = ended.result.data.as_ref();
        let event = Payload::new()
            .who(ready.caller.principal)
            .with("capability", json!(ready.target.capability.id()))
            .with("success", json!(ended.result.success))
            .maybe("error", ended.result.error_code.map(|code| json!(code)))
            .maybe(
                "error_message",
                (!ended.result.error_message.is_empty()).then(|| json!(ended.result.error_message)),
            )
            .maybe("reason", ended.failure.map(|reason| json!(reason)))
            .with("retries", json!(ended.result.retries))
            .with("latency_us", json!(ended.result.latency_us))
            .maybe("frame", frame.map(frame_digest))
            .run(&delta)
            .event(ended.kind, self.clock.now(), &ready.caller.run.run_id, Some(&ready.call))
            .ok_or_else(|| "the outcome has no recordable form".to_owned())?;
        let mut batch = Batch::new(Durability::Os).with_event(event);
        batch.put.extend(ended.put.clone());
        batch.delete.push(RecordKey::new(
            self.settings.tenant.clone(),
            Namespace::OpenCall,
            ready.call.as_str(),
        ));
        let ticket =
            self.step(ready.caller, slot, &delta, batch).map_err(|error| error.to_string())?;
        ticket.await.map(|_| ()).map_err(|error| error.to_string())
    }
}

/// What the log keeps of a frame: how much was shown and what was hidden, not the content.
fn frame_digest(frame: &Frame) -> serde_json::Value {
    json!({
        "mode": frame.mode,
        "status": frame.status,
        "facts": frame.facts.len(),
        "rows": frame.table.len(),
        "warnings": frame.warnings,
        "handle": frame.handle.as_ref().map(|handle| &handle.handle_id),
        "label": frame.label,
    })
}

/// The label of what is shown: the contract's, at least that of the sensitive data in it.
fn frame_label(ready: &Ready<'_>, mode: ResponseMode) -> Label {
    let spec = ready.target.capability.spec();
    let floor = spec
        .sensitivity
        .iter()
        .map(|tag| if mode == ResponseMode::Raw { tag.stored() } else { tag.framed() })
        .max();
    let mut label = spec.output_label.clone().tainted_by(&ready.call);
    label.confidentiality =
        floor.map_or(label.confidentiality, |floor| floor.max(label.confidentiality));
    label
}

fn micros(spent: Duration) -> u64 {
    u64::try_from(spent.as_micros()).unwrap_or(u64::MAX)
}
