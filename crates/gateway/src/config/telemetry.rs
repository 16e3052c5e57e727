//! `[telemetry]`: what operators see of a gateway that runs.

use std::collections::BTreeMap;
use std::time::Duration;

use weaver_drivers::Post;
use weaver_policy::Finding;

use super::expansion::{ExpansionContext, expanded};
use super::node::Node;

pub(super) const LOG_FORMATS: [(&str, LogFormat); 2] =
    [("text", LogFormat::Text), ("json", LogFormat::Json)];

/// How the messages of the gateway are written, one a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// A JSON object.
    Json,
}

/// What operators see of a gateway that runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Telemetry {
    /// How messages are written; as text unless it is set.
    pub log_format: Option<LogFormat>,
    /// Where traces and metrics go; nowhere unless it is set.
    pub otlp: Option<Otlp>,
}

/// A collector that takes traces and metrics by OTLP over HTTP.
#[derive(Clone, PartialEq, Eq)]
pub struct Otlp {
    /// Its address, without `/v1/traces`.
    pub endpoint: String,
    /// Headers of each request. They may be secret.
    pub headers: BTreeMap<String, String>,
    /// How often metrics are sent.
    pub interval: Duration,
}

impl std::fmt::Debug for Otlp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Otlp")
            .field("endpoint", &self.endpoint)
            .field("headers", &self.headers.keys())
            .field("interval", &self.interval)
            .finish()
    }
}

/// Reads the section.
pub(super) fn read(
    node: Option<&Node>,
    context: &ExpansionContext<'_>,
    out: &mut Vec<Finding>,
) -> Telemetry {
    let get = |name: &str| node?.get(name);
    Telemetry {
        log_format: get("log_format").and_then(|node| node.word(&LOG_FORMATS)),
        otlp: get("otlp").and_then(|node| collector(node, context, out)),
    }
}

fn collector(node: &Node, context: &ExpansionContext<'_>, out: &mut Vec<Finding>) -> Option<Otlp> {
    let Some(named) = node.get("endpoint") else {
        let remedy = "write `endpoint = \"http://127.0.0.1:4318\"`";
        out.push(node.finding("config.missing_key", "`endpoint` is missing", remedy));
        return None;
    };
    let endpoint = expanded(named, context, out)?.trim_end_matches('/').to_owned();
    if let Err(error) = Post::check(&endpoint) {
        let remedy = "write `https://…`, or an `http://` address of this machine";
        out.push(named.finding("config.url", error.to_string(), remedy));
        return None;
    }
    let headers = node.get("headers").map(|node| headers(node, context, out));
    let interval = node.get("interval_s").and_then(Node::whole);
    Some(Otlp {
        endpoint,
        headers: headers.unwrap_or_default(),
        interval: Duration::from_secs(interval.unwrap_or(60)),
    })
}

fn headers(
    node: &Node,
    context: &ExpansionContext<'_>,
    out: &mut Vec<Finding>,
) -> BTreeMap<String, String> {
    let mut headers = BTreeMap::new();
    for (name, node) in node.table().into_iter().flatten() {
        let Some(value) = expanded(node, context, out) else { continue };
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if !name.bytes().all(legal) || value.chars().any(char::is_control) {
            let remedy = "use letters, digits, `-` and `_` in the name, and no line breaks";
            out.push(node.finding("config.header", "this cannot be a header", remedy));
            continue;
        }
        headers.insert(name.clone(), value);
    }
    headers
}
