//! Errors between this client and an upstream server.

use std::fmt;
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

/// Where a person reads what a server wrote.
const WHERE_DETAIL_IS: &str = "the user sees why with `weaver doctor` or `weaver logs`";

/// A failed request to an upstream server.
///
/// The message never contains text from the server: that is in [`McpError::detail`], which is
/// untrusted and meant for the operator.
#[derive(Debug, Clone, PartialEq)]
pub struct McpError {
    /// Name of the upstream.
    pub upstream: String,
    /// Why it failed.
    pub kind: McpErrorKind,
}

/// Why a request to an upstream server failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum McpErrorKind {
    /// The configuration cannot be used.
    #[error("{reason}")]
    Config {
        /// What is wrong, and what to do.
        reason: String,
    },
    /// The command could not be started.
    #[error("cannot start `{command}`: {reason}; check that it is installed")]
    Spawn {
        /// The command as configured.
        command: String,
        /// The operating system's reason.
        reason: String,
    },
    /// The child was not started, because it could not be confined as it should.
    #[error("{error}")]
    Confinement {
        /// Why not.
        error: ConfineError,
    },
    /// The server did not answer the handshake in time.
    #[error("`{target}` did not answer the handshake within {after:?}")]
    InitializeTimeout {
        /// The command, or the URL without its query.
        target: String,
        /// The limit that ran out.
        after: Duration,
        /// The last lines that the child wrote to standard error: redacted, escaped, at most 600
        /// bytes.
        stderr: String,
    },
    /// No protocol version is spoken by both sides.
    #[error("no common protocol version; this client speaks {spoken}")]
    UnsupportedVersion {
        /// The versions this client accepts under its configuration.
        spoken: String,
        /// What the server offered, escaped.
        offered: String,
    },
    /// The reply did not come in time. The server was told that the call is cancelled.
    #[error("no reply to `{method}` within {after:?}")]
    Timeout {
        /// The method that was called.
        method: &'static str,
        /// The limit that ran out.
        after: Duration,
    },
    /// The server answered neither a request nor a ping, so its connection was given up.
    #[error("it runs and answers nothing any more, so it is started anew")]
    Silent,
    /// The child exited, or closed its output. Every pending call gets this at once.
    #[error("`{command}` ended ({status}) before the reply")]
    UpstreamClosed {
        /// The command as configured.
        command: String,
        /// Exit status or signal, in words.
        status: String,
        /// The last lines that the child wrote to standard error: redacted, escaped, at most 600
        /// bytes.
        stderr: String,
    },
    /// The child wrote too many consecutive lines that are not messages; it was killed.
    #[error("{lines} lines in a row on standard output are not json-rpc")]
    Garbage {
        /// The limit that was reached.
        lines: usize,
    },
    /// The upstream failed a short while ago and may not be contacted yet.
    #[error("is down; the next attempt is possible in {retry_in:?}")]
    Backoff {
        /// Time until a call may start it again.
        retry_in: Duration,
        /// Code of the previous failure.
        last: &'static str,
    },
    /// Too many calls wait for this upstream.
    #[error("{waiting} calls wait already; try again later")]
    TooManyCalls {
        /// The limit that was reached.
        waiting: usize,
    },
    /// More calls per second than the configuration allows.
    #[error("more than {limit} calls in a second; the next one is possible in {retry_in:?}")]
    CallsPerSecond {
        /// The limit that was reached.
        limit: u32,
        /// Time until a call may begin.
        retry_in: Duration,
    },
    /// The encoded request exceeds the size limit of a message.
    #[error(
        "the request to `{method}` has {bytes} bytes, over the {limit} that \
         `message_kb` under `limits` of its server allows; send less, or raise that limit"
    )]
    RequestTooLarge {
        /// The method that was called.
        method: &'static str,
        /// Length of the encoded request.
        bytes: usize,
        /// The limit that it exceeds.
        limit: usize,
    },
    /// The server's message breaks the protocol.
    #[error("the answer is refused: {fault}")]
    Malformed {
        /// The rule that was broken.
        fault: MessageFault,
    },
    /// The server answered a handshake or list request with an error.
    #[error("`{method}` was refused with code {}", error.code)]
    Refused {
        /// The method that was called.
        method: &'static str,
        /// The error as sent.
        error: RpcError,
    },
    /// The HTTP exchange failed.
    #[error("{fault}")]
    Http {
        /// How it failed.
        fault: HttpFault,
    },
    /// The server requires a login that does not exist.
    #[error("{error}")]
    Login {
        /// Whose login is missing; `None` for the shared one.
        principal: Option<PrincipalId>,
        /// Why there is no token.
        error: OAuthError,
    },
    /// A list never ends or is too long.
    #[error("the list of {list} is refused: {reason}")]
    List {
        /// The list.
        list: ServerList,
        /// Which bound was passed.
        reason: &'static str,
    },
    /// One connection subscribes to too many resources.
    #[error("more than {limit} resources are watched already")]
    TooManySubscriptions {
        /// The limit that was reached.
        limit: usize,
    },
    /// The upstream was closed by its owner.
    #[error("has been closed")]
    Shutdown,
}

