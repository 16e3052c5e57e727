//! Drivers that reach real tools: MCP over stdio and Streamable HTTP, operations of HTTP APIs,
//! programs of this machine; the confinement of what they start, and the facts of this machine on
//! which a call may depend.
//!
//! This crate carries a call to a server and its answer back, within bounds and without trusting
//! either side's manners. It decides nothing: whether a call may be made, and what of the answer a
//! model may see, is settled elsewhere before and after.
//!
//! It is deliberately not a general MCP SDK. Values stay raw, and what a server asks of its client
//! (elicitation, sampling, roots) is answered by a handler of the host or not at all. It follows no
//! redirect there. It starts no shell.
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
mod instance;
mod lines;
pub mod mcp;
#[cfg(feature = "memory")]
pub mod memory;
pub mod oauth;
mod post;
pub mod precondition;
pub mod process;
mod progress_messages;
mod task;

pub use call_result::raw_result;
pub use driver::{McpDriver, RequestMeta};
pub use instance::{InstanceCaller, InstanceSource, ServerInstance};
pub use post::{Post, PostBody, PostError};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
