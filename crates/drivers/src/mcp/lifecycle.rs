//! The handshake: which era and version both sides speak, and what the server says of itself.

use serde_json::{Map, Value, json};
use tokio::time::timeout;

use super::ask::{Ask, client_info};
use super::call::Reply;
use super::config::{Era, EraChoice, LEGACY_VERSION, LEGACY_VERSIONS, MODERN_VERSION};
use super::error::McpError;
use super::fault::{Fault, HttpFault};
use super::http::StreamState;
use super::server_list::ServerList;
use super::subscription::SubscriptionFilter;
use super::wire::Wire;
use crate::confine::EnforcedConfinement;
use crate::escape::escape;

/// Most of a server's list of versions that an error repeats.
const SHOWN_VERSIONS: usize = 200;

/// What the server said in the handshake. All text in it is untrusted.
#[derive(Debug, Clone)]
pub struct ServerInfo {
    era: Era,
    version: String,
    reply: Reply,
}

impl ServerInfo {
    /// The era that is spoken.
    #[must_use]
    pub fn era(&self) -> Era {
        self.era
    }

    /// The protocol version that is spoken.
    #[must_use]
    pub fn protocol_version(&self) -> &str {
        &self.version
    }

    /// The name that the server gives itself.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.implementation().get("name").and_then(Value::as_str)
    }

    /// The version that the server gives itself.
    #[must_use]
    pub fn server_version(&self) -> Option<&str> {
        self.implementation().get("version").and_then(Value::as_str)
    }

    /// The server's instructions to a model.
    #[must_use]
    pub fn instructions(&self) -> Option<&str> {
        self.reply.value().get("instructions").and_then(Value::as_str)
    }

    /// The handshake's result, whole.
    #[must_use]
    pub fn reply(&self) -> &Reply {
        &self.reply
    }

    /// Whether the server says that it has tools.
    #[must_use]
    pub fn has_tools(&self) -> bool {
        self.has(ServerList::Tools)
    }

    /// Whether the server says that it has such a list.
    #[must_use]
    pub fn has(&self, list: ServerList) -> bool {
        self.capability(list.capability()).is_some()
    }

    /// Whether the server says that it tells when the list changes.
    #[must_use]
    pub fn tells_changes_of(&self, list: ServerList) -> bool {
        let said = self.capability(list.capability()).and_then(|said| said.get("listChanged"));
        said == Some(&Value::Bool(true))
    }

    /// What the server says of one of its capabilities, such as `completions` or `logging`.
    #[must_use]
    pub fn capability(&self, name: &str) -> Option<&Value> {
        capabilities(&self.reply).get(name).filter(|said| !said.is_null())
    }

    fn implementation(&self) -> &Value {
        let value = self.reply.value();
        let modern = value.get("_meta").and_then(|m| m.get("io.modelcontextprotocol/serverInfo"));
        match self.era {
            Era::Legacy => value.get("serverInfo").unwrap_or(&Value::Null),
            Era::Modern => modern.unwrap_or(&Value::Null),
        }
    }
}

/// Speaks to a server that has just been reached, within the handshake's time. Nothing is said to a
/// child before its launcher told what is kept from it.
pub(crate) async fn handshake(
    wire: &Wire,
) -> Result<(Option<EnforcedConfinement>, ServerInfo), McpError> {
    let limit = wire.config.limits.initialize_timeout;
    let spoken = async {
        let enforced = wire.enforced().await?;
        let server = match wire.config.era {
            EraChoice::Legacy => initialize(wire).await,
            EraChoice::Modern => discover(wire).await,
            EraChoice::Auto => match initialize(wire).await {
                Err(refused) if speaks_other(&refused) => discover(wire).await.map_err(|_| refused),
                other => other,
            },
        };
        Ok((enforced, server?))
    };
    let late = |_| McpError::InitializeTimeout {
        upstream: wire.config.name.clone(),
        target: wire.config.target(),
        after: limit,
        stderr: wire.stderr(),
    };
    timeout(limit, spoken).await.map_err(late).and_then(|outcome| outcome)
}

/// Whether a refused `initialize` may mean that the server speaks the modern era only.
fn speaks_other(error: &McpError) -> bool {
    match error {
        McpError::Refused { .. } | McpError::UnsupportedVersion { .. } => true,
        McpError::Http { fault: HttpFault::Status(status), .. } => {
            matches!(status, 400 | 404 | 405 | 406)
        }
        _ => false,
    }
}

async fn initialize(wire: &Wire) -> Result<ServerInfo, McpError> {
    let params = json!({
        "protocolVersion": LEGACY_VERSION,
        "capabilities": wire.config.client_capabilities,
        "clientInfo": client_info(&wire.config),
    });
    let reply = ask(wire, "initialize", Era::Legacy, params).await?;
    let version = reply.value().get("protocolVersion").and_then(Value::as_str);
    let version = version.ok_or_else(|| wire.inbox.malformed(Fault::MissingField))?.to_owned();
    if !LEGACY_VERSIONS.contains(&version.as_str()) {
        return Err(unsupported(wire, LEGACY_VERSIONS.join(", "), &version));
    }
    wire.settle(Era::Legacy, &version);
    // A server may ask as soon as it hears that the client is ready: the stream comes first. One that
    // opens none before it has heard that is asked once more.
    let filter = SubscriptionFilter::of(capabilities(&reply));
    let stream = wire.open_stream(&filter).await;
    wire.notify("notifications/initialized").await?;
    if stream == StreamState::Refused {
        wire.open_stream(&filter).await;
    }
    Ok(ServerInfo { era: Era::Legacy, version, reply })
}

async fn discover(wire: &Wire) -> Result<ServerInfo, McpError> {
    wire.settle(Era::Modern, MODERN_VERSION);
    let reply = ask(wire, "server/discover", Era::Modern, json!({})).await?;
    let versions = reply.value().get("supportedVersions").and_then(Value::as_array);
    let versions = versions.ok_or_else(|| wire.inbox.malformed(Fault::MissingField))?;
    let mut offered = versions.iter().filter_map(Value::as_str);
    if !offered.any(|version| version == MODERN_VERSION) {
        let offered: Vec<&str> = versions.iter().filter_map(Value::as_str).take(16).collect();
        return Err(unsupported(wire, MODERN_VERSION.to_owned(), &offered.join(", ")));
    }
    wire.listen(SubscriptionFilter::of(capabilities(&reply))).await?;
    Ok(ServerInfo { era: Era::Modern, version: MODERN_VERSION.to_owned(), reply })
}

fn capabilities(reply: &Reply) -> &Value {
    reply.value().get("capabilities").unwrap_or(&Value::Null)
}

async fn ask(
    wire: &Wire,
    method: &'static str,
    era: Era,
    params: Value,
) -> Result<Reply, McpError> {
    let params = match params {
        Value::Object(params) => params,
        _ => Map::new(),
    };
    // The handshake as a whole has its own limit; this one never comes first.
    let limit = wire.config.limits.initialize_timeout.saturating_mul(2);
    let answer = wire.request(Ask { params, ..Ask::new(method, era, limit) }).await?;
    answer.map_err(|error| McpError::Refused { upstream: wire.config.name.clone(), method, error })
}

fn unsupported(wire: &Wire, spoken: String, offered: &str) -> McpError {
    let offered: String = escape(offered).chars().take(SHOWN_VERSIONS).collect();
    McpError::UnsupportedVersion { upstream: wire.config.name.clone(), spoken, offered }
}
