//! `[telemetry]`: messages, traces and metrics for operators.

use std::collections::BTreeMap;
use std::time::Duration;

use weaver_drivers::HttpPoster;
use weaver_policy::DocumentFinding;

use super::expansion::{ExpansionContext, expand_text};
use super::node::Node;

pub(super) const LOG_FORMATS: [(&str, LogFormat); 2] =
    [("text", LogFormat::Text), ("json", LogFormat::Json)];

/// The format of the gateway's messages, one per line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// A JSON object.
    Json,
}

/// Messages, traces and metrics for operators.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TelemetrySettings {
    /// The format of messages; `None` means text.
    pub log_format: Option<LogFormat>,
    /// The collector for traces and metrics; none by default.
    pub otlp: Option<OtlpSettings>,
}

/// A collector that accepts OTLP over HTTP.
#[derive(Clone, PartialEq, Eq)]
pub struct OtlpSettings {
    /// Its URL, without `/v1/traces`.
    pub endpoint: String,
    /// Headers of each request. They may be secret.
    pub headers: BTreeMap<String, String>,
    /// Attributes of the gateway in all that is sent, beside those that it has anyway.
    pub attributes: BTreeMap<String, String>,
    /// How often metrics are sent.
    pub interval: Duration,
}

impl std::fmt::Debug for OtlpSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Otlp")
            .field("endpoint", &self.endpoint)
            .field("headers", &self.headers.keys())
            .field("attributes", &self.attributes)
            .field("interval", &self.interval)
            .finish()
    }
}

/// Parses the section.
pub(super) fn read(
    node: Option<&Node>,
    context: &ExpansionContext<'_>,
    findings: &mut Vec<DocumentFinding>,
) -> TelemetrySettings {
    let get = |name: &str| node?.get(name);
    TelemetrySettings {
        log_format: get("log_format").and_then(|node| node.word(&LOG_FORMATS)),
        otlp: get("otlp").and_then(|node| read_otlp(node, context, findings)),
    }
}

fn read_otlp(
    node: &Node,
    context: &ExpansionContext<'_>,
    findings: &mut Vec<DocumentFinding>,
) -> Option<OtlpSettings> {
    let Some(named) = node.get("endpoint") else {
        let remedy = "write `endpoint = \"http://127.0.0.1:4318\"`";
        findings.push(node.finding("config.missing_key", "`endpoint` is missing", remedy));
        return None;
    };
    let endpoint = expand_text(named, context, findings)?.trim_end_matches('/').to_owned();
    if let Err(error) = HttpPoster::check(&endpoint) {
        let remedy = "write `https://…`, or an `http://` address of this machine";
        findings.push(named.finding("config.url", error.to_string(), remedy));
        return None;
    }
    let headers = node.get("headers").map(|node| read_headers(node, context, findings));
    let attributes = node.get("attributes").map(|node| read_attributes(node, context, findings));
    let interval = node.get("interval_s").and_then(Node::integer);
    Some(OtlpSettings {
        endpoint,
        headers: headers.unwrap_or_default(),
        attributes: attributes.unwrap_or_default(),
        interval: Duration::from_secs(interval.unwrap_or(60)),
    })
}

fn read_attributes(
    node: &Node,
    context: &ExpansionContext<'_>,
    findings: &mut Vec<DocumentFinding>,
) -> BTreeMap<String, String> {
    let mut attributes = BTreeMap::new();
    for (name, node) in node.table().into_iter().flatten() {
        let Some(value) = expand_text(node, context, findings) else { continue };
        if name.is_empty() || name.chars().any(char::is_control) {
            let remedy = "write a name such as `deployment.environment.name`";
            findings.push(node.finding("config.name", "this cannot be an attribute", remedy));
            continue;
        }
        attributes.insert(name.clone(), value);
    }
    attributes
}

fn read_headers(
    node: &Node,
    context: &ExpansionContext<'_>,
    findings: &mut Vec<DocumentFinding>,
) -> BTreeMap<String, String> {
    let mut headers = BTreeMap::new();
    for (name, node) in node.table().into_iter().flatten() {
        let Some(value) = expand_text(node, context, findings) else { continue };
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if !name.bytes().all(legal) || value.chars().any(char::is_control) {
            let remedy = "use letters, digits, `-` and `_` in the name, and no line breaks";
            findings.push(node.finding("config.header", "this cannot be a header", remedy));
            continue;
        }
        headers.insert(name.clone(), value);
    }
    headers
}
