//! What the client of one call can do for its server: elicitation, sampling and roots, which the
//! protocol calls client features.

use serde_json::{Map, Value};

use super::error::RpcError;
use super::server_request::ServerRequest;

/// Whoever a call is made for, where its server asks for something in that call.
///
/// A request of a server that stands in a result, or comes on the stream of the answer to one call,
/// arose in that call and in no other, so whoever it means is known. Any other request goes to the
/// [`RequestHandler`](super::RequestHandler) of the connection.
pub trait ClientFeatures: Send + Sync {
    /// What this client can do, in the words of the protocol. A server of the modern era is told so
    /// with each request.
    fn capabilities(&self) -> Map<String, Value>;

    /// The server refused the call because this client lacks a capability (2026-07-28, -32021).
    fn lacks(&self, _refusal: &RpcError) {}

    /// Has the request answered. It must return at once, and the answer comes later.
    fn handle(&self, request: ServerRequest);
}
