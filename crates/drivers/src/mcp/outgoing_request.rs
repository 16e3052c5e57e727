//! A request before it is sent, and the `_meta` fields that every request of the modern era carries.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};
use serde_json::{Map, Value, json};

use super::call_timer::CallTimer;
use super::client_features::ClientFeatures;
use super::config::{Era, MODERN_VERSION, UpstreamConfig};
use super::notification::LogLevel;
use super::pending_requests::LateSink;

/// The `_meta` field in which a request of the modern era declares the client's capabilities.
pub(crate) const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// A request that has no id yet.
pub(crate) struct OutgoingRequest<'a> {
    pub(crate) method: &'static str,
    pub(crate) name: Option<&'a str>,
    pub(crate) params: Map<String, Value>,
    pub(crate) era: Era,
    pub(crate) timeout: Duration,
    /// The token under which the server reports progress.
    pub(crate) progress_token: Option<u64>,
    /// Receives an answer that arrives after the caller has given up.
    pub(crate) late_sink: Option<LateSink>,
    /// The HTTP headers that repeat arguments.
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    /// Answers what the server asks while it handles this request.
    pub(crate) client: Option<Arc<dyn ClientFeatures>>,
    /// The timer on which the time limit runs; without one the limit never pauses.
    pub(crate) timer: Option<CallTimer>,
}

impl OutgoingRequest<'_> {
    /// A request without parameters and without progress reports.
    pub(crate) fn new(method: &'static str, era: Era, timeout: Duration) -> Self {
        Self {
            method,
            name: None,
            params: Map::new(),
            era,
            timeout,
            progress_token: None,
            late_sink: None,
            headers: Vec::new(),
            client: None,
            timer: None,
        }
    }
}

/// The `clientInfo` object of this client.
pub(crate) fn client_info(config: &UpstreamConfig) -> Value {
    json!({"name": config.client_name, "version": config.client_version})
}

/// The request of the modern era that subscribes to notifications.
pub(super) fn listen_request(params: Map<String, Value>) -> OutgoingRequest<'static> {
    OutgoingRequest {
        params,
        ..OutgoingRequest::new("subscriptions/listen", Era::Modern, Duration::ZERO)
    }
}

/// Adds what each request of the modern era must carry: protocol version, client info, capabilities, and the lowest
/// level of log messages wanted.
pub(super) fn add_modern_meta(
    config: &UpstreamConfig,
    level: Option<LogLevel>,
    meta: &mut Map<String, Value>,
) {
    let key = |name: &str| format!("io.modelcontextprotocol/{name}");
    let offered = || Value::Object(config.client_capabilities.clone());
    meta.entry(CLIENT_CAPABILITIES).or_insert_with(offered);
    meta.insert(key("protocolVersion"), Value::from(MODERN_VERSION));
    meta.insert(key("clientInfo"), client_info(config));
    if let Some(level) = level {
        meta.entry(key("logLevel")).or_insert_with(|| Value::from(level.as_str()));
    }
}
