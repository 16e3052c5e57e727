//! A client for the Model Context Protocol.
//!
//! Messages are framed, matched and read here, and values stay raw: no typed decoding stands
//! between the server's bytes and the caller, so no field is lost and nothing that a server sends
//! can change what its answer is taken for. The request alone decides that.

mod ask;
mod call;
mod call_timer;
mod client_features;
mod config;
mod connection;
mod error;
mod fault;
mod frame;
mod headers;
mod http;
mod inbox;
mod input_required;
mod input_responses;
mod large_message;
mod lifecycle;
mod listing;
mod message;
mod method;
mod notification;
mod parameter_headers;
mod pending_requests;
mod progress_token;
mod rate;
mod server_list;
mod server_request;
pub(crate) mod sse;
mod stdio;
pub(crate) mod strict_json;
mod subscription;
mod task;
mod upstream;
mod wire;

pub use crate::child_config::{ChildConfinement, Redactor, StdioConfig};
pub use call::{CallOutcome, CallRequest, Finding, LateAnswer, Reply};
pub(crate) use call::{STRUCTURED, whole};
pub use call_timer::{CallTimer, TimerPause};
pub use client_features::ClientFeatures;
pub use config::{
    Endpoint, Era, EraChoice, HttpConfig, LEGACY_VERSION, Limits, MODERN_VERSION, UpstreamConfig,
};
pub use connection::Connection;
pub use error::{McpError, RpcError};
pub use fault::{Fault, HttpFault};
pub use headers::text_of_value;
pub use inbox::Counts;
pub use lifecycle::ServerInfo;
pub use listing::{ListedItem, ListedTool};
pub use method::Method;
pub use notification::{LogLevel, NotificationSink, ServerNotification, UnknownLogLevel};
pub use parameter_headers::ParameterHeaders;
pub use server_list::ServerList;
pub use server_request::{RequestHandler, Responder, ServerRequest};
pub use upstream::Upstream;
