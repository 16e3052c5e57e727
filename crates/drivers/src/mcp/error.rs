//! Errors between this client and an upstream server.

use std::time::Duration;

use serde_json::{Value, json};
use weaver_types::PrincipalId;

use super::code;
use super::fault::{HttpFault, MessageFault};
use super::server_list::ServerList;
use crate::confine::ConfineError;
use crate::oauth::OAuthError;

/// A JSON-RPC error as the server sent it. `message` and `data` are untrusted text.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RpcError {
    /// The JSON-RPC error code.
    pub code: i64,
    /// The server's message, empty when it sent none.
    pub message: String,
    /// The server's `data`, if any.
    pub data: Option<Value>,
}

impl RpcError {
    /// An error raised by this client.
    #[must_use]
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// The same, with data beside the message.
    #[must_use]
    pub fn with_data(self, data: Value) -> Self {
        Self { data: Some(data), ..self }
    }

    /// The error as JSON-RPC has it.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut body = json!({ "code": self.code, "message": self.message });
        if let (Some(data), Some(body)) = (&self.data, body.as_object_mut()) {
            body.insert("data".to_owned(), data.clone());
        }
        body
    }

    /// The answer to a method that this client does not offer.
    #[must_use]
    pub fn method_not_found() -> Self {
        Self::new(code::METHOD_NOT_FOUND, "this client does not offer the method")
    }

    /// The answer to a server's request that nobody answered.
    pub(crate) fn unanswered() -> Self {
        Self::new(code::INTERNAL, "nobody answered the request")
    }
}

/// Says how to log in, if that would help. Whoever is not the gateway's own principal commonly has no
/// access to its machine.
fn login_hint(error: &OAuthError, upstream: &str, principal: Option<&PrincipalId>) -> String {
    match (error, principal) {
        (OAuthError::LoginRequired | OAuthError::InsufficientScope, Some(principal)) => {
            format!(
                "; the operator runs `weaver login {upstream} --as {principal}` on the gateway's \
                 machine, and {principal} opens the address that it prints"
            )
        }
        (OAuthError::LoginRequired | OAuthError::InsufficientScope, None) => {
            format!("; run `weaver login {upstream}`")
        }
        _ => String::new(),
    }
}

