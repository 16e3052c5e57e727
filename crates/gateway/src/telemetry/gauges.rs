//! Collects all metrics of a gateway into one snapshot.

use super::family::{MetricFamily, MetricKind, SampleValue};
use super::{EventCounter, Measurements, Telemetry};
use crate::serve::ServerStatus;

/// All metrics of a gateway in the state `status`.
pub(crate) fn gather(
    telemetry: &Telemetry,
    status: &ServerStatus,
    measured: &Measurements,
) -> Vec<MetricFamily> {
    let mut families = state_metrics(status);
    families.extend(measured.families());
    families.extend(telemetry.calls.families());
    families.extend(counter_metrics(telemetry));
    families.push(build_info());
    let started = u64::try_from(telemetry.started_at.micros() / 1_000_000).unwrap_or_default();
    let names = ["weaver_start_time_seconds", "weaver.start_time", "s"];
    let help = "When the gateway began, in seconds since 1970.";
    families.push(MetricFamily::new(MetricKind::Gauge, names, help).only(started));
    families
}

fn state_metrics(status: &ServerStatus) -> Vec<MetricFamily> {
    let gauge = |names, help, count: usize| {
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        MetricFamily::new(MetricKind::Gauge, names, help).only(count)
    };
    let open_requests = status.sessions.iter().map(|session| session.requests).sum();
    let unavailable = status.servers.values().filter(|server| !server.is_ready()).count();
    let mut families = vec![
        gauge(
            ["weaver_sessions", "weaver.sessions", "{session}"],
            "Sessions of clients that are open.",
            status.sessions.len(),
        ),
        gauge(
            ["weaver_requests_under_way", "weaver.requests.under_way", "{request}"],
            "Requests that are not answered yet.",
            open_requests,
        ),
        gauge(
            ["weaver_servers", "weaver.servers", "{server}"],
            "Servers that are configured.",
            status.servers.len(),
        ),
        gauge(
            ["weaver_servers_away", "weaver.servers.away", "{server}"],
            "Servers that cannot be used now.",
            unavailable,
        ),
        gauge(
            ["weaver_calls_held", "weaver.calls.held", "{call}"],
            "Calls that wait for an approval.",
            status.held,
        ),
        gauge(
            ["weaver_documents_refused", "weaver.documents.refused", "1"],
            "1 if the documents on disk were refused and older ones are in force, else 0.",
            usize::from(status.refused_documents.is_some()),
        ),
        gauge(
            ["weaver_configuration_refused", "weaver.configuration.refused", "1"],
            "1 if the configuration on disk cannot be used and an older one is in force, else 0.",
            usize::from(status.refused_configuration.is_some()),
        ),
    ];
    families.extend(server_metrics(status));
    families
}

fn server_metrics(status: &ServerStatus) -> [MetricFamily; 2] {
    let names = ["weaver_server_ready", "weaver.server.ready", "1"];
    let help = "1 for a server whose tools can be called, 0 for one that is away.";
    let mut ready = MetricFamily::new(MetricKind::Gauge, names, help);
    let names = ["weaver_server_changed_tools", "weaver.server.changed_tools", "{tool}"];
    let help = "Tools that are shown to nobody, since their server describes them otherwise than was \
                approved.";
    let mut changed = MetricFamily::new(MetricKind::Gauge, names, help);
    for (name, server) in &status.servers {
        let labels = [("server", name.as_str())];
        ready = ready.with(&labels, SampleValue::Number(u64::from(server.is_ready())));
        let tools = u64::try_from(server.changed_tools).unwrap_or(u64::MAX);
        changed = changed.with(&labels, SampleValue::Number(tools));
    }
    [ready, changed]
}

fn counter_metrics(telemetry: &Telemetry) -> [MetricFamily; 5] {
    let counter = |names, help, events: &EventCounter| {
        MetricFamily::new(MetricKind::Counter, names, help).only(events.get())
    };
    let (http, export) = (&telemetry.http, &telemetry.export);
    [
        counter(
            ["weaver_http_requests_total", "weaver.http.requests", "{request}"],
            "HTTP requests.",
            &http.requests,
        ),
        http_refusals(telemetry),
        counter(
            ["weaver_http_messages_total", "weaver.http.messages", "{message}"],
            "MCP messages over HTTP.",
            &http.messages,
        ),
        counter(
            ["weaver_otlp_spans_dropped_total", "weaver.otlp.spans_dropped", "{span}"],
            "Spans that a slow or absent collector did not get.",
            &export.spans_dropped,
        ),
        counter(
            ["weaver_otlp_failures_total", "weaver.otlp.failures", "{request}"],
            "Exports that the collector did not take.",
            &export.failures,
        ),
    ]
}

fn http_refusals(telemetry: &Telemetry) -> MetricFamily {
    let names = ["weaver_http_refused_total", "weaver.http.refused", "{request}"];
    let help = "HTTP requests that were refused before they were processed.";
    let family = MetricFamily::new(MetricKind::Counter, names, help);
    telemetry.http.refused.all().fold(family, |family, (reason, count)| {
        family.with(&[("reason", reason.as_str())], SampleValue::Number(count))
    })
}

fn build_info() -> MetricFamily {
    let names = ["weaver_build_info", "weaver.build_info", "1"];
    let help = "1, with the version of the program.";
    let labels = [("version", env!("CARGO_PKG_VERSION"))];
    MetricFamily::new(MetricKind::Gauge, names, help).with(&labels, SampleValue::Number(1))
}
