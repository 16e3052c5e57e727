//! A client for the Model Context Protocol.
//!
//! The client frames messages, matches replies to requests and leaves values raw: no typed decoding stands between the
//! server's bytes and the caller. So no field is lost, and the request alone decides how its answer is read, whatever
//! the server sends.

mod call;
mod call_timer;
mod client_features;
pub mod code;
mod config;
mod connection;
mod connection_preferences;
mod error;
mod fault;
mod headers;
mod http;
mod inbox;
mod input_required;
mod input_responses;
mod known_secrets;
mod large_message;
mod lifecycle;
mod line_reader;
mod listing;
mod message;
mod method;
mod notification;
mod outgoing_request;
mod parameter_headers;
mod pending_requests;
mod progress_token;
mod queue_position;
mod reconnect_backoff;
mod rpc_channel;
mod server_list;
mod server_request;
mod silence;
pub(crate) mod sse;
mod started_child;
mod stdio;
pub(crate) mod strict_json;
mod subscription;
mod task;
mod token_bucket;
mod upstream;

pub use crate::child_config::{ChildConfinement, Redactor, StdioConfig};
pub use call::{CallOutcome, CallRequest, LateAnswerHandler, Reply, ReplyWarning};
pub(crate) use call::{STRUCTURED_CONTENT, with_structured_rows};
pub use call_timer::{CallTimer, TimerPause};
pub use client_features::ClientFeatures;
pub use config::{
    Endpoint, Era, EraChoice, HttpConfig, LEGACY_VERSION, LEGACY_VERSIONS, Limits, MODERN_VERSION,
    UpstreamConfig,
};
pub use connection::Connection;
pub use error::{McpError, McpErrorKind, RpcError};
pub use fault::{HttpFault, MessageFault};
pub use headers::decode_header_text;
pub use inbox::MessageCounts;
pub use known_secrets::KnownSecrets;
pub use lifecycle::ServerInfo;
pub use line_reader::{Line, LineReader};
pub use listing::{ListedItem, ListedTool};
pub use method::Method;
pub use notification::{LogLevel, NotificationSink, ServerNotification, UnknownLogLevel};
pub use parameter_headers::ParameterHeaders;
pub use server_list::ServerList;
pub use server_request::{RequestHandler, Responder, ServerRequest};
pub use upstream::Upstream;