/// Why a request to an upstream server failed.
///
/// The message never contains text from the server: that is in [`McpError::detail`], which is
/// untrusted and meant for the operator.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum McpError {
    /// The configuration cannot be used.
    #[error("upstream `{upstream}`: {reason}")]
    Config {
        /// Name of the upstream.
        upstream: String,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// The command could not be started.
    #[error(
        "upstream `{upstream}`: cannot start `{command}`: {reason}; check that it is installed"
    )]
    Spawn {
        /// Name of the upstream.
        upstream: String,
        /// The command as configured.
        command: String,
        /// The operating system's reason.
        reason: String,
    },
    /// The child was not started, because it could not be confined as it should.
    #[error("upstream `{upstream}`: {error}")]
    Confinement {
        /// Name of the upstream.
        upstream: String,
        /// Why not.
        error: ConfineError,
    },
    /// The server did not answer the handshake in time.
    #[error("upstream `{upstream}`: `{target}` did not answer the handshake within {after:?}")]
    InitializeTimeout {
        /// Name of the upstream.
        upstream: String,
        /// The command, or the URL without its query.
        target: String,
        /// The limit that ran out.
        after: Duration,
        /// The last lines that the child wrote to standard error: redacted, escaped, at most 600
        /// bytes.
        stderr: String,
    },
    /// No protocol version is spoken by both sides.
    #[error("upstream `{upstream}`: no common protocol version; this client speaks {spoken}")]
    UnsupportedVersion {
        /// Name of the upstream.
        upstream: String,
        /// The versions this client accepts under its configuration.
        spoken: String,
        /// What the server offered, escaped.
        offered: String,
    },
    /// The reply did not come in time. The server was told that the call is cancelled.
    #[error("upstream `{upstream}`: no reply to `{method}` within {after:?}")]
    Timeout {
        /// Name of the upstream.
        upstream: String,
        /// The method that was called.
        method: &'static str,
        /// The limit that ran out.
        after: Duration,
    },
    /// The child exited, or closed its output. Every pending call gets this at once.
    #[error("upstream `{upstream}`: `{command}` ended ({status}) before the reply")]
    UpstreamClosed {
        /// Name of the upstream.
        upstream: String,
        /// The command as configured.
        command: String,
        /// Exit status or signal, in words.
        status: String,
        /// The last lines that the child wrote to standard error: redacted, escaped, at most 600
        /// bytes.
        stderr: String,
    },
    /// The child wrote too many consecutive lines that are not messages; it was killed.
    #[error("upstream `{upstream}`: {lines} lines in a row on standard output are not json-rpc")]
    Garbage {
        /// Name of the upstream.
        upstream: String,
        /// The limit that was reached.
        lines: usize,
    },
    /// The upstream failed a short while ago and may not be contacted yet.
    #[error("upstream `{upstream}` is down; the next attempt is possible in {retry_in:?}")]
    Backoff {
        /// Name of the upstream.
        upstream: String,
        /// Time until a call may start it again.
        retry_in: Duration,
        /// Code of the previous failure.
        last: &'static str,
    },
    /// Too many calls wait for this upstream.
    #[error("upstream `{upstream}`: {waiting} calls wait already; try again later")]
    TooManyCalls {
        /// Name of the upstream.
        upstream: String,
        /// The limit that was reached.
        waiting: usize,
    },
    /// More calls per second than the configuration allows.
    #[error(
        "upstream `{upstream}`: more than {limit} calls in a second; the next one is possible in {retry_in:?}"
    )]
    CallsPerSecond {
        /// Name of the upstream.
        upstream: String,
        /// The limit that was reached.
        limit: u32,
        /// Time until a call may begin.
        retry_in: Duration,
    },
    /// The encoded request exceeds the size limit of a message.
    #[error(
        "upstream `{upstream}`: the request to `{method}` has {bytes} bytes, over the {limit} that \
         `message_kb` under `limits` of its server allows; send less, or raise that limit"
    )]
    RequestTooLarge {
        /// Name of the upstream.
        upstream: String,
        /// The method that was called.
        method: &'static str,
        /// Length of the encoded request.
        bytes: usize,
        /// The limit that it exceeds.
        limit: usize,
    },
    /// The server's message breaks the protocol.
    #[error("upstream `{upstream}`: the answer is refused: {fault}")]
    Malformed {
        /// Name of the upstream.
        upstream: String,
        /// The rule that was broken.
        fault: MessageFault,
    },
    /// The server answered a handshake or list request with an error.
    #[error("upstream `{upstream}`: `{method}` was refused with code {}", error.code)]
    Refused {
        /// Name of the upstream.
        upstream: String,
        /// The method that was called.
        method: &'static str,
        /// The error as sent.
        error: RpcError,
    },
    /// The HTTP exchange failed.
    #[error("upstream `{upstream}`: {fault}")]
    Http {
        /// Name of the upstream.
        upstream: String,
        /// How it failed.
        fault: HttpFault,
    },
    /// The server requires a login that does not exist.
    #[error("upstream `{upstream}`: {error}{}", login_hint(error, upstream, principal.as_ref()))]
    Login {
        /// Name of the upstream.
        upstream: String,
        /// Whose login is missing; `None` for the shared one.
        principal: Option<PrincipalId>,
        /// Why there is no token.
        error: OAuthError,
    },
    /// A list never ends or is too long.
    #[error("upstream `{upstream}`: the list of {list} is refused: {reason}")]
    List {
        /// Name of the upstream.
        upstream: String,
        /// The list.
        list: ServerList,
        /// Which bound was passed.
        reason: &'static str,
    },
    /// One connection subscribes to too many resources.
    #[error("upstream `{upstream}`: more than {limit} resources are watched already")]
    TooManySubscriptions {
        /// Name of the upstream.
        upstream: String,
        /// The limit that was reached.
        limit: usize,
    },
    /// The upstream was closed by its owner.
    #[error("upstream `{upstream}` has been closed")]
    Shutdown {
        /// Name of the upstream.
        upstream: String,
    },
}

