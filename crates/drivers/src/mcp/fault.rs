//! What is wrong with a message or an HTTP exchange.

use crate::http::TlsFault;

/// A protocol rule that a message broke.
///
/// The call that the message belongs to fails at once; it does not wait for its timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum MessageFault {
    /// An object names the same key twice, at any depth.
    #[error("an object names the same key twice")]
    DuplicateKey,
    /// Arrays and objects are nested deeper than 128 levels.
    #[error("it is nested deeper than 128 levels")]
    TooDeep,
    /// A line, body or event is longer than [`Limits::message_bytes`](super::Limits).
    #[error(
        "it is longer than `message_kb` under `limits` of its server allows; ask for less, \
         or raise that limit"
    )]
    LineTooLong,
    /// A message that begins as an object is not valid JSON or not valid UTF-8.
    #[error("it is not valid json")]
    InvalidJson,
    /// A number does not fit a double, or a string holds an unpaired surrogate.
    #[error("it holds a number or a string that cannot be represented")]
    InvalidValue,
    /// `jsonrpc` is absent or is not `"2.0"`.
    #[error("`jsonrpc` is not `2.0`")]
    MissingVersion,
    /// A reply has both `result` and `error`.
    #[error("it has both `result` and `error`")]
    ResultAndError,
    /// A reply has neither `result` nor `error`.
    #[error("it has neither `result` nor `error`")]
    NeitherResultNorError,
    /// A reply's `error` is no object with an integer `code`.
    #[error("its `error` has no integer `code`")]
    ErrorWithoutCode,
    /// A reply's `id` is null or absent.
    #[error("its `id` is null or absent")]
    NullId,
    /// Several messages in one array.
    #[error("it is a batch of messages")]
    Batch,
    /// A message is a request and a reply at once.
    #[error("it is a request and a reply at once")]
    RequestAndReply,
    /// `result` is not an object.
    #[error("its `result` is not an object")]
    ResultNotObject,
    /// `resultType` is one that this client does not know.
    #[error("its `resultType` is unknown")]
    UnknownResultType,
    /// A list or handshake result lacks a field that the protocol demands.
    #[error("a required field is absent or has the wrong type")]
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
}

/// How an HTTP exchange failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HttpFault {
    /// No connection, or it broke.
    #[error("no connection; check the url and that it is running")]
    Connection,
    /// No TLS connection: nothing was sent.
    #[error("no connection: {0}")]
    Tls(TlsFault),
    /// The server answered with a redirect, which is not followed.
    #[error("it redirects (status {0}); configure the final url")]
    Redirect(u16),
    /// The server answered with an error status and no JSON-RPC reply.
    #[error("it answered with status {0}{advice}", advice = advice(*.0))]
    Status(u16),
    /// The `Content-Type` is neither JSON nor an event stream.
    #[error("its answer is neither json nor an event stream")]
    ContentType,
    /// The stream ended before the reply came.
    #[error("its stream ended before the reply")]
    StreamEnded,
    /// The session identifier is not visible ASCII or is too long.
    #[error("its session id is not visible ascii")]
    SessionId,
    /// The server no longer knows the session.
    #[error("it no longer knows the session")]
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

/// What to do about a status that the arguments are not at fault for.
fn advice(status: u16) -> &'static str {
    match status {
        401 => {
            ": it does not accept the credentials that the gateway has for it, or no longer; whoever \
             runs the gateway renews them"
        }
        _ => "",
    }
}
