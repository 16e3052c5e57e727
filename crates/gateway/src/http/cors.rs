//! Lets the web pages of `[http] origins` reach the gateway: Cross-Origin Resource Sharing, of the
//! Fetch standard.
//!
//! A browser asks first, without a token, whether a page may send such a request, and shows the
//! page only the headers of an answer that are listed. Both are said to the configured origins
//! only, and never with a wildcard. Cookies play no part: a token stands in a header.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use super::HttpGateway;

const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, DELETE");
/// The headers of answers that a page may read, beside those that every page may.
const EXPOSED: HeaderValue =
    HeaderValue::from_static("Mcp-Session-Id, Mcp-Protocol-Version, WWW-Authenticate, Retry-After");
/// How long a browser remembers the answer, in seconds.
const MAX_AGE: HeaderValue = HeaderValue::from_static("600");

/// Answers what a browser asks before a request of a page, and marks the answers to the page's
/// requests. Requests of other origins are refused later.
pub(super) async fn share_with_origins(
    State(gateway): State<Arc<HttpGateway>>,
    request: Request,
    next: Next,
) -> Response {
    let Some(origin) = served_origin(&gateway, request.headers()).cloned() else {
        return next.run(request).await;
    };
    let mut response = match preflight_headers(&request) {
        Some(headers) => (StatusCode::NO_CONTENT, headers).into_response(),
        None => next.run(request).await,
    };
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    headers.append(VARY, HeaderValue::from_static("Origin"));
    response
}

/// The origin of a page, if it is one whose requests are served.
fn served_origin<'h>(gateway: &HttpGateway, headers: &'h HeaderMap) -> Option<&'h HeaderValue> {
    let mut origins = headers.get_all(ORIGIN).into_iter();
    let (origin, None) = (origins.next()?, origins.next()) else { return None };
    let text = origin.to_str().ok()?;
    let is_known = |known: &String| known.eq_ignore_ascii_case(text);
    gateway.settings.origins.iter().any(is_known).then_some(origin)
}

/// The answer to a preflight request; `None` for any other. The page may send the headers that it
/// asks for: which of them count is decided where the request itself is checked.
fn preflight_headers(request: &Request) -> Option<HeaderMap> {
    let headers = request.headers();
    if request.method() != Method::OPTIONS || !headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD) {
        return None;
    }
    let mut answer = HeaderMap::new();
    answer.insert(ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    answer.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    if let Some(wanted) = headers.get(ACCESS_CONTROL_REQUEST_HEADERS) {
        answer.insert(ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
    }
    Some(answer)
}
