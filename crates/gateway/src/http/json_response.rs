//! Responses that are one JSON message.

use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use serde_json::json;

/// The message, with the status that follows from it.
pub(super) fn json_response(status: fn(&[u8]) -> StatusCode, line: Vec<u8>) -> Response {
    (status(&line), [(CONTENT_TYPE, "application/json")], line).into_response()
}

/// Revisions with sessions report protocol errors only in the body.
pub(super) fn always_ok(_: &[u8]) -> StatusCode {
    StatusCode::OK
}

/// A JSON-RPC error that answers no particular request.
pub(super) fn error_response(status: StatusCode, code: i64, problem: &str) -> Response {
    let body =
        json!({ "jsonrpc": "2.0", "id": null, "error": { "code": code, "message": problem } });
    (status, [(CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}
