//! `/metrics`: what operators see, in the text format of Prometheus.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};

use super::HttpGateway;
use crate::telemetry::{self, EXPOSITION};

/// Tells the metrics as they are now.
pub(super) async fn show(State(gateway): State<Arc<HttpGateway>>) -> Response {
    let families = telemetry::gather(gateway.server.telemetry(), &gateway.server.status());
    ([(CONTENT_TYPE, EXPOSITION)], telemetry::render(&families)).into_response()
}
