//! Measures grants and invocations for telemetry.

use std::time::Duration;

use weaver_types::{CapabilityId, Decision, ResponseMode, Timestamp, Verdict};

use crate::caller::Caller;
use crate::invocation::Invocation;
use crate::kernel::Kernel;
use crate::recorder::RunRecorder;
use crate::telemetry::{Operation, OperationReport};

/// Makes a kernel report to the global OpenTelemetry providers as they are now. True when reporting
/// starts with this call; false when it was on already, and in a build without the feature `otel`,
/// where this does nothing.
///
/// | what | kind | attributes |
/// |---|---|---|
/// | `weaver_kernel.invoke`, `weaver_kernel.grant` | span | below |
/// | `weaver_kernel.invocations` | counter | `capability_id`, `status` |
/// | `weaver_kernel.invocation_duration` | histogram, ms | `capability_id`, `status` |
/// | `weaver_kernel.policy_denials` | counter | `capability_id`, `reason_code` |
///
/// Attributes of spans, each behind `weaver_kernel.`: `capability_id`, `principal_id`, `run_id`,
/// `call_id`, `response_mode`, `status` (`ok`, `error`, `ask`, `hold`, `deny`, `abandoned`) and
/// `reason_code`. A span belongs to the span that is active; where none is, to the trace whose id is
/// the run's. A dry run reports nothing. What a capability says with `emit_trace` and `emit_metric`
/// is kept to. Arguments, results and goals never appear.
pub fn instrument(kernel: &Kernel) -> bool {
    kernel.recorder.telemetry.enable()
}

/// Measures an operation from its start. Dropping it before its end reports it as abandoned.
pub(crate) struct OperationTimer<'a> {
    recorder: &'a RunRecorder,
    operation: Operation,
    caller: Caller<'a>,
    mode: ResponseMode,
    started_at: Option<(Timestamp, Duration)>,
    capability: Option<CapabilityId>,
}

impl<'a> OperationTimer<'a> {
    pub(crate) fn begin(
        recorder: &'a RunRecorder,
        operation: Operation,
        caller: Caller<'a>,
        mode: ResponseMode,
    ) -> Self {
        let measured = recorder.telemetry.is_on() && !caller.run.dry_run;
        let begun = measured.then(|| (recorder.context.now(), recorder.context.clock.monotonic()));
        Self { recorder, operation, caller, mode, started_at: begun, capability: None }
    }

    /// Sets the capability as soon as it is known.
    pub(crate) fn set_capability(&mut self, capability: &CapabilityId) {
        if self.started_at.is_some() {
            self.capability = Some(capability.clone());
        }
    }

    /// The end of a grant.
    pub(crate) fn finish_grant(mut self, decision: &Decision, call: &str) {
        self.report(verdict_status(decision.verdict()), Some(decision), Some(call), None);
    }

    /// The end of an invocation.
    pub(crate) fn finish_invocation(mut self, done: &Invocation) {
        let result = done.result.as_ref();
        if self.started_at.is_some() && self.capability.is_none() {
            // The token was refused: use the capability that the refusal names.
            self.capability = result.map(|result| result.tool_id.clone());
        }
        let status = match result {
            Some(result) if result.success => "ok",
            Some(_) if done.decision.is_allowed() => "error",
            _ => verdict_status(done.decision.verdict()),
        };
        let failure = (status == "error")
            .then(|| self.recorder.explanations.of(&done.call)?.failure)
            .flatten();
        let reason = failure.map(weaver_types::ReasonCode::as_str);
        self.report(status, Some(&done.decision), Some(done.call.as_str()), reason);
    }

    fn report(
        &mut self,
        status: &'static str,
        decision: Option<&Decision>,
        call: Option<&str>,
        reason: Option<&'static str>,
    ) {
        let Some((started_at, begun)) = self.started_at.take() else { return };
        let Some(capability) = self.capability.take() else { return };
        let known = self.recorder.context.registry.get(&capability);
        let emit = known.map(|entry| entry.capability().spec().emit);
        self.recorder.telemetry.report(&OperationReport {
            operation: self.operation,
            caller: self.caller,
            capability: &capability,
            call,
            mode: self.mode,
            status,
            reason: reason.or_else(|| decision.map(|decision| decision.primary_reason().as_str())),
            denied: decision.is_some_and(|decision| !decision.is_allowed()),
            started_at,
            duration: self.recorder.context.clock.monotonic().saturating_sub(begun),
            emit: emit.unwrap_or(weaver_types::TelemetrySettings { trace: true, metric: true }),
        });
    }
}

impl Drop for OperationTimer<'_> {
    fn drop(&mut self) {
        self.report("abandoned", None, None, None);
    }
}

fn verdict_status(verdict: Verdict) -> &'static str {
    if verdict == Verdict::Allow { "ok" } else { verdict.as_str() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_allowed_is_ok_and_anything_else_is_called_by_its_verdict() {
        let words =
            [Verdict::Allow, Verdict::Ask, Verdict::Hold, Verdict::Deny].map(verdict_status);
        assert_eq!(words, ["ok", "ask", "hold", "deny"]);
    }
}
