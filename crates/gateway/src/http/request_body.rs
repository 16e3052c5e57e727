//! Reads the body of a request, bounded in size and time.

use std::time::Duration;

use axum::body::Body;
use axum::http::StatusCode;
use axum::response::Response;
use futures_util::StreamExt as _;

use super::json_response::error_response;
use crate::serve::code;

/// The largest message.
const MAX_BODY_BYTES: usize = 16 * 1024 * 1024;
/// Time limit for a body.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// The whole body of a request, bounded in size and time.
pub(super) async fn read_body(body: Body) -> Result<Vec<u8>, Box<Response>> {
    let timed_out = (StatusCode::REQUEST_TIMEOUT, "the body did not come in time");
    let read =
        tokio::time::timeout(BODY_TIMEOUT, read_bounded(body)).await.unwrap_or(Err(timed_out));
    read.map_err(|(status, problem)| {
        Box::new(error_response(status, code::INVALID_REQUEST, problem))
    })
}

async fn read_bounded(body: Body) -> Result<Vec<u8>, (StatusCode, &'static str)> {
    let (mut chunks, mut whole) = (body.into_data_stream(), Vec::new());
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| (StatusCode::BAD_REQUEST, "the body broke off"))?;
        if whole.len().saturating_add(chunk.len()) > MAX_BODY_BYTES {
            return Err((StatusCode::PAYLOAD_TOO_LARGE, "the body is larger than 16 MiB"));
        }
        whole.extend_from_slice(&chunk);
    }
    Ok(whole)
}
