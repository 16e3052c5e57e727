//! What the client of one call offers its server: elicitation, sampling and roots, which the protocol calls client
//! features.

use serde_json::{Map, Value};

use super::error::RpcError;
use super::server_request::ServerRequest;

/// Answers the requests that a server makes while it handles one call.
///
/// A request in a result, or on the response stream of a call, belongs to that call, so it is clear whom it is for.
/// All other requests go to the [`RequestHandler`](super::RequestHandler) of the connection.
pub trait ClientFeatures: Send + Sync {
    /// The capabilities of this client in the protocol's form. Each request of the modern era declares them.
    fn capabilities(&self) -> Map<String, Value>;

    /// The server refused the call because this client lacks a capability (2026-07-28, -32021).
    fn on_missing_capability(&self, _refusal: &RpcError) {}

    /// The server continues the call as a task, which it expects to take long.
    fn on_task(&self) {}

    /// Starts to answer the request. It must return at once; the answer follows through the responder.
    fn handle(&self, request: ServerRequest);
}
