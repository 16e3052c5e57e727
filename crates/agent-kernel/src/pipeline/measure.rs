//! Measuring grants and invocations for telemetry.

use std::time::Duration;

use weaver_types::{CapabilityId, Decision, ResponseMode, Timestamp, Verdict};

use crate::caller::Caller;
use crate::invocation::Invocation;
use crate::kernel::Kernel;
use crate::telemetry::{Operation, Report};

/// Has a kernel report to OpenTelemetry's global providers, as they are at this moment. True when
/// that begins now; false when it was so before, and in a build without the feature `otel`, where it
/// does nothing.
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
    kernel.telemetry.begin()
}

/// Measures an operation from its beginning; one that is dropped before its end was abandoned.
pub(crate) struct Measure<'a> {
    kernel: &'a Kernel,
    operation: Operation,
    caller: Caller<'a>,
    mode: ResponseMode,
    begun: Option<(Timestamp, Duration)>,
    capability: Option<CapabilityId>,
}

impl<'a> Measure<'a> {
    pub(crate) fn begin(
        kernel: &'a Kernel,
        operation: Operation,
        caller: Caller<'a>,
        mode: ResponseMode,
    ) -> Self {
        let measured = kernel.telemetry.is_on() && !caller.run.dry_run;
        let begun = measured.then(|| (kernel.now(), kernel.clock.monotonic()));
        Self { kernel, operation, caller, mode, begun, capability: None }
    }

    /// What it is about, as soon as that is known.
    pub(crate) fn about(&mut self, capability: &CapabilityId) {
        if self.begun.is_some() {
            self.capability = Some(capability.clone());
        }
    }

    /// The end of a grant.
    pub(crate) fn granted(mut self, decision: &Decision, call: &str) {
        self.end(word(decision.verdict()), Some(decision), Some(call), None);
    }

    /// The end of an invocation.
    pub(crate) fn invoked(mut self, done: &Invocation) {
        let result = done.result.as_ref();
        if self.begun.is_some() && self.capability.is_none() {
            // A token that did not count: what the refusal names.
            self.capability = result.map(|result| result.tool_id.clone());
        }
        let status = match result {
            Some(result) if result.success => "ok",
            Some(_) if done.decision.allowed() => "error",
            _ => word(done.decision.verdict()),
        };
        let failure =
            (status == "error").then(|| self.kernel.remembered(&done.call)?.failure).flatten();
        let reason = failure.map(weaver_types::ReasonCode::as_str);
        self.end(status, Some(&done.decision), Some(done.call.as_str()), reason);
    }

    fn end(
        &mut self,
        status: &'static str,
        decision: Option<&Decision>,
        call: Option<&str>,
        reason: Option<&'static str>,
    ) {
        let Some((started_at, begun)) = self.begun.take() else { return };
        let Some(capability) = self.capability.take() else { return };
        let known = self.kernel.registry.get(&capability);
        let emit = known.map(|entry| entry.capability().spec().emit);
        self.kernel.telemetry.report(&Report {
            operation: self.operation,
            caller: self.caller,
            capability: &capability,
            call,
            mode: self.mode,
            status,
            reason: reason.or_else(|| decision.map(|decision| decision.primary().as_str())),
            stopped: decision.is_some_and(|decision| !decision.allowed()),
            started_at,
            took: self.kernel.clock.monotonic().saturating_sub(begun),
            emit: emit.unwrap_or(weaver_types::Emit { trace: true, metric: true }),
        });
    }
}

impl Drop for Measure<'_> {
    fn drop(&mut self) {
        self.end("abandoned", None, None, None);
    }
}

fn word(verdict: Verdict) -> &'static str {
    if verdict == Verdict::Allow { "ok" } else { verdict.as_str() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_allowed_is_ok_and_anything_else_is_called_by_its_verdict() {
        let words = [Verdict::Allow, Verdict::Ask, Verdict::Hold, Verdict::Deny].map(word);
        assert_eq!(words, ["ok", "ask", "hold", "deny"]);
    }
}
