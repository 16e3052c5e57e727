//! Measures a call, however it ends.

use std::sync::Arc;

use weaver_agent_kernel::Invocation;
use weaver_types::{CapabilityId, ToolErrorCode};

use super::server_feature::FeatureKind;
use crate::telemetry::{CallReport, CallTrace, RequestOrigin, Telemetry, TraceParent};

/// A call being measured. If it is dropped before its end, it counts as abandoned by its client.
pub(crate) struct MeasuredCall {
    telemetry: Arc<Telemetry>,
    trace: Arc<CallTrace>,
    report: CallReport,
}

/// What is known of a call before it begins.
pub(crate) struct CallDetails<'a> {
    pub(crate) capability: &'a CapabilityId,
    /// The configured name of the server. Names that a client invents must not create metric
    /// series.
    pub(crate) server: String,
    pub(crate) principal: String,
    /// The trace context of the client.
    pub(crate) trace_parent: Option<TraceParent>,
    /// The request that makes it.
    pub(crate) request: RequestOrigin,
    /// The masked URI of the resource that it reads.
    pub(crate) resource_uri: Option<String>,
}

impl MeasuredCall {
    pub(crate) fn begin(telemetry: &Arc<Telemetry>, details: CallDetails<'_>) -> Self {
        let CallDetails { capability, server, principal, trace_parent, request, resource_uri } =
            details;
        let report = CallReport {
            server,
            method: method_of(capability),
            outcome: "abandoned",
            reason: None,
            call: String::new(),
            run: String::new(),
            principal,
            request,
            resource_uri,
        };
        let trace = telemetry.begin_call(capability, trace_parent);
        Self { telemetry: Arc::clone(telemetry), trace, report }
    }

    pub(crate) fn trace(&self) -> Arc<CallTrace> {
        Arc::clone(&self.trace)
    }

    /// Records the kernel's outcome.
    pub(crate) fn end(mut self, invocation: &Invocation) {
        let result = invocation.result.as_ref();
        let report = &mut self.report;
        report.call = invocation.call.to_string();
        report.run = result.map(|result| result.trace_id.clone()).unwrap_or_default();
        let decision = &invocation.decision;
        (report.outcome, report.reason) = match result {
            Some(result) if result.success => ("ok", None),
            _ if !decision.is_allowed() => {
                (decision.verdict().as_str(), Some(decision.primary_reason().as_str()))
            }
            Some(result) => ("error", result.error_code.map(error_word)),
            None => ("ok", None),
        };
    }

    /// Records that the gateway could not make the call.
    pub(crate) fn fail(mut self, code: &'static str) {
        (self.report.outcome, self.report.reason) = ("error", Some(code));
    }
}

impl Drop for MeasuredCall {
    fn drop(&mut self) {
        self.telemetry.end_call(&self.trace, &self.report);
    }
}

/// The metric label of a tool error.
fn error_word(code: ToolErrorCode) -> &'static str {
    match code {
        ToolErrorCode::NotFound => "not_found",
        ToolErrorCode::PermissionDenied => "permission_denied",
        ToolErrorCode::Timeout => "timeout",
        ToolErrorCode::ValidationError => "validation_error",
        ToolErrorCode::NetworkError => "network_error",
        ToolErrorCode::RateLimited => "rate_limited",
        ToolErrorCode::BudgetExceeded => "budget_exceeded",
        ToolErrorCode::Unexpected => "unexpected",
    }
}

fn method_of(id: &CapabilityId) -> &'static str {
    match FeatureKind::of(id) {
        FeatureKind::ResourceReading => "resources/read",
        FeatureKind::Prompt => "prompts/get",
        FeatureKind::Completion => "completion/complete",
        FeatureKind::Elicitation => "elicitation/create",
        FeatureKind::Sampling => "sampling/createMessage",
        FeatureKind::Tool => "tools/call",
    }
}
