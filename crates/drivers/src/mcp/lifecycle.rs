//! The handshake: agrees on era and version, and reads the server's description of itself.

use serde_json::{Map, Value, json};
use tokio::time::timeout;

use super::call::Reply;
use super::config::{Era, EraChoice, LEGACY_VERSION, LEGACY_VERSIONS, MODERN_VERSION};
use super::error::{McpError, McpErrorKind};
use super::fault::{HttpFault, MessageFault};
use super::http::StreamState;
use super::outgoing_request::{OutgoingRequest, client_info};
use super::rpc_channel::RpcChannel;
use super::server_list::ServerList;
use super::subscription::SubscriptionFilter;
use crate::confine::EnforcedConfinement;
use crate::escape::escape;

/// Longest part of a server's version list that an error shows, in characters.
const MAX_VERSIONS_CHARS: usize = 200;

/// What the server said in the handshake. All text in it is untrusted.
#[derive(Debug, Clone)]
pub struct ServerInfo {
    era: Era,
    version: String,
    reply: Reply,
}

impl ServerInfo {
    /// The era that was agreed on.
    #[must_use]
    pub fn era(&self) -> Era {
        self.era
    }

    /// The protocol version that was agreed on.
    #[must_use]
    pub fn protocol_version(&self) -> &str {
        &self.version
    }

    /// The name that the server gives itself.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.implementation().get("name").and_then(Value::as_str)
    }

    /// The server's instructions to a model.
    #[must_use]
    pub fn instructions(&self) -> Option<&str> {
        self.reply.value().get("instructions").and_then(Value::as_str)
    }

    /// The complete result of the handshake.
    #[must_use]
    pub fn reply(&self) -> &Reply {
        &self.reply
    }

    /// Whether the server declares this list.
    #[must_use]
    pub fn has_list(&self, list: ServerList) -> bool {
        self.capability(list.capability()).is_some()
    }

    /// Whether the server announces changes of this list.
    #[must_use]
    pub fn announces_changes_of(&self, list: ServerList) -> bool {
        let capability =
            self.capability(list.capability()).and_then(|capability| capability.get("listChanged"));
        capability == Some(&Value::Bool(true))
    }

    /// The server's declaration of a capability, such as `completions` or `logging`.
    #[must_use]
    pub fn capability(&self, name: &str) -> Option<&Value> {
        capabilities(&self.reply).get(name).filter(|capability| !capability.is_null())
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

/// Performs the handshake within its time limit. Nothing is sent to a child before its launcher has reported the
/// confinement: a child that should be confined and is not gets no input.
pub(crate) async fn handshake(
    channel: &RpcChannel,
) -> Result<(Option<EnforcedConfinement>, ServerInfo), McpError> {
    let limit = channel.config.limits.initialize_timeout;
    let negotiated = async {
        let enforced = channel.enforced().await?;
        let server = match channel.config.era {
            EraChoice::Legacy => initialize(channel).await,
            EraChoice::Modern => discover(channel).await,
            EraChoice::Auto => match initialize(channel).await {
                Err(refused) if may_speak_modern(&refused) => {
                    discover(channel).await.map_err(|_| refused)
                }
                other => other,
            },
        };
        Ok((enforced, server?))
    };
    let timed_out = |_| {
        let (target, stderr) = (channel.config.target(), channel.stderr());
        channel.error(McpErrorKind::InitializeTimeout { target, after: limit, stderr })
    };
    timeout(limit, negotiated).await.map_err(timed_out).and_then(|outcome| outcome)
}

/// Whether a failed `initialize` may mean that the server speaks only the modern era.
fn may_speak_modern(error: &McpError) -> bool {
    match &error.kind {
        McpErrorKind::Refused { .. } | McpErrorKind::UnsupportedVersion { .. } => true,
        McpErrorKind::Http { fault: HttpFault::Status(status) } => {
            matches!(status, 400 | 404 | 405 | 406)
        }
        _ => false,
    }
}

async fn initialize(channel: &RpcChannel) -> Result<ServerInfo, McpError> {
    let params = json!({
        "protocolVersion": LEGACY_VERSION,
        "capabilities": channel.config.client_capabilities,
        "clientInfo": client_info(&channel.config),
    });
    let reply = handshake_request(channel, "initialize", Era::Legacy, params).await?;
    let version = reply.value().get("protocolVersion").and_then(Value::as_str);
    let version =
        version.ok_or_else(|| channel.inbox.malformed(MessageFault::MissingField))?.to_owned();
    if !LEGACY_VERSIONS.contains(&version.as_str()) {
        return Err(unsupported_version(channel, LEGACY_VERSIONS.join(", "), &version));
    }
    channel.set_negotiated(Era::Legacy, &version);
    // A server may send requests as soon as it knows that the client is ready, so the stream is opened first. A server
    // that refuses it before it has that notification is asked a second time.
    let filter = SubscriptionFilter::from_capabilities(capabilities(&reply));
    let stream = channel.open_notification_stream(&filter).await;
    channel.notify("notifications/initialized").await?;
    if stream == StreamState::Refused {
        channel.open_notification_stream(&filter).await;
    }
    Ok(ServerInfo { era: Era::Legacy, version, reply })
}

async fn discover(channel: &RpcChannel) -> Result<ServerInfo, McpError> {
    channel.set_negotiated(Era::Modern, MODERN_VERSION);
    let reply = handshake_request(channel, "server/discover", Era::Modern, json!({})).await?;
    let versions = reply.value().get("supportedVersions").and_then(Value::as_array);
    let versions = versions.ok_or_else(|| channel.inbox.malformed(MessageFault::MissingField))?;
    let mut offered = versions.iter().filter_map(Value::as_str);
    if !offered.any(|version| version == MODERN_VERSION) {
        let offered: Vec<&str> = versions.iter().filter_map(Value::as_str).take(16).collect();
        return Err(unsupported_version(channel, MODERN_VERSION.to_owned(), &offered.join(", ")));
    }
    channel.listen(SubscriptionFilter::from_capabilities(capabilities(&reply))).await?;
    Ok(ServerInfo { era: Era::Modern, version: MODERN_VERSION.to_owned(), reply })
}

fn capabilities(reply: &Reply) -> &Value {
    reply.value().get("capabilities").unwrap_or(&Value::Null)
}

async fn handshake_request(
    channel: &RpcChannel,
    method: &'static str,
    era: Era,
    params: Value,
) -> Result<Reply, McpError> {
    let params = match params {
        Value::Object(params) => params,
        _ => Map::new(),
    };
    // The handshake as a whole has its own limit, which always ends first.
    let limit = channel.config.limits.initialize_timeout.saturating_mul(2);
    let answer = channel
        .request(OutgoingRequest { params, ..OutgoingRequest::new(method, era, limit) })
        .await?;
    answer.map_err(|error| channel.error(McpErrorKind::Refused { method, error }))
}

fn unsupported_version(channel: &RpcChannel, spoken: String, offered: &str) -> McpError {
    let offered: String = escape(offered).chars().take(MAX_VERSIONS_CHARS).collect();
    channel.error(McpErrorKind::UnsupportedVersion { spoken, offered })
}
