//! Measuring a call, however it ends.

use std::sync::Arc;

use weaver_types::{CapabilityId, ToolErrorCode};

use super::call::{CallOutcome, CallRequest};
use super::client::Client;
use super::error::ServeError;
use super::server_feature::FeatureKind;
use crate::telemetry::{CallReport, CallTrace};

/// What stands for the server of a tool that has none.
const NO_SERVER: &str = "none";

/// A call that is measured. One that is dropped before its end was given up by its client.
pub(crate) struct MeasuredCall<'a> {
    client: &'a Client,
    trace: Arc<CallTrace>,
    report: CallReport,
}

impl<'a> MeasuredCall<'a> {
    pub(crate) fn begin(client: &'a Client, call: &CallRequest<'_>) -> Self {
        let id = &call.request.capability_id;
        let telemetry = &client.gateway.telemetry;
        let trace = telemetry.begin_call(id, call.options.trace_parent);
        let principal = client.principal().map(|principal| principal.id.to_string());
        let report = CallReport {
            server: server_of(client, id),
            method: method_of(id),
            outcome: "abandoned",
            reason: None,
            call: String::new(),
            run: String::new(),
            principal: principal.unwrap_or_default(),
        };
        Self { client, trace, report }
    }

    pub(crate) fn trace(&self) -> Arc<CallTrace> {
        Arc::clone(&self.trace)
    }

    pub(crate) fn end(mut self, done: &Result<CallOutcome, ServeError>) {
        match done {
            Ok(done) => self.take(done),
            Err(error) => {
                self.report.outcome = "error";
                self.report.reason = Some(error.code());
            }
        }
    }

    fn take(&mut self, done: &CallOutcome) {
        let invocation = &done.invocation;
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
}

impl Drop for MeasuredCall<'_> {
    fn drop(&mut self) {
        self.client.gateway.telemetry.end_call(&self.trace, &self.report);
    }
}

/// The server as the configuration names it. What a client asks for names no series by itself.
fn server_of(client: &Client, id: &CapabilityId) -> String {
    let gateway = &client.gateway;
    match gateway.upstreams.of(id.as_str()) {
        Some(entry) => entry.name.to_string(),
        None if gateway.registry.contains(id) => {
            id.as_str().split_once('.').map_or(NO_SERVER, |(space, _)| space).to_owned()
        }
        None => NO_SERVER.to_owned(),
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
