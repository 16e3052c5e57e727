//! Measuring a call, however it ends.

use std::sync::Arc;

use weaver_agent_kernel::Invocation;
use weaver_types::{CapabilityId, ToolErrorCode};

use super::server_feature::FeatureKind;
use crate::telemetry::{CallReport, CallTrace, RequestOrigin, Telemetry, TraceParent};

/// A call that is measured. One that is dropped before its end was given up by its client.
pub(crate) struct MeasuredCall {
    telemetry: Arc<Telemetry>,
    trace: Arc<CallTrace>,
    report: CallReport,
}

/// What is known of a call before it begins.
pub(crate) struct CallOrigin<'a> {
    pub(crate) capability: &'a CapabilityId,
    /// The server as the configuration names it. What a client asks for names no series by itself.
    pub(crate) server: String,
    pub(crate) principal: String,
    /// The trace that its client is in.
    pub(crate) trace_parent: Option<TraceParent>,
    /// The request that makes it.
    pub(crate) request: RequestOrigin,
    /// The resource that it reads, without secrets.
    pub(crate) resource_uri: Option<String>,
}

impl MeasuredCall {
    pub(crate) fn begin(telemetry: &Arc<Telemetry>, origin: CallOrigin<'_>) -> Self {
        let CallOrigin { capability, server, principal, trace_parent, request, resource_uri } =
            origin;
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

    /// The kernel has answered.
    pub(crate) fn end(mut self, invocation: &Invocation) {
        let result = invocation.result.as_ref();
        let report = &mut self.report;
        report.call = invocation.call.to_string();
        report.run = result.map(|result| result.trace_id.clone()).unwrap_or_default();
        let decision = &invocation.decision;
        (report.outcome, report.reason) = match result {
            Some(result) if result.success => ("ok", None),
            _ if !decision.allowed() => {
                (decision.verdict().as_str(), Some(decision.primary().as_str()))
            }
            Some(result) => ("error", result.error_code.map(word_of)),
            None => ("ok", None),
        };
    }

    /// The gateway could not make the call.
    pub(crate) fn fail(mut self, code: &'static str) {
        (self.report.outcome, self.report.reason) = ("error", Some(code));
    }
}

impl Drop for MeasuredCall {
    fn drop(&mut self) {
        self.telemetry.end_call(&self.trace, &self.report);
    }
}

/// The word for an error of a tool.
fn word_of(code: ToolErrorCode) -> &'static str {
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
