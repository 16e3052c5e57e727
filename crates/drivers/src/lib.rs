//! Drivers for real tools: MCP over stdio and Streamable HTTP, HTTP API operations, and local
//! programs; the confinement of child processes; and observers for preconditions on this machine.
//!
//! This crate carries a call to a server and its answer back, within bounds and without trusting
//! either side. It makes no decisions: whether a call is allowed, and which part of the answer a
//! model may see, is decided elsewhere.
//!
//! It is deliberately not a general MCP SDK. Values stay raw, and requests of a server to its
//! client (elicitation, sampling, roots) are answered by the host's handler or refused. MCP
//! redirects are not followed, and no shell is started.
//!
//! ```no_run
//! use serde_json::Map;
//! use weaver_drivers::mcp::{CallOutcome, CallRequest, Endpoint, StdioConfig, Upstream, UpstreamConfig};
//!
//! # async fn run() -> Result<(), weaver_drivers::mcp::McpError> {
//! let server = StdioConfig { command: "mcp-server-time".to_owned(), ..StdioConfig::default() };
//! let upstream = Upstream::new(UpstreamConfig::new("time", Endpoint::Stdio(server)));
//! for tool in upstream.list_tools().await? {
//!     println!("{}", tool.name());
//! }
//! match upstream.call(CallRequest::new("get_current_time", Map::new())).await? {
//!     CallOutcome::Complete(reply) => println!("{}", reply.raw()),
//!     other => println!("{other:?}"),
//! }
//! upstream.close().await;
//! # Ok(())
//! # }
//! ```

mod abort_on_drop;
#[cfg(target_os = "linux")]
mod adopted;
mod call_result;
mod child;
mod child_config;
mod chunk_task;
pub mod confine;
#[cfg(target_os = "linux")]
mod descendants;
mod driver;
mod escape;
mod feature_result;
pub mod http;
mod http_poster;
mod instance;
mod line_splitter;
pub mod mcp;
#[cfg(feature = "memory")]
pub mod memory;
pub mod oauth;
mod placeholder;
pub mod precondition;
pub mod process;
mod progress_messages;
mod runtime_task;

pub use call_result::raw_result;
pub use driver::{McpDriver, RequestMeta};
pub use http_poster::{HttpPoster, PostBody, PostError};
pub use instance::{InstanceCaller, InstanceSource, ServerInstance};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
