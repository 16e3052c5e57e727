//! Metrics of tool calls.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::call_trace::StageRecord;
use super::family::{MetricFamily, MetricKind, SampleValue};
use super::histogram::Histogram;

/// The most servers with series of their own. The configuration names the servers, and it can be
/// replaced while the gateway runs, so their number has to be bounded.
const MAX_SERVERS: usize = 512;
/// The label of all further servers.
const OTHER_SERVERS: &str = "other";

/// A stage of a call, by which its time is broken down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CallStage {
    /// Deciding on the call and recording the intended action.
    Decision,
    /// Waiting for a person's approval.
    Hold,
    /// From the start of the first attempt to the end of the last, including the pauses between.
    Execution,
    /// One request to the server.
    Server,
    /// Turning the result into what the client sees, and recording it.
    Firewall,
}

impl CallStage {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Decision => "decision",
            Self::Hold => "hold",
            Self::Execution => "execution",
            Self::Server => "server",
            Self::Firewall => "firewall",
        }
    }
}

/// A finished call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallReport {
    /// The configured name of the server; a word such as `tools` for calls that go to no server.
    pub(crate) server: String,
    /// The MCP method.
    pub(crate) method: &'static str,
    /// `ok`, `error`, or the verdict that stopped it.
    pub(crate) outcome: &'static str,
    /// The reason code of a call that did not succeed.
    pub(crate) reason: Option<&'static str>,
    pub(crate) call: String,
    pub(crate) run: String,
    pub(crate) principal: String,
    /// The request that made the call.
    pub(crate) request: RequestOrigin,
    /// The URI of the resource that the call reads, without secrets.
    pub(crate) resource_uri: Option<String>,
}

/// The client request that made a call, as traces describe it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RequestOrigin {
    /// The JSON-RPC id, as text.
    pub(crate) id: String,
    /// The MCP version of the request.
    pub(crate) protocol_version: Option<&'static str>,
    /// The MCP session over HTTP.
    pub(crate) session: Option<String>,
}

/// Counters and durations of calls.
#[derive(Debug, Default)]
pub(crate) struct CallMetrics(Mutex<CallTables>);

#[derive(Debug, Default)]
struct CallTables {
    calls: BTreeMap<String, BTreeMap<&'static str, u64>>,
    durations: BTreeMap<(String, &'static str), Histogram>,
    /// Durations of single requests to servers.
    attempts: BTreeMap<(String, &'static str), Histogram>,
    stages: BTreeMap<CallStage, Histogram>,
    reasons: BTreeMap<&'static str, u64>,
}

impl CallMetrics {
    pub(super) fn record(&self, report: &CallReport, stages: &[StageRecord], duration: Duration) {
        let mut tables = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let has_series = tables.calls.contains_key(&report.server);
        let has_room = has_series || tables.calls.len() < MAX_SERVERS;
        let server = if has_room { &report.server } else { OTHER_SERVERS };
        *tables.calls.entry(server.to_owned()).or_default().entry(report.outcome).or_default() += 1;
        tables.durations.entry((server.to_owned(), report.method)).or_default().record(duration);
        for attempt in stages.iter().filter(|stage| stage.kind == CallStage::Server) {
            let times = tables.attempts.entry((server.to_owned(), report.method)).or_default();
            times.record(attempt.duration());
        }
        for stage in stages {
            tables.stages.entry(stage.kind).or_default().record(stage.duration());
        }
        if let Some(reason) = report.reason {
            *tables.reasons.entry(reason).or_default() += 1;
        }
    }

    pub(super) fn families(&self) -> Vec<MetricFamily> {
        use MetricKind::{Counter, Histogram};

        let tables = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let names = ["weaver_calls_total", "weaver.calls", "{call}"];
        let mut calls = MetricFamily::new(Counter, names, "Calls, by server and how they ended.");
        for (server, outcomes) in &tables.calls {
            for (outcome, count) in outcomes {
                let labels = [("server", server.as_str()), ("outcome", outcome)];
                calls = calls.with(&labels, SampleValue::Number(*count));
            }
        }
        let names = ["weaver_call_duration_seconds", "mcp.server.operation.duration", "s"];
        let help = "How long calls took from the client's request to its answer.";
        let durations =
            with_method_histograms(MetricFamily::new(Histogram, names, help), &tables.durations);
        let names =
            ["weaver_server_request_duration_seconds", "mcp.client.operation.duration", "s"];
        let help = "How long servers took to answer single requests of calls.";
        let attempts =
            with_method_histograms(MetricFamily::new(Histogram, names, help), &tables.attempts);
        let names = ["weaver_call_stage_duration_seconds", "weaver.call.stage.duration", "s"];
        let help = "What the time of calls was spent on.";
        let mut stages = MetricFamily::new(Histogram, names, help);
        for (stage, times) in &tables.stages {
            let value = SampleValue::Histogram(Box::new(times.clone()));
            stages = stages.with(&[("stage", stage.as_str())], value);
        }
        let names = ["weaver_call_reasons_total", "weaver.call.reasons", "{call}"];
        let help = "Calls that did not go well, by the code of the reason.";
        let mut reasons = MetricFamily::new(Counter, names, help);
        for (reason, count) in &tables.reasons {
            reasons = reasons.with(&[("reason", reason)], SampleValue::Number(*count));
        }
        vec![calls, durations, attempts, stages, reasons]
    }
}

/// Adds the histograms by server and method to the metric.
fn with_method_histograms(
    family: MetricFamily,
    measured: &BTreeMap<(String, &'static str), Histogram>,
) -> MetricFamily {
    measured.iter().fold(family, |family, ((server, method), times)| {
        let value = SampleValue::Histogram(Box::new(times.clone()));
        family.with(&[("server", server), ("method", method)], value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn further_servers_share_one_series() {
        let metrics = CallMetrics::default();
        for number in 0..=MAX_SERVERS + 3 {
            let report = CallReport {
                server: format!("s{number}"),
                method: "tools/call",
                outcome: "ok",
                reason: None,
                call: String::new(),
                run: String::new(),
                principal: String::new(),
                request: RequestOrigin::default(),
                resource_uri: None,
            };
            metrics.record(&report, &[], Duration::ZERO);
        }
        let families = metrics.families();
        assert_eq!(families[0].samples.len(), MAX_SERVERS + 1);
        let other =
            families[0].samples.iter().find(|sample| sample.labels[0].1 == OTHER_SERVERS).unwrap();
        assert_eq!(other.value, SampleValue::Number(4));
    }
}