impl McpErrorKind {
    /// The error with its upstream.
    #[must_use]
    pub fn at(self, upstream: impl Into<String>) -> McpError {
        McpError { upstream: upstream.into(), kind: self }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Config { .. } => "mcp.upstream_config",
            Self::Spawn { .. } => "mcp.upstream_spawn",
            Self::Confinement { error, .. } => error.code(),
            Self::InitializeTimeout { .. } => "mcp.initialize_timeout",
            Self::UnsupportedVersion { .. } => "mcp.unsupported_version",
            Self::Timeout { .. } => "mcp.upstream_timeout",
            Self::Silent => "mcp.upstream_silent",
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
            Self::Shutdown => "mcp.upstream_shutdown",
        }
    }
}

impl fmt::Display for McpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { upstream, kind } = self;
        match kind {
            McpErrorKind::Backoff { .. } | McpErrorKind::Shutdown => {
                write!(f, "upstream `{upstream}` {kind}")
            }
            McpErrorKind::Login { principal, error } => {
                let hint = login_hint(error, upstream, principal.as_ref());
                write!(f, "upstream `{upstream}`: {kind}{hint}")
            }
            _ => write!(f, "upstream `{upstream}`: {kind}"),
        }
    }
}

impl std::error::Error for McpError {}

impl McpError {
    /// Whether the server itself answered with an error.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(self.kind, McpErrorKind::Refused { .. })
    }

    /// A stable name for logs and JSON.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.kind.code()
    }

    /// Text from the server that belongs to this error: the end of its standard error, its
    /// message, or the versions it offered. Escaped and bounded, but untrusted: for the
    /// operator's eyes, never for a model.
    #[must_use]
    pub fn detail(&self) -> Option<String> {
        let text = match &self.kind {
            McpErrorKind::UpstreamClosed { stderr, .. }
            | McpErrorKind::InitializeTimeout { stderr, .. } => stderr.clone(),
            McpErrorKind::Refused { error, .. } => crate::escape::escape(&error.message),
            McpErrorKind::UnsupportedVersion { offered, .. } => offered.clone(),
            _ => String::new(),
        };
        (!text.is_empty()).then_some(text)
    }

    /// The message, followed by the end of the child's standard error if the child ended or did not answer. That text
    /// comes from the server: redacted, escaped and short, but untrusted. It is often the only explanation.
    #[must_use]
    pub fn with_stderr(&self) -> String {
        match &self.kind {
            McpErrorKind::UpstreamClosed { stderr, .. }
            | McpErrorKind::InitializeTimeout { stderr, .. }
                if !stderr.is_empty() =>
            {
                format!("{self}; its standard error ends with: {stderr}")
            }
            _ => self.to_string(),
        }
    }

    /// The message for a model: no text of the server is in it. Where there is such text, it says how a person
    /// reads it.
    #[must_use]
    pub fn for_model(&self) -> String {
        match self.detail() {
            Some(_) => format!("{self}; {WHERE_DETAIL_IS}"),
            None => self.to_string(),
        }
    }

    /// Writes text from the server that belongs to this error to the log, as only a person may read it.
    pub(crate) fn log_detail(&self) {
        if let Some(detail) = self.detail() {
            tracing::warn!(
                target: "weaver_drivers",
                upstream = self.upstream, code = self.code(), detail, "{self}"
            );
        }
    }

    /// Whether the request certainly never reached a tool, so that it may be sent again.
    #[must_use]
    pub fn is_unsent(&self) -> bool {
        matches!(
            self.kind,
            McpErrorKind::Config { .. }
                | McpErrorKind::Spawn { .. }
                | McpErrorKind::Confinement { .. }
                | McpErrorKind::InitializeTimeout { .. }
                | McpErrorKind::UnsupportedVersion { .. }
                | McpErrorKind::Backoff { .. }
                | McpErrorKind::TooManyCalls { .. }
                | McpErrorKind::CallsPerSecond { .. }
                | McpErrorKind::RequestTooLarge { .. }
                | McpErrorKind::TooManySubscriptions { .. }
                | McpErrorKind::Login { .. }
                | McpErrorKind::Http { fault: HttpFault::SessionGone, .. }
        )
    }
}
