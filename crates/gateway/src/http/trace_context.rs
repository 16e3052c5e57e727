//! Takes the trace context of a request from its header, where proxies and instrumented clients
//! write it. A context in the `_meta` of the message is nearer to the call and counts first.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;

use crate::telemetry::{TRACE_PARENT_KEY, TraceParent};

/// Processes a request within the context of its `traceparent` header.
pub(super) async fn take_header(request: Request, next: Next) -> Response {
    let mut headers = request.headers().get_all(TRACE_PARENT_KEY).into_iter();
    let parent = match (headers.next(), headers.next()) {
        (Some(header), None) => header.to_str().ok().and_then(TraceParent::parse),
        _ => None,
    };
    match parent {
        Some(parent) => parent.scope_request(next.run(request)).await,
        None => next.run(request).await,
    }
}
