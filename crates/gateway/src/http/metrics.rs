//! Counters in the text format of Prometheus.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};

use super::HttpGateway;

/// What is counted over HTTP.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    requests: AtomicU64,
    refused: AtomicU64,
    messages: AtomicU64,
}

impl Metrics {
    pub(super) fn count_request(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_refusal(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_message(&self) {
        self.messages.fetch_add(1, Ordering::Relaxed);
    }
}

/// `/metrics`.
pub(super) async fn show(State(gateway): State<Arc<HttpGateway>>) -> Response {
    let status = gateway.server.status();
    let away = status.servers.values().filter(|problem| problem.is_some()).count();
    let under_way: usize = status.sessions.iter().map(|session| session.requests).sum();
    let counters = &gateway.metrics;
    let mut out = String::new();
    let mut show = |name: &str, kind: &str, help: &str, value: u64| {
        let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}");
    };
    let whole = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
    let counted = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    show(
        "weaver_sessions",
        "gauge",
        "Sessions of clients that are open.",
        whole(status.sessions.len()),
    );
    show(
        "weaver_requests_under_way",
        "gauge",
        "Requests that are not answered yet.",
        whole(under_way),
    );
    show("weaver_servers", "gauge", "Servers that are configured.", whole(status.servers.len()));
    show("weaver_servers_away", "gauge", "Servers that cannot be used now.", whole(away));
    show("weaver_calls_held", "gauge", "Calls that wait for an approval.", whole(status.held));
    show("weaver_http_requests_total", "counter", "HTTP requests.", counted(&counters.requests));
    show(
        "weaver_http_refused_total",
        "counter",
        "HTTP requests without a known host, origin or token.",
        counted(&counters.refused),
    );
    show(
        "weaver_http_messages_total",
        "counter",
        "MCP messages over HTTP.",
        counted(&counters.messages),
    );
    ([(CONTENT_TYPE, "text/plain; version=0.0.4")], out).into_response()
}