impl McpError {
    /// A stable name for logs and JSON.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Config { .. } => "mcp.upstream_config",
            Self::Spawn { .. } => "mcp.upstream_spawn",
            Self::Confinement { error, .. } => error.code(),
            Self::InitializeTimeout { .. } => "mcp.initialize_timeout",
            Self::UnsupportedVersion { .. } => "mcp.unsupported_version",
            Self::Timeout { .. } => "mcp.upstream_timeout",
            Self::UpstreamClosed { .. } => "mcp.upstream_closed",
            Self::Garbage { .. } => "mcp.upstream_garbage",
            Self::Backoff { .. } => "mcp.upstream_backoff",
            Self::TooManyCalls { .. } => "mcp.too_many_calls",
            Self::CallsPerSecond { .. } => "mcp.calls_per_second",
            Self::RequestTooLarge { .. } => "mcp.request_too_large",
            Self::Malformed { fault, .. } => fault.code(),
            Self::Refused { .. } => "mcp.upstream_refused",
            Self::Http { fault, .. } => fault.code(),
            Self::Login { error, .. } => error.code(),
            Self::List { list: ServerList::Tools, .. } => "mcp.tool_list",
            Self::List { list: ServerList::Resources, .. } => "mcp.resource_list",
            Self::List { list: ServerList::ResourceTemplates, .. } => "mcp.resource_template_list",
            Self::List { list: ServerList::Prompts, .. } => "mcp.prompt_list",
            Self::TooManySubscriptions { .. } => "mcp.too_many_subscriptions",
            Self::Shutdown { .. } => "mcp.upstream_shutdown",
        }
    }

    /// Text from the server that belongs to this error: the end of its standard error, its
    /// message, or the versions it offered. Escaped and bounded, but untrusted: for the
    /// operator's eyes, never for a model.
    #[must_use]
    pub fn detail(&self) -> Option<String> {
        let text = match self {
            Self::UpstreamClosed { stderr, .. } | Self::InitializeTimeout { stderr, .. } => {
                stderr.clone()
            }
            Self::Refused { error, .. } => crate::escape::escape(&error.message),
            Self::UnsupportedVersion { offered, .. } => offered.clone(),
            _ => String::new(),
        };
        (!text.is_empty()).then_some(text)
    }

    /// The message, followed by the end of the child's standard error if the child ended or did not answer. That text
    /// comes from the server: redacted, escaped and short, but untrusted. It is often the only explanation.
    #[must_use]
    pub fn with_stderr(&self) -> String {
        match self {
            Self::UpstreamClosed { stderr, .. } | Self::InitializeTimeout { stderr, .. }
                if !stderr.is_empty() =>
            {
                format!("{self}; its standard error ends with: {stderr}")
            }
            _ => self.to_string(),
        }
    }

    /// Whether the request certainly never reached a tool, so that it may be sent again.
    #[must_use]
    pub fn is_unsent(&self) -> bool {
        matches!(
            self,
            Self::Config { .. }
                | Self::Spawn { .. }
                | Self::Confinement { .. }
                | Self::InitializeTimeout { .. }
                | Self::UnsupportedVersion { .. }
                | Self::Backoff { .. }
                | Self::TooManyCalls { .. }
                | Self::CallsPerSecond { .. }
                | Self::RequestTooLarge { .. }
                | Self::TooManySubscriptions { .. }
                | Self::Login { .. }
                | Self::Http { fault: HttpFault::SessionGone, .. }
        )
    }
}
