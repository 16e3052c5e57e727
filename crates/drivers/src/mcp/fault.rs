//! What is wrong with a message or an HTTP exchange.

use std::fmt;

use crate::http::TlsFault;

/// A protocol rule that a message broke.
///
/// The call that the message belongs to fails at once; it does not wait for its timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum MessageFault {
    /// An object names the same key twice, at any depth.
    DuplicateKey,
    /// Arrays and objects are nested deeper than 128 levels.
    TooDeep,
    /// A line, body or event is longer than [`Limits::message_bytes`](super::Limits).
    LineTooLong,
    /// A message that begins as an object is not valid JSON or not valid UTF-8.
    InvalidJson,
    /// A number does not fit a double, or a string holds an unpaired surrogate.
    InvalidValue,
    /// `jsonrpc` is absent or is not `"2.0"`.
    MissingVersion,
    /// A reply has both `result` and `error`.
    ResultAndError,
    /// A reply has neither `result` nor `error`.
    NeitherResultNorError,
    /// A reply's `error` is no object with an integer `code`.
    ErrorWithoutCode,
    /// A reply's `id` is null or absent.
    NullId,
    /// Several messages in one array.
    Batch,
    /// A message is a request and a reply at once.
    RequestAndReply,
    /// `result` is not an object.
    ResultNotObject,
    /// `resultType` is one that this client does not know.
    UnknownResultType,
    /// A list or handshake result lacks a field that the protocol demands.
    MissingField,
}

impl MessageFault {
    /// A stable name for logs and JSON.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::DuplicateKey => "mcp.duplicate_key",
            Self::TooDeep => "mcp.too_deep",
            Self::LineTooLong => "mcp.line_too_long",
            Self::InvalidJson => "mcp.invalid_json",
            Self::InvalidValue => "mcp.invalid_value",
            Self::MissingVersion => "mcp.missing_jsonrpc",
            Self::ResultAndError => "mcp.result_and_error",
            Self::NeitherResultNorError => "mcp.neither_result_nor_error",
            Self::ErrorWithoutCode => "mcp.error_without_code",
            Self::NullId => "mcp.null_id",
            Self::Batch => "mcp.batch",
            Self::RequestAndReply => "mcp.request_and_reply",
            Self::ResultNotObject => "mcp.result_not_object",
            Self::UnknownResultType => "mcp.unknown_result_type",
            Self::MissingField => "mcp.missing_field",
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::DuplicateKey => "an object names the same key twice",
            Self::TooDeep => "it is nested deeper than 128 levels",
            Self::LineTooLong => {
                "it is longer than `message_kb` under `limits` of its server allows; ask for less, \
                 or raise that limit"
            }
            Self::InvalidJson => "it is not valid json",
            Self::InvalidValue => "it holds a number or a string that cannot be represented",
            Self::MissingVersion => "`jsonrpc` is not `2.0`",
            Self::ResultAndError => "it has both `result` and `error`",
            Self::NeitherResultNorError => "it has neither `result` nor `error`",
            Self::ErrorWithoutCode => "its `error` has no integer `code`",
            Self::NullId => "its `id` is null or absent",
            Self::Batch => "it is a batch of messages",
            Self::RequestAndReply => "it is a request and a reply at once",
            Self::ResultNotObject => "its `result` is not an object",
            Self::UnknownResultType => "its `resultType` is unknown",
            Self::MissingField => "a required field is absent or has the wrong type",
        }
    }
}

impl fmt::Display for MessageFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// How an HTTP exchange failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HttpFault {
    /// No connection, or it broke.
    Connection,
    /// No TLS connection: nothing was sent.
    Tls(TlsFault),
    /// The server answered with a redirect, which is not followed.
    Redirect(u16),
    /// The server answered with an error status and no JSON-RPC reply.
    Status(u16),
    /// The `Content-Type` is neither JSON nor an event stream.
    ContentType,
    /// The stream ended before the reply came.
    StreamEnded,
    /// The session identifier is not visible ASCII or is too long.
    SessionId,
    /// The server no longer knows the session.
    SessionGone,
}

impl HttpFault {
    /// A stable name for logs and JSON.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Connection => "mcp.http_connection",
            Self::Tls(_) => "mcp.http_tls",
            Self::Redirect(_) => "mcp.http_redirect",
            Self::Status(_) => "mcp.http_status",
            Self::ContentType => "mcp.http_content_type",
            Self::StreamEnded => "mcp.http_stream_ended",
            Self::SessionId => "mcp.http_session_id",
            Self::SessionGone => "mcp.http_session_gone",
        }
    }
}

impl fmt::Display for HttpFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connection => f.write_str("no connection; check the url and that it is running"),
            Self::Tls(fault) => write!(f, "no connection: {fault}"),
            Self::Redirect(status) => {
                write!(f, "it redirects (status {status}); configure the final url")
            }
            Self::Status(401) => f.write_str(
                "it answered with status 401: it does not accept the credentials that the gateway \
                 has for it, or no longer; whoever runs the gateway renews them",
            ),
            Self::Status(status) => write!(f, "it answered with status {status}"),
            Self::ContentType => f.write_str("its answer is neither json nor an event stream"),
            Self::StreamEnded => f.write_str("its stream ended before the reply"),
            Self::SessionId => f.write_str("its session id is not visible ascii"),
            Self::SessionGone => f.write_str("it no longer knows the session"),
        }
    }
}
