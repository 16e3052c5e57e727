//! A request before it is sent, and what every request of the modern era says beside its parameters.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};
use serde_json::{Map, Value, json};

use super::call_timer::CallTimer;
use super::client_features::ClientFeatures;
use super::config::{Era, MODERN_VERSION, UpstreamConfig};
use super::notification::LogLevel;
use super::pending_requests::LateSink;

/// Where a request of the modern era says what its client can do.
pub(crate) const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// A request before it has an id.
pub(crate) struct Ask<'a> {
    pub(crate) method: &'static str,
    pub(crate) name: Option<&'a str>,
    pub(crate) params: Map<String, Value>,
    pub(crate) era: Era,
    pub(crate) limit: Duration,
    /// Under which token the server tells how far it is.
    pub(crate) progress: Option<u64>,
    /// Told of an answer that comes after the caller has gone.
    pub(crate) late: Option<LateSink>,
    /// The headers that repeat arguments, over HTTP.
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    /// Who answers what the server asks in it.
    pub(crate) client: Option<Arc<dyn ClientFeatures>>,
    /// What its limit runs on.
    pub(crate) timer: Option<CallTimer>,
}

impl Ask<'_> {
    /// A request without parameters, of which nothing is told before its answer.
    pub(crate) fn new(method: &'static str, era: Era, limit: Duration) -> Self {
        Self {
            method,
            name: None,
            params: Map::new(),
            era,
            limit,
            progress: None,
            late: None,
            headers: Vec::new(),
            client: None,
            timer: None,
        }
    }
}

/// What this client says of itself.
pub(crate) fn client_info(config: &UpstreamConfig) -> Value {
    json!({"name": config.client_name, "version": config.client_version})
}

/// The request of the modern era to be told of changes.
pub(super) fn subscription(params: Map<String, Value>) -> Ask<'static> {
    Ask { params, ..Ask::new("subscriptions/listen", Era::Modern, Duration::ZERO) }
}

/// What each request of the modern era says: version, client, capabilities, and from which level on
/// log messages are wanted.
pub(super) fn introduce(
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
