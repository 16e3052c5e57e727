//! `/metrics`: metrics in Prometheus text format.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};

use super::HttpGateway;
use crate::telemetry::{self, EXPOSITION};

/// Renders the current metrics.
pub(super) async fn show(State(gateway): State<Arc<HttpGateway>>) -> Response {
    let server = &gateway.server;
    let families = telemetry::gather(server.telemetry(), &server.status(), &server.measurements());
    ([(CONTENT_TYPE, EXPOSITION)], telemetry::render(&families)).into_response()
}
